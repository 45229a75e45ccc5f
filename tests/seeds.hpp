// The number of random cases that a test draws: OFFRAMP_SEEDS, relative to the usual thousand;
// OFFRAMP_FIRST_SEED is the first one, to reproduce a case. Slow builds set fewer, nightly runs more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace offramp::test {

inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// usual: the number when OFFRAMP_SEEDS is a thousand. Returns at least one.
inline std::uint64_t seeds(std::uint64_t usual = 1000) {
  return std::max<std::uint64_t>(1, number_from("OFFRAMP_SEEDS", 1000) * usual / 1000);
}

inline std::uint64_t first_seed() {
  return number_from("OFFRAMP_FIRST_SEED", 1);
}

}  // namespace offramp::test
