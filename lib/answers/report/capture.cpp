// Framer builds each packet from the inside out: payload, transport (UDP, TCP, or RoCE v2 with its
// invariant CRC), IP with its checksum, Ethernet. TCP's sequence numbers are made so that the messages of a
// connection follow each other and a packet that was repeated has the number that it had before.
#include "lib/answers/report/capture.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace offramp {
namespace {

constexpr std::uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kLinkTypeEthernet = 1;
constexpr std::uint32_t kSnapLength = 262144;
constexpr std::uint16_t kRocePort = 4791;
constexpr std::uint32_t kFirstAddress = 0x0a0a0a01;  // 10.10.10.1
constexpr std::uint32_t kFirstSequence = 1;          // of a TCP connection; its SYN is not in the file

/// Numbers in network order.
class Octets {
 public:
  void put8(std::uint64_t v) { text_ += static_cast<char>(v & 0xff); }
  void put16(std::uint64_t v) { put8(v >> 8), put8(v); }
  void put24(std::uint64_t v) { put8(v >> 16), put16(v); }
  void put32(std::uint64_t v) { put16(v >> 16), put16(v); }
  void put64(std::uint64_t v) { put32(v >> 32), put32(v); }
  void put(std::string_view text) { text_ += text; }
  void zeros(std::size_t count) { text_.append(count, '\0'); }
  void set16(std::size_t at, std::uint16_t v) {
    text_[at] = static_cast<char>(v >> 8);
    text_[at + 1] = static_cast<char>(v & 0xff);
  }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// In the host's byte order, as pcap files allow.
void put_native(std::string& out, std::uint32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The internet checksum's sum (RFC 1071), not yet folded.
std::uint64_t sum16(std::string_view text) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint64_t>(static_cast<unsigned char>(text[i]));
    sum += i % 2 == 0 ? byte << 8 : byte;
  }
  return sum;
}

std::uint16_t fold(std::uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320U : crc >> 1;
    table[i] = crc;
  }
  return table;
}();

/// The invariant CRC of RoCE v2 (InfiniBand annex A17): Ethernet's polynomial over the packet from the IP
/// header on, behind eight bytes of ones, with all ones in the fields that routers may change.
std::uint32_t invariant_crc(std::string packet) {
  constexpr std::size_t kChangeable[] = {1, 8, 10, 11, 26, 27, 32};  // TOS, TTL, checksums, BTH's resv8a
  for (const std::size_t at : kChangeable) packet[at] = '\xff';
  std::uint32_t crc = 0xffffffff;
  for (const char c : std::string(8, '\xff') + packet)
    crc = kCrcTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ crc >> 8;
  return ~crc;
}

/// Puts the headers in front of one rank's packets; they come in the order of time.
class Framer {
 public:
  std::string frame(const Packet& packet, std::string_view payload) {
    Octets out;
    mac(out, packet.destination);
    mac(out, packet.source);
    const bool ip = packet.carrier != Carrier::kLink;
    out.put16(ip ? 0x0800 : packet.source_port);
    out.put(ip ? ip_packet(packet, payload) : std::string(payload));
    return out.text();
  }

 private:
  static bool is_roce(const Packet& p) {
    return p.carrier == Carrier::kRoce || p.carrier == Carrier::kRoceWrite;
  }
  static std::uint32_t address(int rank) { return kFirstAddress + static_cast<std::uint32_t>(rank); }
  /// -1: everybody.
  static void mac(Octets& out, int rank) {
    out.put16(rank < 0 ? 0xffff : 0x0200);
    out.put32(static_cast<std::uint32_t>(rank));
  }

  std::string ip_packet(const Packet& packet, std::string_view payload) {
    const bool tcp = packet.carrier == Carrier::kTcp;
    const std::string body = tcp ? tcp_segment(packet, payload) : udp_datagram(packet, payload);
    const std::size_t trailer = is_roce(packet) ? 4 : 0;
    const std::uint64_t protocol = tcp ? 6 : 17;
    Octets out;
    out.put16(0x4500);
    out.put16(20 + body.size() + trailer);
    out.put16(identification_++);
    out.put16(0x4000);  // not to be fragmented
    out.put8(64);
    out.put8(protocol);
    out.put16(0);
    out.put32(address(packet.source));
    out.put32(address(packet.destination));
    out.set16(10, fold(sum16(out.text())));
    if (trailer == 0) {
      const std::uint64_t pseudo = sum16(std::string_view(out.text()).substr(12)) + protocol + body.size();
      const std::uint16_t checksum = fold(pseudo + sum16(body));
      out.put(body);
      // UDP says "no checksum" with 0.
      out.set16(20 + (tcp ? 16 : 6), checksum == 0 && !tcp ? 0xffff : checksum);
      return out.text();
    }
    out.put(body);  // the checksum of RoCE's UDP is 0; the invariant CRC replaces it
    const std::uint32_t crc = invariant_crc(out.text());
    for (int i = 0; i < 4; ++i) out.put8(crc >> (8 * i));
    return out.text();
  }

  std::string udp_datagram(const Packet& packet, std::string_view payload) {
    const std::string body = is_roce(packet) ? roce(packet, payload) : std::string(payload);
    Octets out;
    out.put16(is_roce(packet) ? 0xc000 + (packet.destination & 0x3fff) : packet.source_port);
    out.put16(is_roce(packet) ? kRocePort : packet.destination_port);
    out.put16(8 + body.size() + (is_roce(packet) ? 4 : 0));
    out.put16(0);
    out.put(body);
    return out.text();
  }

