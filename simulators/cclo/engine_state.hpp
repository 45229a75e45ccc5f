// What configuration calls switch in an engine, and what is broken in it.
#pragma once

#include <deque>

#include "simulators/cclo/header.hpp"

namespace offramp::cclo {

struct EngineState {
  bool interrupts = false;   // first generation: RX buffers are served
  bool packetizers = false;  // and depacketizers; in the second generation the RX engines too
  bool port = false;         // first generation over TCP
  bool connections = false;
  /// The next DMA acknowledgements instead of good ones: a memory or an interconnect that fails.
  std::deque<DmaStatus> broken_dma;

  /// An engine after its driver's set-up.
  static EngineState ready() { return {true, true, true, true, {}}; }
};

}  // namespace offramp::cclo
