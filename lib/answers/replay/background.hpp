// Traffic of others on the network while a replay's jobs run: nodes that send messages at a steady rate.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "offramp/kernel/result.hpp"
#include "simulators/world/world.hpp"

namespace offramp {

struct BackgroundTraffic {
  static constexpr std::size_t kBytes = 65536;  // of a message
  /// Messages that one node sends, and that one takes, at a time: where the network or a port cannot take the
  /// rate, it carries what it can, as with any transport that has a window.
  static constexpr std::size_t kWindow = 4;

  enum class Pattern : std::uint8_t {
    kUniform,  // each message to a node that is drawn
    kIncast,   // all to the first of them
    kShift     // to the node that is half of them further on
  };
  Pattern kind = Pattern::kUniform;
  Bandwidth rate = Bandwidth::gigabits_per_second(1);  // that each sends
  std::uint64_t seed = 0;
  std::vector<int> ranks = {};  // of the world, one for each node; empty: there is no traffic

  /// Of a node's next message, among the ranks; negative: it sends none.
  [[nodiscard]] int destination(int own, std::uint64_t round) const;
  /// The program of one of the ranks. is_over: asked before each message.
  Task<void> play(RankHandle& rank, std::function<bool()> is_over) const;
};

/// "uniform:10", "incast:2.5", "shift:50Gb/s": the rate that each node sends, in Gb/s where no unit is given.
/// An error says what is allowed.
Result<BackgroundTraffic> parse_background(const std::string& text);

}  // namespace offramp
