// payload_bytes is the part of the flits in use: the hardware counts flits only. A captured frame has the
// header and the space of a full fragment, while Packet::bytes is the size of the flits that were sent.
#include "simulators/tinsel/frame.hpp"

#include <algorithm>
#include <array>

namespace offramp::tinsel {
namespace {

enum Name : std::size_t {
  kVersion,
  kAddressing,
  kSourceBoard,
  kSourceMailbox,
  kSourceThread,
  kFlits,
  kDestinationMailbox,
  kDestinationBoard,
  kPayloadBytes,
  kKey,
  kThreadMask,
  kWord0,
  kNumber
};

constexpr std::array<FrameField, kNumber> kFields = {{{0, 1, "version"},
                                                      {1, 1, "addressing"},
                                                      {2, 2, "source_board"},
                                                      {4, 1, "source_mailbox"},
                                                      {5, 1, "source_thread"},
                                                      {6, 1, "flits"},
                                                      {7, 1, "destination_mailbox"},
                                                      {8, 2, "destination_board"},
                                                      {10, 2, "payload_bytes"},
                                                      {12, 4, "key"},
                                                      {16, 8, "thread_mask"},
                                                      {24, 4, "word_0"}}};
constexpr std::size_t kHeaderBytes = kFields[kWord0].offset + kFields[kWord0].width;

void put(std::span<std::byte> into, std::uint64_t value) {
  for (std::size_t i = into.size(); i-- > 0; value >>= 8) into[i] = static_cast<std::byte>(value & 0xff);
}

}  // namespace

std::span<const FrameField> frame_fields() {
  return kFields;
}

void FrameTap::sent(Time at, const ThreadLocation& from, const MailboxMessage& message,
                    std::uint64_t fragment) {
  std::array<std::byte, kHeaderBytes + kFragmentBytes> frame{};
  const auto set = [&frame](Name name, std::uint64_t value) {
    put(std::span(frame).subspan(kFields[name].offset, kFields[name].width), value);
  };
  const std::uint64_t front = stream_.envelope ? kEnvelopeBytes : 0;
  const std::uint64_t begin = fragment * kFragmentBytes;  // within envelope and data
  // The last fragment may be shorter.
  const std::uint64_t size = std::min(kFragmentBytes, front + stream_.bytes - begin);
  set(kVersion, 1);
  set(kAddressing, message.to.keyed ? 1 : 0);
  set(kSourceBoard, from.board);
  set(kSourceMailbox, from.mailbox);
  set(kSourceThread, from.thread);
  set(kFlits, message.flits);
  set(kDestinationMailbox, message.to.mailbox);
  set(kDestinationBoard, message.to.board);
  set(kPayloadBytes, size);
  set(kKey, message.to.key);
  set(kThreadMask, message.to.mask);
  set(kWord0, message.words[0]);
  const std::span<std::byte> payload = std::span(frame).subspan(kHeaderBytes);
  const std::uint64_t skip = begin == 0 ? front : 0;
  if (skip > 0) {
    put(payload.first(4), static_cast<std::uint64_t>(stream_.source));
    put(payload.subspan(4, 4), stream_.tag);
    put(payload.subspan(8, 8), stream_.bytes);
  }
  // The envelope moves the data behind it.
  const std::uint64_t from_byte = begin + skip - front;
  for (std::uint64_t i = 0; skip + i < size && from_byte + i < stream_.data.size(); ++i)
    payload[skip + i] = stream_.data[from_byte + i];
  Packet packet;
  packet.at = stream_.begin + at;
  packet.carrier = Carrier::kLink;
  packet.source = stream_.source;
  packet.destination = stream_.destination;
  packet.source_port = kFrameType;
  packet.head = frame;
  packet.bytes = static_cast<std::uint32_t>(kFields[kWord0].offset + std::size_t{message.flits} * kFlitBytes);
  sink_.record(packet);
}

}  // namespace offramp::tinsel
