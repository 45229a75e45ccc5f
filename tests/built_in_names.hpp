// The list for tests that visit all built-in backends.
#pragma once

#include <string_view>
#include <vector>

#include "lib/base/registry/registry.hpp"

namespace offramp::test {

/// The names in the order of the registry, without one of them if a test asks for that. The names are
/// literals.
inline std::vector<const char*> built_in_names(std::string_view without = {}) {
  std::vector<const char*> names;
  for (const BackendDescription* description : built_in_backends()) {
    if (description->name != without) names.push_back(description->name.data());
  }
  return names;
}

}  // namespace offramp::test
