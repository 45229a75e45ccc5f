// What a test that goes through all built-in backends goes through.
#pragma once

#include <string_view>
#include <vector>

#include "lib/base/registry/registry.hpp"

namespace offramp::test {

/// In the order of the registry, without one of them if need be. The names are literals.
inline std::vector<const char*> built_in_names(std::string_view without = {}) {
  std::vector<const char*> names;
  for (const BackendDescription* description : built_in_backends()) {
    if (description->name != without) names.push_back(description->name.data());
  }
  return names;
}

}  // namespace offramp::test
