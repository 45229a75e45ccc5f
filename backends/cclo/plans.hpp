// Point-to-point messages as the backend's four questions need them: what a SEND and a RECV call take.
//
// Everything that the two engines do is a sum or a maximum of times, so a receiver that is late or early
// only chooses between two figures: done = max(call + late, arrival + waiting). Without faults they depend on
// the size alone and are computed once per size; tests hold them against the engines themselves.
#pragma once

#include <array>
#include <cstdint>

#include "simulators/cclo/message.hpp"

namespace offramp::cclo {

struct Plan {
  Time complete;  // the SEND call
  Time first;     // first packet at the receiver, from the SEND call's beginning
  Time last;
  Time late;      // the RECV call when all is there
  Time waiting;   // from the first packet to the end of a RECV call that waited for it
  Time overflow;  // from the SEND call's beginning until the first segment that no RX buffer is left for
  std::uint64_t segments = 1;
  Error error = Error::kNone;
  WireCounters wire;
};

class Plans {
 public:
  Plans(const Spec& spec, const Layout& layout) : spec_(spec), runner_(spec, layout) {}

  /// A message without faults.
  const Plan& eager(std::uint64_t bytes) {
    Slot& slot = slots_[bytes % slots_.size()];
    if (slot.bytes != bytes) {
      slot.plan = compute(bytes);
      slot.bytes = bytes;
    }
    return slot.plan;
  }
  /// One message with its own fate; late and waiting are those of a whole message.
  Plan eager(std::uint64_t bytes, const Fate& fate);
  const MessageRunner::Rendezvous& rendezvous(std::uint64_t bytes) {
    RendezvousSlot& slot = rendezvous_[bytes % rendezvous_.size()];
    if (slot.bytes != bytes) {
      slot.plan = runner_.rendezvous(bytes);
      slot.bytes = bytes;
    }
    return slot.plan;
  }
  MessageRunner& runner() { return runner_; }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t bytes = kNone;
    Plan plan;
  };
  struct RendezvousSlot {
    std::uint64_t bytes = kNone;
    MessageRunner::Rendezvous plan;
  };

  Plan compute(std::uint64_t bytes);
  void send_into(Plan& plan, const SendResult& sent) const;

  Spec spec_;
  MessageRunner runner_;
  std::array<Slot, 257> slots_;  // a prime, so that powers of two do not share slots
  std::array<RendezvousSlot, 31> rendezvous_;
};

}  // namespace offramp::cclo
