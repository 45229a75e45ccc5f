// Tables that outlive all destructors: a program may use MPI in the destructors of its global objects, which
// run after those of static variables that were first used later.
#pragma once

#include <utility>

namespace offramp {

/// Moves a value to the heap and never destroys it. For static variables of functions: static const auto&
/// table = immortal(...).
template <typename T>
#if __has_cpp_attribute(gnu::no_dangling)
[[gnu::no_dangling]]
#endif
T& immortal(T value) {
  return *new T(std::move(value));  // NOLINT(cppcoreguidelines-owning-memory): intended
}

}  // namespace offramp
