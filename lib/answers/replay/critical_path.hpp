// The critical path through a run: what the clocks of its ranks waited for, and the chain that follows from
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "offramp/kernel/time.hpp"
#include "simulators/world/world_log.hpp"

namespace offramp {

/// The chain of work and messages that ends with the last rank: had any part of it been shorter, so would the
/// run have been.
struct CriticalPath {
  struct Step {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::uint64_t bytes = 0;
    Time begin;
    Time end;
    Time shared;  // of it, for other messages on its links
  };
  static constexpr std::size_t kLongest = 10;

  Time on_ranks;               // work of the ranks and their hardware, between the messages
  Time in_messages;            // from the beginning of a send to where its receiver could go on
  Time shared;                 // of these, for other messages on their links
  std::uint64_t messages = 0;  // one after the other
  std::vector<Time> by_rank;   // on_ranks, per rank
  std::vector<Step> longest;   // messages
};

/// What one rank waited for, in any order, and its clock at the end.
struct RankWaits {
  std::vector<MessageWait> waits;
  Time end;
};

/// Nothing without ranks. A message that begins after what it let go on is none: the path stays on the rank.
std::optional<CriticalPath> critical_path(std::vector<RankWaits> ranks);

}  // namespace offramp
