// Tables that outlive everything: a program may use MPI in the destructors of its own global objects, and
// those run after the destructors of what was first used later.
#pragma once

#include <utility>

namespace offramp {

/// Takes a value over and never destroys it. For what a function keeps: static const auto& table =
/// immortal(...).
template <typename T>
#if __has_cpp_attribute(gnu::no_dangling)
[[gnu::no_dangling]]
#endif
T& immortal(T value) {
  return *new T(std::move(value));  // NOLINT(cppcoreguidelines-owning-memory): that is its purpose
}

}  // namespace offramp
