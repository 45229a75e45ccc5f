// The units of one engine that all its calls share. Each serves one flow after the other, in the order in
// which the control processor gives its commands. Thread rule: the owner's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "offramp/kernel/arbiter.hpp"
#include "simulators/model/units.hpp"

namespace offramp::cclo {

enum class Unit : std::uint8_t {
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
  kEngine,  // protocol engine, sending
  kLinkOut,
  kLinkIn,
  kDepacketizer,
  kRxService,  // of filled RX buffers: interrupt, or the second generation's hardware
  kMemory,     // of the device
  kPcieDown,   // from the host's memory to the card
  kPcieUp,
  kNumber
};

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

  /// shared: the first kCount of a rank's units; null: an idle engine of its own.
  explicit EngineUnits(Units* shared = nullptr) : shared_(shared) {}

  Arbiter& operator[](Unit unit) {
    const auto index = static_cast<std::size_t>(unit);
    return shared_ != nullptr ? (*shared_)[index] : own_[index];
  }
  /// share(), among the rank's calls. What one message takes on an idle engine is known without it.
  Time share_until(Unit unit, Time at, Time duration) {
    return shared_ != nullptr ? share((*this)[unit], at, duration) : at;
  }

 private:
  Units* shared_;
  std::array<Arbiter, kCount> own_;
};

}  // namespace offramp::cclo
