// Durations of the SEND and RECV calls of point-to-point messages, for the backend's stages.
//
// All times in both engines are sums or maxima, so an early or late receiver only selects between two values:
// done = max(call + late, arrival + waiting). Without faults they depend on the size alone and are computed
// once per size. Tests compare them with the engines.
#pragma once

#include <cstdint>

#include "simulators/cclo/message.hpp"
#include "simulators/world/direct_mapped_cache.hpp"

namespace offramp::cclo {

/// The times of one message size, relative to the start of a call.
struct Plan {
  Time complete;  // duration of the SEND call
  Time first;     // first packet at the receiver, after the start of the SEND call
  Time last;
  Time late;     // duration of the RECV call if all data has arrived
  Time waiting;  // from the first packet to the end of a RECV call that waited for it
  Time engine;   // occupation of the protocol engine; below, of its link and the receiver's port
  Time link;
  Time port;
  Time departs;   // first packet at the engine, after the start of the SEND call
  Time overflow;  // first segment without an RX buffer, after the start of the SEND call
  std::uint64_t segments = 1;
  Error error = Error::kNone;
  WireCounters wire;
};

/// Belongs to one thread. Results are valid until the next call for another size.
class Plans {
 public:
  /// Keeps a copy of the specification.
  Plans(const Spec& spec, const Layout& layout) : spec_(spec), runner_(spec, layout) {}

  /// The plan of a message without faults.
  const Plan& eager(std::uint64_t bytes) {
    return eager_.get(bytes, [&] { return compute(bytes); });
  }
  /// The plan of one message with its own fate; late and waiting are those of a message without faults.
  Plan eager(std::uint64_t bytes, const PacketFaults& packet_faults);
  /// The times of a write, with its announcement.
  const MessageRunner::Rendezvous& rendezvous(std::uint64_t bytes) {
    return rendezvous_.get(bytes, [&] { return runner_.rendezvous(bytes); });
  }
  /// Occupation of the receiver's port by the data of a rendezvous.
  [[nodiscard]] Time write_port(std::uint64_t bytes) const {
    return spec_.port_time(cut(bytes), bytes, true);
  }
  /// Occupation of the sender's engine and link, and when the data reaches the engine, after the write's
  /// start.
  struct Write {
    Time engine;
    Time link;
    Time departs;
  };
  [[nodiscard]] Write write(std::uint64_t bytes, const MessageRunner::Rendezvous& plan) const;
  /// The duration of a message of a rank to itself.
  Time copy(std::uint64_t bytes) {
    return copies_.get(bytes, [&] { return runner_.copy(bytes); });
  }
  /// Occupation of PCIe and of the device's memory, and of the receiver's port and the link by the first
  /// packet.
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
  /// For simulations that are not cached.
  MessageRunner& runner() { return runner_; }

 private:
  /// A write has one segment.
  [[nodiscard]] std::uint64_t first_segment(std::uint64_t bytes) const {
    return is_rendezvous(spec_, Scenario::kSend, bytes) ? bytes : spec_.segment_bytes(bytes, 0);
  }
  /// Simulates both ends once.
  Plan compute(std::uint64_t bytes);
  /// Copies the results of a simulated send.
  void send_into(Plan& plan, const SendResult& sent) const;
  /// Adds up the occupation of shared units over the segments.
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
