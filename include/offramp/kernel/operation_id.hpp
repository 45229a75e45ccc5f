// Operations are numbered: the rank that began one in the upper half, and from 1 on in the lower one; 0 is
// none. Spans say which operation they are about (Span::operation).
#pragma once

#include <cstdint>

namespace offramp {

/// Set in the number of a collective: only messages have two ends.
inline constexpr std::uint64_t kCollectiveOperation = std::uint64_t{1} << 31;

constexpr std::uint64_t operation_id(int rank, std::uint32_t number) {
  return std::uint64_t{static_cast<std::uint32_t>(rank)} << 32 | number;
}
constexpr int rank_of_operation(std::uint64_t operation) {
  return static_cast<int>(operation >> 32);
}

}  // namespace offramp
