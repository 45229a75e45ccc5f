// The network between two engines: protocol engine (UDP, TCP or RDMA) -> wire -> protocol engine ->
// depacketizer -> DMA into an RX buffer.
//
// Without faults, a message is computed in closed form. With faults, its packets pass individually through a
// network of processes. TCP and RDMA engines acknowledge, repeat lost packets, and reorder early ones; over
// UDP, lost packets stay lost. Without faults both methods give the same times (a test checks this). Engines
// store and forward packets.
#pragma once

#include <cstdint>
#include <vector>

#include "offramp/kernel/scheduler.hpp"
#include "offramp/kernel/wire.hpp"
#include "simulators/cclo/codes.hpp"
#include "simulators/cclo/data_plane.hpp"
#include "simulators/cclo/spec.hpp"
#include "simulators/cclo/tap.hpp"

namespace offramp::cclo {

/// The result of sending one message (segment).
struct Crossing {
  Time accepted;  // the sender's protocol engine has processed it, except for what its transmit buffer
                  // contains
  Time first;     // arrival of the first packet at the receiving engine
  Time last;      // arrival of the last packet and all earlier ones
  Error error = Error::kNone;
  WireCounters wire;
};

/// Identifies the faults of a message's packets.
struct PacketFaults {
  FaultRates rates;
  int source = 0;
  int destination = 0;
  std::uint64_t first_packet = 0;
  Time epoch;  // modelled time at clock zero of this network
};

/// The sending side of an engine's port. Messages are sent in order.
class Transmitter {
 public:
  /// Both arguments must outlive this object.
  Transmitter(const Spec& spec, EngineUnits& units) : spec_(spec), units_(units) {}
  /// Sends a message. in: its words as they leave the packetizer, header included. packets: receives the
  /// times of all packets, including repeated ones.
  /// payload: bytes without the header. packet_faults: null or without rates: the closed form is used.
  Crossing send(const Flow& in, std::uint64_t payload, const PacketFaults* packet_faults = nullptr,
                std::vector<SentPacket>* packets = nullptr);
  /// Works like send(), but always packet by packet. For tests.
  Crossing send_packets(const Flow& in, std::uint64_t payload, const PacketFaults& packet_faults,
                        std::vector<SentPacket>* packets = nullptr);

 private:
  Crossing send_closed(const Flow& in, const PacketCut& cut);
  void list_packets(const Flow& in, const PacketCut& cut, std::vector<SentPacket>& packets) const;

  /// Reserves the protocol engine and its link until these times.
  void occupy_until(const Flow& in, Time engine, Time link);

  const Spec& spec_;
  EngineUnits& units_;
};

/// The receiving side: engine, depacketizer, and write channel into RX buffers.
class Receiver {
 public:
  Receiver(const Spec& spec, EngineUnits& units) : spec_(spec), units_(units) {}
  /// Receives a message of `payload` bytes between its first and last packet. Returns the time when its last
  /// word is in device memory. The link's rate limits it, so messages of several senders queue. rendezvous:
  /// the data goes directly to its destination, without an RX buffer.
  /// Call it in the order of arrival: each call occupies the port.
  Time land(Time first, Time last, std::uint64_t payload, bool rendezvous = false);

 private:
  const Spec& spec_;
  EngineUnits& units_;
};

}  // namespace offramp::cclo
