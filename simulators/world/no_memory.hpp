// Buffers without data: spans with a size and an address, but no memory behind them.
//
// Algorithms compare buffer addresses to detect data that is already in place. Spans without memory therefore
// have the same relative positions as real buffers. Their addresses are invalid in any process on x86-64 (not
// canonical) and AArch64 (kernel half).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "offramp/model/message.hpp"

namespace offramp {

inline constexpr std::uintptr_t kNoMemory = (std::uintptr_t{1} << 62) | (std::uintptr_t{1} << 55);

/// The address that corresponds to a real buffer.
inline std::byte* no_memory(const std::byte* real) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(real) + kNoMemory);
}

/// Returns spans that never overlap.
class NoMemory {
 public:
  MutableBytes reserve(std::size_t bytes) {
    return {reinterpret_cast<std::byte*>(std::exchange(next_, next_ + bytes + 1)), bytes};
  }

 private:
  std::uintptr_t next_ = kNoMemory | (std::uintptr_t{1} << 61);
};

}  // namespace offramp
