// The stream switches as messages between ranks share them: packet-switched streams on the channels of every
// link on their way, and on the one stream into the receiver's tile.
#pragma once

#include <unordered_map>

#include "offramp/kernel/arbiter.hpp"
#include "simulators/aie/array.hpp"

namespace offramp::aie {

/// Messages go along their source's row and then along the column of their target. Asked in the order of
/// modelled time.
class Links {
 public:
  explicit Links(const ArraySpec& array) : array_(array) {}

  /// Carries a message whose windows occupy one channel for `stream` in all. Returns when the last link has
  /// carried it, if that is later than `deadline`, by which it arrives on links of its own: by how much.
  Time carry(Tile from, Tile to, Time at, Time stream, Time deadline);

 private:
  Time pass(int link, int channels, Time at, Time stream, Time deadline);

  const ArraySpec& array_;
  std::unordered_map<int, Arbiter> used_;  // by tile and direction
};

}  // namespace offramp::aie
