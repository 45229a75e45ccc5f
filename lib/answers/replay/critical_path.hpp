// The critical path of a run, from the messages that its ranks waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "offramp/kernel/time.hpp"
#include "simulators/world/world_log.hpp"

namespace offramp {

/// The chain of work and messages that ends with the last rank. Shortening any part shortens the run.
struct CriticalPath {
  /// A message on the path, from the begin of its send to the continuation of its receiver.
  struct Step {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::uint64_t bytes = 0;
    Time begin;
    Time end;
    Time shared;  // delay by other messages on its links
  };
  /// Messages to keep.
  static constexpr std::size_t kLongest = 10;

  Time on_ranks;               // work of the ranks and their hardware between the messages
  Time in_messages;            // from the beginning of a send until its receiver could continue
  Time shared;                 // part of in_messages: delay by other messages on their links
  std::uint64_t messages = 0;  // consecutive messages on the path
  std::vector<Time> by_rank;   // on_ranks by rank
  std::vector<Step> longest;   // messages, the longest first
};

/// The waits of one rank, in any order, and its final clock.
struct RankWaits {
  std::vector<MessageWait> waits;
  Time end;
};

/// `nullopt` without ranks. Messages that begin after their receiver continued are ignored.
std::optional<CriticalPath> critical_path(std::vector<RankWaits> ranks);

}  // namespace offramp
