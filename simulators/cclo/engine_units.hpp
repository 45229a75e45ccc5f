// The units of an engine that all its calls share, and those of its card that the card's engines share. Each
// unit serves flows in the order of the control processor's commands. Only for the thread of the owner.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "offramp/kernel/arbiter.hpp"
#include "offramp/model/resource.hpp"

namespace offramp::cclo {

/// Units by position in a rank's resources.
enum class Unit : std::uint8_t {
  // Units of the card, shared by its engines, whose frames leave through the card's one port. Published are
  // one engine per FPGA with its own network, and in tests several behind an AXI-Stream switch. That those
  // share the port is inferred.
  kEngine,  // protocol engine, sending
  kLinkOut,
  kLinkIn,
  kMemory,    // device memory
  kPcieDown,  // from host memory to the card
  kPcieUp,
  // Units of each engine.
  kProcessor,  // the control processor
  kDecoder,    // second generation: the data movement processor
  kRead0,      // DMA read channels
  kRead1,
  kWrite,  // DMA write channel of results
  kArithmetic,
  // Idle in MPI programs. Second generation: casts of the first operand, the second, and the result; ports
  // from and to kernels.
  kLane0,
  kLane1,
  kLane2,
  kPortIn,
  kPortOut,
  kPacketizer,
  kDepacketizer,
  kRxService,  // service of filled RX buffers: interrupt, or hardware in the second generation
  kNumber
};

/// Resource after the units of calls: messages use a separate timeline of the control processor.
inline constexpr std::size_t kSendCalls = static_cast<std::size_t>(Unit::kNumber);
inline constexpr std::size_t kResources = kSendCalls + 1;
/// The descriptions of a rank's resources, in the order of Unit. Resources of the card are shared by its
/// ranks.
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

/// Uses `duration` of a unit that serves several users at once (a memory or bus), from `at` on. Returns the
/// time when that is done, given the other users.
inline Time share(Arbiter& unit, Time at, Time duration) {
  Arbiter alone;
  alone.acquire(at, duration);
  return alone.free_at() + unit.join(alone, {}, at);
}

/// The units of one engine: a rank's in a world, or private ones.
class EngineUnits {
 public:
  static constexpr std::size_t kCount = static_cast<std::size_t>(Unit::kNumber);

  /// shared: a rank's resources, described by kEngineResources. `nullopt`: a private idle engine.
  explicit EngineUnits(std::optional<Resources> shared = {}) : shared_(shared) {
    if (!shared_) own_.emplace();
  }

  Arbiter& operator[](Unit unit) {
    const auto index = static_cast<std::size_t>(unit);
    return shared_ ? (*shared_)[index].timeline : (*own_)[index];
  }
  /// share() with the rank's other calls. Returns `at` on a private engine, where nothing competes.
  Time share_until(Unit unit, Time at, Time duration) {
    return shared_ ? share((*this)[unit], at, duration) : at;
  }

 private:
  std::optional<Resources> shared_;
  std::optional<std::array<Arbiter, kCount>> own_;  // unless shared
};

}  // namespace offramp::cclo
