// The units of one engine that all its calls share, and those of its card that the card's engines share. Each
// serves one flow after the other, in the order in which the control processor gives its commands. Thread
// rule: the owner's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "offramp/kernel/arbiter.hpp"
#include "offramp/model/resource.hpp"

namespace offramp::cclo {

enum class Unit : std::uint8_t {
  // The card's, which the engines on it share. Their frames leave by its one port: one engine per FPGA with a
  // network of its own is published, several behind an AXI-Stream switch in tests; that those share the port
  // is inferred.
  kEngine,  // protocol engine, sending
  kLinkOut,
  kLinkIn,
  kMemory,    // of the device
  kPcieDown,  // from the host's memory to the card
  kPcieUp,
  // Each engine's.
  kProcessor,  // the control processor
  kDecoder,    // second generation: the data movement processor
  kRead0,      // DMA read channels
  kRead1,
  kWrite,  // DMA write channel of results
  kArithmetic,
  kLane0,   // second generation: casts the first operand
  kLane1,   // the second
  kLane2,   // the result
  kPortIn,  // from kernels
  kPortOut,
  kPacketizer,
  kDepacketizer,
  kRxService,  // of filled RX buffers: interrupt, or the second generation's hardware
  kNumber
};

/// Behind the units of the engine's calls: messages have the control processor's time for themselves.
inline constexpr std::size_t kSendCalls = static_cast<std::size_t>(Unit::kNumber);
inline constexpr std::size_t kResources = kSendCalls + 1;
inline constexpr std::array<ResourceDescription, kResources> kEngineResources{
    {{.name = "cclo.protocol engine", .scope = Scope::kCard, .reserved_ahead = true},
     {.name = "cclo.link", .scope = Scope::kCard, .reserved_ahead = true},
     {.name = "cclo.link in", .scope = Scope::kCard, .reserved_ahead = true},
     {"cclo.memory", Scope::kCard},
     {"cclo.pcie", Scope::kCard},
     {"cclo.pcie up", Scope::kCard},
     {"cclo.control processor"},
     {"cclo.move decoder"},
     {"cclo.dma read 0"},
     {"cclo.dma read 1"},
     {"cclo.dma write"},
     {"cclo.arithmetic"},
     {"cclo.lane 0"},
     {"cclo.lane 1"},
     {"cclo.lane 2"},
     {"cclo.port in"},
     {"cclo.port out"},
     {"cclo.packetizer"},
     {"cclo.depacketizer"},
     {"cclo.rx buffers"},
     {"cclo.send calls"}}};

/// Uses a unit that serves many at a time (a memory, a bus) for `duration` of its time, from `at` on. Returns
/// when it has done that, beside all else.
inline Time share(Arbiter& unit, Time at, Time duration) {
  Arbiter alone;
  alone.acquire(at, duration);
  return alone.free_at() + unit.join(alone, {}, at);
}

class EngineUnits {
 public:
  static constexpr std::size_t kCount = static_cast<std::size_t>(Unit::kNumber);

  /// shared: those of a rank, described by kEngineResources; nothing: an idle engine of its own.
  explicit EngineUnits(std::optional<Resources> shared = {}) : shared_(shared) {}

  Arbiter& operator[](Unit unit) {
    const auto index = static_cast<std::size_t>(unit);
    return shared_ ? (*shared_)[index].timeline : own_[index];
  }
  /// share(), among the rank's calls. What one message takes on an idle engine is known without it.
  Time share_until(Unit unit, Time at, Time duration) {
    return shared_ ? share((*this)[unit], at, duration) : at;
  }

 private:
  std::optional<Resources> shared_;
  std::array<Arbiter, kCount> own_;
};

}  // namespace offramp::cclo
