// Buffers without data: spans that have a size and a place, and no memory.
//
// Algorithms see from the addresses of their buffers what is in place already, so spans over no memory lie in
// the same places relative to each other as real ones would. No process of x86-64 or AArch64 can have memory
// at these addresses (not canonical; the kernel's half).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "offramp/model/message.hpp"

namespace offramp {

inline constexpr std::uintptr_t kNoMemory = (std::uintptr_t{1} << 62) | (std::uintptr_t{1} << 55);

/// Where a real buffer would be.
inline std::byte* no_memory(const std::byte* real) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(real) + kNoMemory);
}

/// Hands out such spans, no two of them in the same place.
class NoMemory {
 public:
  MutableBytes take(std::size_t bytes) {
    return {reinterpret_cast<std::byte*>(std::exchange(next_, next_ + bytes + 1)), bytes};
  }

 private:
  std::uintptr_t next_ = kNoMemory | (std::uintptr_t{1} << 61);
};

}  // namespace offramp
