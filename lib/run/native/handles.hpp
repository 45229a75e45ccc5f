// MPI handles as numbers: they are pointers in some MPI libraries and integers in others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace offramp {

/// Different for every two handles of one kind.
template <typename Handle>
std::uintptr_t bits_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::make_unsigned_t<Handle>>(handle);
  }
}

/// A place in a small table: objects that were made one after the other have different ones.
template <std::size_t slots, typename Handle>
std::size_t slot_of_handle(Handle handle) {
  constexpr unsigned kSameObject = std::is_pointer_v<Handle> ? 6 : 0;  // bits in which no two objects differ
  return (bits_of(handle) >> kSameObject) % slots;
}

}  // namespace offramp
