// Background traffic during a replay: nodes that send messages at a steady rate while the jobs run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "offramp/kernel/result.hpp"
#include "simulators/world/world.hpp"

namespace offramp {

/// Immutable during a replay. The ranks are those of the world, beside the jobs'.
struct BackgroundTraffic {
  static constexpr std::size_t kBytes = 65536;  // per message
  /// The most messages in flight that a node sends, and that it receives. If the network or a port cannot
  /// carry the rate, this window limits the sender, as in any windowed transport.
  static constexpr std::size_t kWindow = 4;

  /// Which nodes send to which.
  enum class Pattern : std::uint8_t {
    kUniform,  // each message to a random node
    kIncast,   // all nodes to the first
    kShift     // each node to the one half the list further on
  };
  Pattern kind = Pattern::kUniform;
  Bandwidth rate = Bandwidth::gigabits_per_second(1);  // of each sender
  std::uint64_t seed = 0;
  std::vector<int> ranks = {};  // world ranks, one per node; empty: no traffic

  /// The destination of a node's next message, as an index into `ranks`. Negative if the node only receives.
  [[nodiscard]] int destination(int own, std::uint64_t round) const;
  /// The program of one of the ranks. Before each message it calls is_over() to see whether it should end.
  Task<void> play(RankHandle& rank, std::function<bool()> is_over) const;
};

/// Parses "uniform:10", "incast:2.5", "shift:50Gb/s". The number is the rate of each node, in Gb/s unless it
/// has a unit. An error lists what is allowed.
Result<BackgroundTraffic> parse_background(const std::string& text);

}  // namespace offramp
