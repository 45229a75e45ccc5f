// Lists of ranks, as communicators have them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace offramp {

/// Where a rank stands among the members of a communicator; nowhere: their number. Where they follow each
/// other, as those of a communicator of all ranks do, none is looked at in vain.
inline std::size_t place_in(std::span<const int> members, int rank) {
  if (members.empty()) return 0;
  const auto likely = static_cast<std::size_t>(static_cast<long>(rank) - members.front());
  if (likely < members.size() && members[likely] == rank) return likely;
  return static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
}

}  // namespace offramp
