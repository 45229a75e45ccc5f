// Numbers of operations tell messages from collectives: only the former have two ends.
#pragma once

#include <cstdint>

namespace offramp {

/// Set in the number of a collective (beside the rank in the upper half and the counter in the lower one).
inline constexpr std::uint64_t kCollectiveOperation = std::uint64_t{1} << 31;

}  // namespace offramp
