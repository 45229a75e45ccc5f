// Machine-independent pseudo-random numbers.
#pragma once

#include <cstdint>

namespace offramp {

/// The next number of Marsaglia's xorshift64 (13, 7, 17). The state must not be 0, and never becomes 0.
constexpr std::uint64_t xorshift(std::uint64_t& state) {
  state ^= state << 13U;
  state ^= state >> 7U;
  return state ^= state << 17U;
}

/// The finaliser of splitmix64: a bijection in which each bit of x changes half of the bits on average.
constexpr std::uint64_t splitmix_finaliser(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// The next number of splitmix64. Any state is valid.
constexpr std::uint64_t splitmix(std::uint64_t& state) {
  return splitmix_finaliser(state += 0x9e3779b97f4a7c15U);
}

}  // namespace offramp
