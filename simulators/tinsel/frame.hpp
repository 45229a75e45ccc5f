// A message of the machine as a packet capture shows it: an Ethernet frame of the type for local experiments
// (0x88B5, IEEE 802). What on the hardware is wires beside the message stands in a header of ours in front of
// it, described here as a table of fields; numbers are in network order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "offramp/kernel/packet.hpp"
#include "simulators/tinsel/stream.hpp"

namespace offramp::tinsel {

inline constexpr std::uint16_t kFrameType = 0x88b5;

struct FrameField {
  std::uint8_t offset;  // in bytes
  std::uint8_t width;
  std::string_view name;
};
/// With the message's first word, which has the fragment's number in its upper half.
std::span<const FrameField> frame_fields();

/// Makes packets of the fragments that a stream's source sends. Credits go the other way and are not told.
class FrameTap final : public FragmentTap {
 public:
  /// Where the stream goes (-1: to many), when it begins, and what it carries. The envelope of a unicast
  /// message: source and tag in 4 bytes each, its length in 8.
  struct Stream {
    int source = 0;
    int destination = -1;
    Time begin;
    std::uint64_t bytes = 0;
    std::span<const std::byte> data;  // of the bytes, or empty
    bool envelope = false;
    std::uint32_t tag = 0;
  };
  FrameTap(PacketSink& sink, const Stream& stream) : sink_(sink), stream_(stream) {}
  void sent(Time at, const Place& from, const Message& message, std::uint64_t fragment) override;

 private:
  PacketSink& sink_;
  const Stream& stream_;
};

}  // namespace offramp::tinsel
