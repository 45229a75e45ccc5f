// Lists of ranks, as used by communicators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace offramp {

/// The position of a rank among the members of a communicator; their number if it is not a member. Constant
/// time if the members are consecutive, as in a communicator of all ranks.
inline std::size_t place_in(std::span<const int> members, int rank) {
  if (members.empty()) return 0;
  const auto likely = static_cast<std::size_t>(static_cast<long>(rank) - members.front());
  if (likely < members.size() && members[likely] == rank) return likely;
  return static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
}

}  // namespace offramp
