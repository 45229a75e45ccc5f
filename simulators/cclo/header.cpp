#include "simulators/cclo/header.hpp"

#include <algorithm>

#include "simulators/cclo/codes.hpp"

namespace offramp::cclo {
namespace {

using F = HeaderField;
constexpr std::array<HeaderFieldSpec, static_cast<std::size_t>(F::kNumber)> kFields = {{
    {F::kCount, 0, 4, "count"},
    {F::kTag, 4, 4, "tag"},
    {F::kSource, 8, 4, "src"},
    {F::kSequence, 12, 4, "seqn"},
    {F::kStream, 16, 4, "strm"},
    {F::kDestination, 20, 2, "dst"},
    {F::kType, 22, 1, "msg_type"},
    {F::kHost, 23, 1, "host"},
    {F::kAddress, 24, 8, "vaddr"},
}};

}  // namespace

std::span<const HeaderFieldSpec> header_fields(Generation generation) {
  return std::span(kFields).first(generation == Generation::kFirst ? 4 : kFields.size());
}

HeaderImage encode(Generation generation, const Header& header) {
  HeaderImage image{};
  for (const HeaderFieldSpec& f : header_fields(generation)) {
    for (std::uint32_t i = 0; i < f.width; ++i)
      image.at(f.offset + i) = static_cast<std::byte>(header.get(f.field) >> (8 * i));
  }
  return image;
}

std::optional<Header> decode(Generation generation, std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  Header header;
  for (const HeaderFieldSpec& f : header_fields(generation)) {
    std::uint64_t value = 0;
    for (std::uint32_t i = f.width; i > 0; --i)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes[f.offset + i - 1]);
    header.set(f.field, value);
  }
  if (generation == Generation::kFirst) {
    if (header.get(F::kCount) > kMaximumTransactionBytes) return std::nullopt;
  } else if (header.get(F::kType) >= static_cast<std::uint64_t>(MessageType::kNumber)) {
    return std::nullopt;
  }
  return header;
}

std::string print(Generation generation, const Header& header) {
  std::string text;
  for (const HeaderFieldSpec& f : header_fields(generation)) {
    if (!text.empty()) text += ' ';
    text += std::string(f.name) + '=' + std::to_string(header.get(f.field));
  }
  return text;
}

std::string_view to_string(Transport transport) {
  static constexpr std::array<std::string_view, 3> kNames = {"tcp", "udp", "rdma"};
  return kNames[static_cast<std::size_t>(transport)];
}

PacketCut cut_message(Generation generation, Transport transport, std::uint32_t max_packet,
                      std::uint64_t payload) {
  std::uint64_t bytes = payload + kHeaderBytes;
  const bool pads = generation == Generation::kSecond && transport == Transport::kUdp;
  // The TCP packetizer does not send a header alone, but together with the first payload word.
  if (pads || (payload == 0 && transport == Transport::kTcp))
    bytes = std::max<std::uint64_t>((bytes + kWordBytes - 1) / kWordBytes * kWordBytes,
                                    transport == Transport::kTcp ? 2 * kWordBytes : 0);
  PacketCut cut;
  cut.full_bytes = max_packet;
  cut.full = static_cast<std::uint32_t>((bytes - 1) / max_packet);
  cut.last_bytes = static_cast<std::uint32_t>(bytes - std::uint64_t{cut.full} * max_packet);
  return cut;
}

std::array<std::uint32_t, 4> dma_command(std::uint32_t bytes, std::uint64_t address, std::uint32_t tag) {
  return {0xc0800000U | (bytes & kMaximumTransactionBytes), static_cast<std::uint32_t>(address),
          static_cast<std::uint32_t>(address >> 32), 0x2000U | (tag & 0xfU)};
}

std::uint32_t encode(const DmaStatus& status) {
  const auto bit = [](bool set, int n) { return static_cast<std::uint32_t>(set ? 1U : 0U) << n; };
  return (status.tag & 0xfU) | bit(status.internal_error, 4) | bit(status.decode_error, 5) |
         bit(status.slave_error, 6) | bit(status.okay, 7) | (status.bytes & 0x7fffffU) << 8 |
         bit(status.end_of_packet, 31);
}

DmaStatus decode_dma_status(std::uint32_t word) {
  const auto bit = [word](int n) { return (word >> n & 1U) != 0; };
  return {word & 0xfU, bit(4), bit(5), bit(6), bit(7), word >> 8 & 0x7fffffU, bit(31)};
}

}  // namespace offramp::cclo
