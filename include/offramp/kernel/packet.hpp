// Packets as they leave a device, for packet captures.
//
// Without a sink (the normal case) a model pays one test of a pointer. With a sink it produces its packets
// one by one, also where it computes their times in closed form; the times are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "offramp/kernel/time.hpp"

namespace offramp {

/// The carrier of a packet; the capture prepends its headers.
enum class Carrier : std::uint8_t {
  kUdp,
  kTcp,
  kRoce,       // RoCE v2: a SEND of the reliable connection
  kRoceWrite,  // RoCE v2: an RDMA WRITE of the reliable connection
  kLink        // private protocol: an Ethernet frame of its own type
};

/// One packet from one rank's device to another's. The sink copies everything here.
struct Packet {
  Time at;  // departure of its first bit
  Carrier carrier = Carrier::kUdp;
  int source = 0;                 // world ranks
  int destination = 0;            // kLink: -1 for a multicast
  std::uint16_t source_port = 0;  // kUdp, kTcp; kLink: the type of the frame
  std::uint16_t destination_port = 0;
  /// The packet's bytes are head, then data, then zeros up to `bytes`.
  std::span<const std::byte> head;
  std::span<const std::byte> data;
  std::uint32_t bytes = 0;
  /// For carriers with a connection: which message of its source the packet belongs to, the message's length
  /// on the network, and the packet's position in it. A retransmitted packet keeps its position.
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
  /// The spans of the packet are valid during the call only.
  virtual void record(const Packet& packet) = 0;
};

}  // namespace offramp
