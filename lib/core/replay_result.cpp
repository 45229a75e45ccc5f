#include "lib/core/replay_result.hpp"

#include <algorithm>

namespace offramp {

Time ReplayPhase::longest() const {
  return per_rank.empty() ? Time() : *std::max_element(per_rank.begin(), per_rank.end());
}

std::vector<Time> ReplayResult::clocks() const {
  std::vector<Time> all;
  for (const ReplayedRank& rank : ranks) all.push_back(rank.clock);
  return all;
}

Counters ReplayResult::total() const {
  Counters sum;
  for (const ReplayedRank& rank : ranks) sum += rank.counters;
  return sum;
}

}  // namespace offramp
