// What configuration calls switch in an engine, what its units keep from call to call, and what is broken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "simulators/cclo/header.hpp"

namespace offramp::cclo {

/// DMA channels that the firmware commands, in the order in which it looks for their acknowledgements.
enum class DmaChannel : std::uint8_t { kRead0, kRead1, kWrite, kNumber };

/// Units that do not do what they should.
struct BrokenUnits {
  /// The next DMA acknowledgements instead of good ones. The tag is added to the right one.
  std::deque<DmaStatus> dma;
  /// Added to the sequence numbers that the packetizer acknowledges next.
  std::deque<std::uint32_t> packetizer;
  bool stream_switch = false;    // first generation: does not take its configuration
  bool arithmetic = false;       // first generation: does not get idle
  std::uint32_t lost_words = 0;  // second generation: on the way to a kernel's port, once
};

struct EngineState {
  bool interrupts = false;   // first generation: RX buffers are served
  bool packetizers = false;  // and depacketizers; in the second generation the RX engines too
  bool port = false;         // first generation over TCP
  bool connections = false;
  BrokenUnits broken;

  // First generation: what an error leaves in the units, since its firmware unwinds to the end of the call.
  std::uint32_t dma_tag = 0;  // of the last acknowledgement
  std::array<std::deque<DmaStatus>, static_cast<std::size_t>(DmaChannel::kNumber)> acknowledgements;
  std::deque<std::uint32_t> sent;  // sequence numbers that the packetizer has acknowledged
  /// Write commands into RX buffers, in order.
  struct Posted {
    std::uint32_t buffer = 0;
    std::uint32_t tag = 0;
  };
  std::deque<Posted> posted;

  /// An engine after its driver's set-up.
  static EngineState ready() {
    EngineState state;
    state.interrupts = state.packetizers = state.port = state.connections = true;
    return state;
  }
};

}  // namespace offramp::cclo
