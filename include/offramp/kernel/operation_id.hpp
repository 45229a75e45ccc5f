// Numbers of operations: the upper half is the rank that began it, the lower half counts from 1. 0 means no
// operation. Spans refer to them (Span::operation).
#pragma once

#include <cstdint>

namespace offramp {

/// Set in the number of a collective: only messages have two ends.
inline constexpr std::uint64_t kCollectiveOperation = std::uint64_t{1} << 31;

/// rank: world rank that begins the operation; number: its count, from 1.
constexpr std::uint64_t operation_id(int rank, std::uint32_t number) {
  return std::uint64_t{static_cast<std::uint32_t>(rank)} << 32 | number;
}
/// The world rank that began the operation.
constexpr int rank_of_operation(std::uint64_t operation) {
  return static_cast<int>(operation >> 32);
}

}  // namespace offramp
