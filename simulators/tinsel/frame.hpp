// A message of the machine in a packet capture: an Ethernet frame with the type for local experiments
// (0x88B5, IEEE 802). Sideband wires of the hardware become a header of our own in front of the message,
// described by a table of fields in network byte order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "offramp/kernel/packet.hpp"
#include "simulators/tinsel/stream.hpp"

namespace offramp::tinsel {

inline constexpr std::uint16_t kFrameType = 0x88b5;

/// One field's position in a frame's header.
struct FrameField {
  std::uint8_t offset;  // in bytes
  std::uint8_t width;
  std::string_view name;
};
/// Includes the message's first word, whose upper half is the fragment's number.
std::span<const FrameField> frame_fields();

/// Converts the fragments that a stream's source sends into packets. Does not capture credits.
class FrameTap final : public FragmentTap {
 public:
  /// Destination (-1: several), start, and data of the stream. The envelope of a unicast message consists of
  /// source and tag with 4 bytes each, and its length with 8.
  /// Describes the stream that is captured. Data must outlive the tap.
  struct Stream {
    int source = 0;
    int destination = -1;
    Time begin;
    std::uint64_t bytes = 0;
    std::span<const std::byte> data;  // the message's data, or empty
    bool envelope = false;
    std::uint32_t tag = 0;
  };
  /// Both must outlive the tap.
  FrameTap(PacketSink& sink, const Stream& stream) : sink_(sink), stream_(stream) {}
  /// at: relative to the stream's first instruction. fragment: its number, from 0.
  void sent(Time at, const ThreadLocation& from, const MailboxMessage& message,
            std::uint64_t fragment) override;

 private:
  PacketSink& sink_;
  const Stream& stream_;
};

}  // namespace offramp::tinsel
