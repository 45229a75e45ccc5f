// Helpers of the zrlmpi tests: bytes as hexadecimal text, payloads, specifications, wires with a chosen fate.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulators/zrlmpi/exchange.hpp"
#include "tests/pattern.hpp"

namespace offramp::zrlmpi {

inline std::string without_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ') out += c;
  }
  return out;
}

inline std::string hex(std::span<const std::byte> bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::byte b : bytes) {
    out += kDigits[std::to_integer<std::size_t>(b >> 4)];
    out += kDigits[std::to_integer<std::size_t>(b & std::byte{15})];
  }
  return out;
}

/// Blanks are skipped.
inline std::vector<std::byte> unhex(std::string_view text) {
  const std::string digits = without_spaces(text);
  std::vector<std::byte> out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return out;
}

using test::Buffer;
using test::pattern;

/// Handshake packets of the call itself, concatenated, with bytes of the magic number in between.
inline Buffer fake_headers(std::size_t bytes, const ExchangeRequest& request, Format format) {
  Buffer out;
  for (std::size_t i = 0; out.size() < bytes; ++i) {
    const auto type = static_cast<PacketType>(1 + i % 5);
    const bool back = type == PacketType::kClearToSend || type == PacketType::kAck;
    Header header(back ? request.source : request.destination, back ? request.destination : request.source,
                  back ? partner(request.call) : request.call, type);
    if (format == Format::kExtended) header.extend(request.tag, request.context, request.sequence);
    const HeaderImage image = encode(header);
    out.insert(out.end(), image.begin(), image.end());
    out.insert(out.end(), 4 * (i % 7), std::byte{0x96});
  }
  out.resize(bytes);
  return out;
}

/// The second version of the engine, bare: as in a cycle simulation of its source.
inline MpeSpec bare_engine(int bus_bits = 64) {
  MpeSpec spec;
  spec.bus_bits = bus_bits;
  spec.direct = true;
  spec.dram_datagram = {};  // the stream ends in a test bench
  return spec;
}

/// A request of default ranks. size: in bytes.
inline ExchangeRequest request_of(std::uint64_t size) {
  ExchangeRequest request;
  request.size = size;
  return request;
}

/// A wire with a fault script without harm: every datagram has its header, as on any faulty wire.
inline FaultRates harmless() {
  return {1, 1e-300, 0, 0};
}

/// The link of a message from `from` to `to`.
inline std::uint64_t forth(int from, int to) {
  return Link::id(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to));
}
/// The link of the answers to calls from `from` to `to`.
inline std::uint64_t back(int from, int to) {
  return forth(to, from) | Link::id(0, 0, Link::kAnswers);
}

}  // namespace offramp::zrlmpi