  /// The base transport header, for the first packet of a write with the extended one.
  std::string roce(const Packet& packet, std::string_view payload) {
    const bool write = packet.carrier == Carrier::kRoceWrite;
    const bool first = packet.index == 0;
    const bool last = packet.index + 1 == packet.count;
    const unsigned place = first ? (last ? 4 : 0) : last ? 2 : 1;  // of the reliable connection's SENDs
    const std::uint32_t number = start_of(packet, packet.count, 0) + packet.index;
    Octets out;
    out.put8(write ? place + 6 : place);
    out.put8(0x40);  // may migrate; nothing padded: messages are whole words
    out.put16(0xffff);
    out.put32(static_cast<std::uint32_t>(packet.source) + 2);  // queue pairs 0 and 1 are special
    out.put8(last ? 0x80 : 0);                                 // acknowledge
    out.put24(number);
    if (write && first) {
      out.put64(0);  // the address is the receiver's business
      out.put32(0);
      out.put32(packet.message_bytes);
    }
    out.put(payload);
    return out.text();
  }

  std::string tcp_segment(const Packet& packet, std::string_view payload) {
    const std::uint64_t sequence = start_of(packet, packet.message_bytes, kFirstSequence) + packet.offset;
    const bool last = packet.index + 1 == packet.count;
    Octets out;
    out.put16(packet.source_port);
    out.put16(packet.destination_port);
    out.put32(sequence);
    out.put32(kFirstSequence);  // nothing is known of the other direction
    out.put16(last ? 0x5018 : 0x5010);
    out.put16(0xffff);
    out.put16(0);
    out.put16(0);
    out.put(payload);
    return out.text();
  }

  /// Where a packet's message begins in the numbers of its connection; messages follow each other.
  std::uint32_t start_of(const Packet& packet, std::uint64_t length, std::uint32_t first) {
    Connection& connection = connections_[{packet.destination, packet.source_port, packet.destination_port}];
    if (connection.starts.empty()) connection.next = first;
    const auto [found, fresh] = connection.starts.try_emplace(packet.message, connection.next);
    if (fresh) connection.next += static_cast<std::uint32_t>(length);
    return found->second;
  }

  struct Connection {
    std::map<std::uint64_t, std::uint32_t> starts;
    std::uint32_t next = 0;
  };
  std::map<std::tuple<int, std::uint16_t, std::uint16_t>, Connection> connections_;
  std::uint16_t identification_ = 0;
};

}  // namespace

void CaptureRecorder::record(const Packet& packet) {
  const std::uint64_t frame = packet.bytes + kHeaders;
  if (size_ + frame > kMostBytes) {
    ++dropped_;
    return;
  }
  size_ += frame;
  Kept kept{packet, bytes_.size(), 0};
  for (const std::span<const std::byte> part : {packet.head, packet.data})
    bytes_.insert(bytes_.end(), part.begin(), part.end());
  kept.size = std::min<std::size_t>(bytes_.size() - kept.from, packet.bytes);
  kept.packet.head = kept.packet.data = {};
  packets_.push_back(kept);
}

std::string CaptureRecorder::pcap() const {
  std::string out;
  put_native(out, kMagicNanoseconds);
  put_native(out, 2 | 4 << 16);  // version 2.4, as two numbers of 16 bits
  put_native(out, 0);
  put_native(out, 0);
  put_native(out, kSnapLength);
  put_native(out, kLinkTypeEthernet);
  std::vector<const Kept*> order;
  order.reserve(packets_.size());
  for (const Kept& kept : packets_) order.push_back(&kept);
  std::stable_sort(order.begin(), order.end(),
                   [](const Kept* a, const Kept* b) { return a->packet.at < b->packet.at; });
  Framer framer;
  std::string payload;
  for (const Kept* kept : order) {
    payload.assign(reinterpret_cast<const char*>(bytes_.data()) + kept->from, kept->size);
    payload.resize(kept->packet.bytes, '\0');
    const std::string frame = framer.frame(kept->packet, payload);
    const std::int64_t ns = std::max<std::int64_t>(kept->packet.at.count(), 0) / 1000;
    put_native(out, static_cast<std::uint32_t>(ns / 1'000'000'000));
    put_native(out, static_cast<std::uint32_t>(ns % 1'000'000'000));
    put_native(out, static_cast<std::uint32_t>(frame.size()));
    put_native(out, static_cast<std::uint32_t>(frame.size()));
    out += frame;
  }
  return out;
}

std::string path_of_part(const std::string& path, std::string_view part) {
  if (is_stream(path)) return path;
  const std::size_t name = path.find_last_of('/') + 1;  // npos + 1 is 0
  const std::size_t dot = path.find_last_of('.');
  const std::size_t cut = dot == std::string::npos || dot <= name ? path.size() : dot;
  return fmt::format("{}.{}{}", path.substr(0, cut), part, path.substr(cut));
}

Naming naming_of_part(const std::string& path) {
  return is_stream(path) ? Naming::kTyped : Naming::kDerived;
}

std::string capture_path(const std::string& path, int rank) {
  return path_of_part(path, fmt::format("{}", rank));
}

}  // namespace offramp
