// The state of a card's engine between calls: configured settings, what its units hold, and injected faults.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "simulators/cclo/firmware.hpp"

namespace offramp::cclo {

/// The status word of a DMA command.
struct DmaStatus {
  std::uint32_t tag = 0;
  bool internal_error = false;
  bool decode_error = false;
  bool slave_error = false;
  bool okay = true;
  std::uint32_t bytes = 0;
  bool end_of_packet = true;
};

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

struct CardState : EngineState {
  CardState() = default;
  explicit CardState(const EngineState& state) : EngineState(state) {}

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
};

}  // namespace offramp::cclo
