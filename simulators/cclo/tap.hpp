// Reports the packets that an engine sends, for a packet capture.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "offramp/kernel/packet.hpp"
#include "simulators/cclo/header.hpp"
#include "simulators/cclo/spec.hpp"

namespace offramp::cclo {

inline constexpr std::uint32_t kFirstPort = 5500;  // rank 0; further ranks use the following ports

/// A packet of a message, and when its first bit leaves.
struct SentPacket {
  std::uint32_t index = 0;
  Time at;
};

/// One message (segment) between two ranks of the world.
struct TappedMessage {
  int source = 0;
  int destination = 0;
  std::uint64_t bytes = 0;
  std::span<const std::byte> data;  // the message's data, or empty
  std::uint32_t tag = 0;
  MessageType type = MessageType::kEager;
};

/// Numbers messages per pair of ranks, as the firmware numbers them per communicator.
/// Lays out each sent packet with its header and data, and passes it to a sink. One thread.
class PacketTap {
 public:
  /// sink and spec must outlive this object.
  PacketTap(PacketSink& sink, const Spec& spec) : sink_(sink), spec_(spec) {}
  /// packets: in order of sending. Repeated packets occur more than once.
  void message(const TappedMessage& message, const std::vector<SentPacket>& packets);

 private:
  PacketSink& sink_;
  const Spec& spec_;
  std::map<std::pair<int, int>, std::uint32_t> sequence_;  // last message
  std::uint64_t messages_ = 0;
};

}  // namespace offramp::cclo
