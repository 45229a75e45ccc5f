// A message is laid out as one stream of header and data, and each packet is a section of it. If the model
// has no data, packets have the right size and contain zeros.
#include "simulators/cclo/tap.hpp"

#include <algorithm>
#include <cstring>

namespace offramp::cclo {
namespace {

/// Copies the part of `from`, which begins at `begin` of the message, that lies in the packet at `offset`.
void lay(std::span<const std::byte> from, std::uint64_t begin, std::uint64_t offset,
         std::vector<std::byte>& packet) {
  const std::uint64_t first = std::max(begin, offset);
  const std::uint64_t last = std::min(begin + from.size(), offset + packet.size());
  if (first < last)
    std::memcpy(packet.data() + (first - offset), from.data() + (first - begin), last - first);
}

}  // namespace

void PacketTap::message(const TappedMessage& message, const std::vector<SentPacket>& packets) {
  const PacketCut cut = cut_message(spec_.generation, spec_.transport, spec_.max_packet, message.bytes);
  Header header;
  header.set(HeaderField::kCount, message.bytes);
  header.set(HeaderField::kTag, message.tag);
  header.set(HeaderField::kSource, static_cast<std::uint64_t>(message.source));
  header.set(HeaderField::kSequence, ++sequence_[{message.source, message.destination}]);
  header.set(HeaderField::kDestination, static_cast<std::uint64_t>(message.destination));
  // A write into a peer's memory has no header; its write-done, a header, follows.
  const bool write = message.type == MessageType::kRendezvousData;
  header.set(HeaderField::kType, static_cast<std::uint64_t>(write ? MessageType::kWriteDone : message.type));
  const HeaderImage image = encode(spec_.generation, header);
  Packet packet;
  packet.carrier = spec_.transport == Transport::kTcp   ? Carrier::kTcp
                   : spec_.transport == Transport::kUdp ? Carrier::kUdp
                   : write                              ? Carrier::kRoceWrite
                                                        : Carrier::kRoce;
  packet.source = message.source;
  packet.destination = message.destination;
  packet.source_port = static_cast<std::uint16_t>(kFirstPort + static_cast<std::uint32_t>(message.source));
  packet.destination_port =
      static_cast<std::uint16_t>(kFirstPort + static_cast<std::uint32_t>(message.destination));
  packet.message = ++messages_;
  packet.message_bytes = cut.bytes();
  // The packets of a message are numbered from 0; repeated ones keep their index.
  packet.count = static_cast<std::uint32_t>(cut.packets());
  std::vector<std::byte> bytes;
  for (const SentPacket& sent : packets) {
    packet.at = sent.at;
    packet.index = sent.index;
    packet.offset = std::uint64_t{sent.index} * cut.full_bytes;
    packet.bytes = sent.index + 1 < packet.count ? cut.full_bytes : cut.last_bytes;
    bytes.assign(packet.bytes, std::byte{});
    lay(message.data, write ? 0 : kHeaderBytes, packet.offset, bytes);
    lay(image, write ? message.bytes : 0, packet.offset, bytes);
    packet.head = bytes;
    sink_.record(packet);
  }
}

}  // namespace offramp::cclo
