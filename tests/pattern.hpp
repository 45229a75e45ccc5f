#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace offramp::test {

using Buffer = std::vector<std::byte>;

/// Bytes that depend on seed and position.
inline Buffer pattern(std::size_t bytes, std::uint32_t seed) {
  Buffer buffer(bytes);
  std::uint32_t x = seed * 2654435761U + 1;
  for (std::byte& b : buffer) {
    x = x * 1664525U + 1013904223U;
    b = static_cast<std::byte>(x >> 24U);
  }
  return buffer;
}

}  // namespace offramp::test
