// One direction between two engines: transmit queue -> bus -> shell -> wire -> shell -> receive queue.
//
// Every arrow is a channel and every word a process. A path works in one of two modes with equal times:
// packet by packet over the kernel's Wire (required for data and faults), or with the full datagrams of a
// message as one burst in closed form.
#pragma once

#include <cstdint>
#include <optional>

#include "offramp/kernel/channel.hpp"
#include "offramp/kernel/packet.hpp"
#include "offramp/kernel/wire.hpp"
#include "simulators/zrlmpi/packet.hpp"
#include "simulators/zrlmpi/spec.hpp"

namespace offramp::zrlmpi {

/// The mode of a path: bursts in closed form, or packet by packet.
enum class Carriage : std::uint8_t { kBurst, kPackets };

/// The path of one call in one direction.
class Path {
 public:
  /// The wire and its faults, and where on it the call begins.
  struct WirePosition {
    std::uint64_t wire_id = 0;
    FaultRates faults;
    std::uint64_t first_packet = 0;
    Time epoch;  // see Wire
  };

  /// Receiver of the datagrams (only with Carriage::kPackets), and the ranks between which they travel.
  struct Tap {
    PacketSink* sink = nullptr;
    int source = 0;
    int destination = 0;
  };

  /// The scheduler and the spec must outlive the path.
  Path(Scheduler& scheduler, const MpeSpec& spec, Carriage carriage, const WirePosition& place,
       const Tap& tap);

  /// Adds the processes, before Scheduler::run(). They never end.
  void spawn(Scheduler& scheduler, Time begin);

  Channel<TransmitItem> in;
  Channel<Datagram> out;
  /// One token per DATA phase that has left for the network.
  Channel<bool> sent;

  [[nodiscard]] WireCounters counters() const;

 private:
  // The processes, in the order in which data passes them, and their parts.
  Task<void> bus();
  Task<void> message(const TransmitItem& item);
  Task<void> message_burst(const TransmitItem& item, std::uint64_t full, Time first);
  Task<void> fragments(const TransmitItem& item);
  Task<void> emit(Datagram datagram, Time at);
  Task<void> shell(Channel<Datagram>& from, Channel<Datagram>& to, Time latency);
  Task<void> burst_wire();
  Task<void> packet_wire();
  Task<void> unpack();
  void record_packet(const Datagram& datagram, Time at) const;

  const MpeSpec& spec_;
  Carriage carriage_;
  Tap tap_;
  Channel<Datagram> to_shell_;
  Channel<Datagram> to_wire_;
  Channel<Datagram> from_wire_;
  std::optional<Wire<Datagram>> wire_;
  WireCounters counters_;  // closed form only
};

}  // namespace offramp::zrlmpi
