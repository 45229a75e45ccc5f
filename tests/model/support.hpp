// Shared by the tests of worlds: the hardware under them.
#pragma once

#include <cstdlib>
#include <string_view>

#include "lib/base/registry/registry.hpp"
#include "simulators/world/world.hpp"

namespace offramp::test {

/// A built-in backend. Ends the process for an unknown name.
inline const BackendDescription& built_in(std::string_view name) {
  static const Registry registry{built_in_backends()};
  const BackendDescription* const found = registry.find(name);
  if (found == nullptr) std::abort();
  return *found;
}

inline WorldBackend hardware(std::string_view name) {
  return WorldBackend(built_in(name));
}

/// The second version of zrlmpi's engine: a bus of 64 bits.
inline WorldBackend mpe2() {
  WorldBackend backend = hardware("zrlmpi");
  backend.settings.set("preset", {0, "mpe2"});
  return backend;
}

/// The host carries what the backend declines.
inline WorldBackend with_host(WorldBackend backend) {
  backend.host = &built_in("host");
  return backend;
}

}  // namespace offramp::test
