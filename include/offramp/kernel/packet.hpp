// Packets as they leave a device: what a packet capture writes.
//
// A model without a sink (the normal case) pays one test of a pointer. With one, it goes through its packets
// one by one even where it knows their times in closed form; the times are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "offramp/kernel/time.hpp"

namespace offramp {

/// What carries a packet; the capture puts these headers in front of it.
enum class Carrier : std::uint8_t {
  kUdp,
  kTcp,
  kRoce,       // RoCE v2: a SEND of the reliable connection
  kRoceWrite,  // the same: an RDMA WRITE
  kLink        // no protocol that others know: an Ethernet frame of its own type
};

/// One packet on its way from one rank's device to another's. Everything here is copied by the sink.
struct Packet {
  Time at;  // its first bit leaves
  Carrier carrier = Carrier::kUdp;
  int source = 0;                 // world ranks
  int destination = 0;            // kLink: -1 for many
  std::uint16_t source_port = 0;  // kUdp, kTcp; kLink: the type of the frame
  std::uint16_t destination_port = 0;
  /// The packet's bytes are head, then data, then zeros up to `bytes`.
  std::span<const std::byte> head;
  std::span<const std::byte> data;
  std::uint32_t bytes = 0;
  /// Of carriers with a connection: which message of its source this packet is part of, how long that is on
  /// the network, and the packet's place in it. A repeated packet has the place that it had before.
  std::uint64_t message = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t offset = 0;
  std::uint32_t index = 0;
  std::uint32_t count = 1;
};

/// Receives packets in the order in which the model produces them, which is not the order of time.
class PacketSink {
 public:
  virtual ~PacketSink() = default;
  virtual void record(const Packet& packet) = 0;
};

}  // namespace offramp
