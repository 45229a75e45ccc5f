// Times in two bytes: eight significant bits and an exponent.
#pragma once

#include <bit>
#include <cstdint>

namespace offramp::recording {

/// Rounds down. Values below 256 are exact.
constexpr std::uint64_t time_code(std::uint64_t nanoseconds) {
  const auto width = static_cast<unsigned>(std::bit_width(nanoseconds));
  const unsigned exponent = width > 8 ? width - 8 : 0;
  /// The highest of the eight bits is implied by the exponent, which is above 0.
  return std::uint64_t{exponent} * 128 + (nanoseconds >> exponent);
}
/// The largest valid code.
inline constexpr std::uint64_t kMostTimeCode = time_code(UINT64_MAX);

/// code: at most kMostTimeCode.
constexpr std::uint64_t time_of_code(std::uint64_t code) {
  if (code < 256) return code;
  const std::uint64_t exponent = code / 128 - 1;
  return (code - exponent * 128) << exponent;
}

}  // namespace offramp::recording
