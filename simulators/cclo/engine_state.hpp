// Engine state that persists between calls: configured settings, unit states, and injected faults.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "simulators/cclo/header.hpp"

namespace offramp::cclo {

/// DMA channels, in the order in which the firmware checks their acknowledgements.
enum class DmaChannel : std::uint8_t { kRead0, kRead1, kWrite, kNumber };

/// Injected faults of units.
struct BrokenUnits {
  /// Replaces the next DMA acknowledgements. Tags are offsets to the correct ones.
  std::deque<DmaStatus> dma;
  /// Offsets to the sequence numbers of the next packetizer acknowledgements.
  std::deque<std::uint32_t> packetizer;
  bool stream_switch = false;    // first generation: does not accept its configuration
  bool arithmetic = false;       // first generation: never becomes idle
  std::uint32_t lost_words = 0;  // second generation: lost on the way to a kernel's port, once
};

struct EngineState {
  bool interrupts = false;   // first generation: RX buffers are serviced
  bool packetizers = false;  // and depacketizers; in the second generation also the RX engines
  bool port = false;         // first generation over TCP
  bool connections = false;
  BrokenUnits broken;

  // First generation: what an error leaves in the units, since the firmware then leaves the call at once.
  std::uint32_t dma_tag = 0;  // last acknowledgement
  std::array<std::deque<DmaStatus>, static_cast<std::size_t>(DmaChannel::kNumber)> acknowledgements;
  std::deque<std::uint32_t> sent;  // sequence numbers acknowledged by the packetizer
  /// Write commands for RX buffers, in order.
  struct Posted {
    std::uint32_t buffer = 0;
    std::uint32_t tag = 0;
  };
  std::deque<Posted> posted;

  /// The state of an engine after its driver's set-up.
  static EngineState ready() {
    EngineState state;
    state.interrupts = state.packetizers = state.port = state.connections = true;
    return state;
  }
};

}  // namespace offramp::cclo
