// The ACCL message header: the first 64-byte word of every message (segment), described by one table of
// fields. Also how packetizers cut messages into packets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "simulators/cclo/layout.hpp"

namespace offramp::cclo {

inline constexpr std::uint32_t kWordBytes = 64;  // 512-bit streams
inline constexpr std::uint32_t kHeaderBytes = kWordBytes;

/// The fields of the message header. header_fields() has their positions.
enum class HeaderField : std::uint8_t {
  kCount,  // bytes of the message
  kTag,
  kSource,
  kSequence,
  kStream,  // second generation: 0 leads to the RX buffers
  kDestination,
  kType,
  kHost,  // the address is in host memory
  kAddress,
  kNumber
};
/// The kinds of messages. The first generation has eager messages only.
enum class MessageType : std::uint8_t { kEager, kRendezvousData, kRendezvousInit, kWriteDone, kNumber };

/// One field's position in the header.
struct HeaderFieldSpec {
  HeaderField field;
  std::uint8_t offset;  // bytes
  std::uint8_t width;   // bytes, little endian
  std::string_view name;
};
/// Read in [accl-2021] and [accl-2025]. The first generation uses only the first four.
std::span<const HeaderFieldSpec> header_fields(Generation generation);

/// The fields of a header, by name.
/// All fields are 0 at first.
class Header {
 public:
  [[nodiscard]] std::uint64_t get(HeaderField field) const {
    return values_[static_cast<std::size_t>(field)];
  }
  void set(HeaderField field, std::uint64_t value) { values_[static_cast<std::size_t>(field)] = value; }
  friend bool operator==(const Header&, const Header&) = default;

 private:
  std::array<std::uint64_t, static_cast<std::size_t>(HeaderField::kNumber)> values_{};
};

/// A header as it is on the network.
using HeaderImage = std::array<std::byte, kHeaderBytes>;
/// Truncates values to the width of their fields. Other bytes are zero.
HeaderImage encode(Generation generation, const Header& header);
/// Accepts arbitrary bytes. `nullopt` for fewer than 64 bytes, a message longer than a DMA transfer, or
/// (second generation) an unknown message type.
std::optional<Header> decode(Generation generation, std::span<const std::byte> bytes);

/// The protocol of the engine between packetizer and network. RDMA: second generation only.
enum class Transport : std::uint8_t { kTcp, kUdp, kRdma };

/// A message as packets: full ones and a last one. Sizes are bytes on the network, including the header.
struct PacketCut {
  std::uint32_t full = 0;
  std::uint32_t full_bytes = 0;
  std::uint32_t last_bytes = 0;  // the last packet may also be full
  [[nodiscard]] std::uint64_t packets() const { return std::uint64_t{full} + 1; }
  [[nodiscard]] std::uint64_t bytes() const { return std::uint64_t{full} * full_bytes + last_bytes; }
};
/// max_packet: in bytes, whole words. UDP counts the header in the first packet; TCP and RDMA see one stream.
/// The second generation's UDP pads the last word.
inline PacketCut cut_message(Generation generation, Transport transport, std::uint32_t max_packet,
                             std::uint64_t payload) {
  std::uint64_t bytes = payload + kHeaderBytes;
  const bool pads = generation == Generation::kSecond && transport == Transport::kUdp;
  // The TCP packetizer does not send a header alone, but together with the first payload word.
  if (pads || (payload == 0 && transport == Transport::kTcp))
    bytes = std::max<std::uint64_t>((bytes + kWordBytes - 1) / kWordBytes * kWordBytes,
                                    transport == Transport::kTcp ? 2 * kWordBytes : 0);
  PacketCut cut;
  cut.full_bytes = max_packet;
  if (bytes > max_packet) cut.full = static_cast<std::uint32_t>((bytes - 1) / max_packet);
  cut.last_bytes = static_cast<std::uint32_t>(bytes - std::uint64_t{cut.full} * max_packet);
  return cut;
}

}  // namespace offramp::cclo
