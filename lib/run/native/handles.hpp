// MPI handles as numbers: some MPI libraries use pointers, others integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace offramp {

/// Different for any two handles of one kind.
template <typename Handle>
std::uintptr_t bits_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::make_unsigned_t<Handle>>(handle);
  }
}

/// An index into a small table. Objects created one after the other get different ones.
template <std::size_t slots, typename Handle>
std::size_t slot_of_handle(Handle handle) {
  constexpr unsigned kSameObject = std::is_pointer_v<Handle> ? 6 : 0;  // low bits, equal for all
  return (bits_of(handle) >> kSameObject) % slots;
}

}  // namespace offramp
