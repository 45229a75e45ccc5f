// Stream switches shared by messages between ranks: packet-switched streams on the channels of every link of
// their route, and on the single stream into the receiver's tile.
#pragma once

#include <unordered_map>

#include "offramp/kernel/arbiter.hpp"
#include "simulators/aie/array.hpp"

namespace offramp::aie {

/// Messages follow their source's row, then their target's column. Call in order of modelled time.
class Links {
 public:
  /// array: must outlive this object.
  explicit Links(const ArraySpec& array) : array_(array) {}

  /// Carries a message whose windows need a total of `stream` on one channel. Returns by how much the last
  /// link is later than `deadline`, the message's arrival without other messages.
  Time carry(Tile from, Tile to, Time at, Time stream, Time deadline);

 private:
  /// The delay by other messages on one link.
  Time pass(int link, int channels, Time at, Time stream, Time deadline);

  const ArraySpec& array_;
  std::unordered_map<int, Arbiter> used_;  // by tile and direction
};

}  // namespace offramp::aie
