// The network between two engines: protocol engine (UDP, TCP or RDMA) -> wire -> protocol engine ->
// depacketizer -> DMA into an RX buffer.
//
// Without faults a message is computed in closed form. With a fault script its packets go one by one through
// a network of processes: over TCP (and RDMA) the engine acknowledges, repeats what is lost, and puts what
// came early into its reorder buffer; over UDP what is lost stays lost. Without faults both ways give the
// same times (a test holds that). Packets are stored and forwarded by the engines.
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

/// What became of one message (segment).
struct Crossing {
  Time accepted;  // the sender's protocol engine has all of it, or its transmit buffer has what is left
  Time first;     // its first packet is at the receiving engine
  Time last;      // and its last one; everything before it too
  Error error = Error::kNone;
  WireCounters wire;
};

/// What selects the fate of a message's packets.
struct Fate {
  FaultRates rates;
  int source = 0;
  int destination = 0;
  std::uint64_t first_packet = 0;
  Time epoch;  // the modelled time at which the clocks of this network show zero
};

/// The sending side of one engine's port. Messages follow each other.
class Transmitter {
 public:
  Transmitter(const Spec& spec, EngineUnits& units) : spec_(spec), units_(units) {}
  /// in: as it leaves the packetizer, header included.
  /// packets: gets when each of them leaves, also those that are repeated.
  Crossing send(const Flow& in, std::uint64_t payload, const Fate* fate = nullptr,
                std::vector<SentPacket>* packets = nullptr);
  /// The same, packet by packet; for tests.
  Crossing send_packets(const Flow& in, std::uint64_t payload, const Fate& fate,
                        std::vector<SentPacket>* packets = nullptr);

 private:
  Crossing send_closed(const Flow& in, const PacketCut& cut);
  void list_packets(const Flow& in, const PacketCut& cut, std::vector<SentPacket>& packets) const;

  /// The protocol engine and its link have this message until then.
  void occupy_until(const Flow& in, Time engine, Time link);

  const Spec& spec_;
  EngineUnits& units_;
};

/// The receiving side: engine, depacketizer and the write channel into RX buffers.
class Receiver {
 public:
  Receiver(const Spec& spec, EngineUnits& units) : spec_(spec), units_(units) {}
  /// A message of `payload` bytes between its first and last packet; returns when its last word is in device
  /// memory. It cannot come faster than the link carries it, so messages of several senders queue.
  /// rendezvous: it goes where it belongs, without an RX buffer.
  Time land(Time first, Time last, std::uint64_t payload, bool rendezvous = false);

 private:
  const Spec& spec_;
  EngineUnits& units_;
};

}  // namespace offramp::cclo
