// Point-to-point messages as the backend's stages need them: what a SEND and a RECV call take.
//
// Everything that the two engines do is a sum or a maximum of times, so a receiver that is late or early
// only chooses between two figures: done = max(call + late, arrival + waiting). Without faults they depend on
// the size alone and are computed once per size; tests hold them against the engines themselves.
#pragma once

#include <cstdint>

#include "simulators/cclo/message.hpp"
#include "simulators/world/direct_mapped_cache.hpp"

namespace offramp::cclo {

struct Plan {
  Time complete;  // the SEND call
  Time first;     // first packet at the receiver, from the SEND call's beginning
  Time last;
  Time late;     // the RECV call when all is there
  Time waiting;  // from the first packet to the end of a RECV call that waited for it
  Time engine;   // for which the message occupies the protocol engine, its link, and the receiver's port
  Time link;
  Time port;
  Time departs;   // its first packet gets to the engine, from the SEND call's beginning
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
    return eager_.get(bytes, [&] { return compute(bytes); });
  }
  /// One message with its own fate; late and waiting are those of a whole message.
  Plan eager(std::uint64_t bytes, const Fate& fate);
  const MessageRunner::Rendezvous& rendezvous(std::uint64_t bytes) {
    return rendezvous_.get(bytes, [&] { return runner_.rendezvous(bytes); });
  }
  /// For which the data of a rendezvous occupies the receiver's port.
  [[nodiscard]] Time write_port(std::uint64_t bytes) const {
    return spec_.port_time(cut(bytes), bytes, true);
  }
  /// And the sender's engine and link; and when they get to the engine, from the write's beginning.
  struct Write {
    Time engine;
    Time link;
    Time departs;
  };
  [[nodiscard]] Write write(std::uint64_t bytes, const MessageRunner::Rendezvous& plan) const;
  /// A message of a rank to itself.
  Time copy(std::uint64_t bytes) {
    return copies_.get(bytes, [&] { return runner_.copy(bytes); });
  }
  /// What so many bytes take on PCIe and in the device's memory, and their first packet on the receiver's
  /// port and on the link.
  struct Rates {
    Time pcie;
    Time memory;
    Time first_packet;
    Time first_on_link;
  };
  Rates rates(std::uint64_t bytes) {
    return rates_.get(bytes, [&] {
      return Rates{spec_.pcie_time(bytes), spec_.memory_time(bytes),
                   spec_.port_time_of_first(cut(first_segment(bytes))),
                   spec_.first_on_link(first_segment(bytes))};
    });
  }
  MessageRunner& runner() { return runner_; }

 private:
  /// A write has one.
  [[nodiscard]] std::uint64_t first_segment(std::uint64_t bytes) const {
    return is_rendezvous(spec_, Scenario::kSend, bytes) ? bytes : spec_.segment_bytes(bytes, 0);
  }
  Plan compute(std::uint64_t bytes);
  void send_into(Plan& plan, const SendResult& sent) const;
  void occupy(Plan& plan, std::uint64_t bytes) const;
  [[nodiscard]] PacketCut cut(std::uint64_t bytes) const {
    return cut_message(spec_.generation, spec_.transport, spec_.max_packet, bytes);
  }

  Spec spec_;
  MessageRunner runner_;
  DirectMappedCache<std::uint64_t, Rates> rates_;
  DirectMappedCache<std::uint64_t, Plan> eager_;
  DirectMappedCache<std::uint64_t, Time> copies_;
  DirectMappedCache<std::uint64_t, MessageRunner::Rendezvous, 31> rendezvous_;
};

}  // namespace offramp::cclo
