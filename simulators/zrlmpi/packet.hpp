// Data in transit: datagrams on the network, and items in a state machine's transmit queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "offramp/kernel/time.hpp"
#include "simulators/zrlmpi/header.hpp"

namespace offramp::zrlmpi {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// One datagram, or a burst of equal ones whose bytes are not needed. `data` contains its first bytes; the
/// remaining payload is not simulated.
struct Datagram {
  Datagram() = default;  // not an aggregate: see the compiler's bug in offramp/kernel/task.hpp
  Datagram(std::vector<std::byte> first_bytes, std::uint32_t size, std::uint32_t count = 1,
           Time distance = {}, bool last = false)
      : data(std::move(first_bytes)), bytes(size), packets(count), period(distance), closes(last) {}

  std::vector<std::byte> data;
  std::uint32_t bytes = 0;  // UDP payload per datagram
  std::uint32_t packets = 1;
  Time period;          // between packets of a burst
  bool closes = false;  // the last one of a DATA phase; the wire reports when it has left
};

/// Fragments of a message by index. An empty message has one.
struct FragmentRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// An item that the state machine puts into the transmit queue.
struct TransmitItem {
  TransmitItem() = default;
  /// Which datagrams of an item contain a header.
  enum class Framing : std::uint8_t {
    kPacket,     // head is the whole datagram
    kMessage,    // head, then payload: one header per message
    kFragments,  // header and extension block in every datagram
  };
  Framing kind = Framing::kPacket;
  std::vector<std::byte> head;
  Header header;           // header of the fragments
  Bytes payload;           // empty: only times are simulated
  std::uint64_t size = 0;  // message bytes
  std::vector<FragmentRange> ranges;

  /// A datagram that begins with a copy of these bytes, without payload.
  static TransmitItem packet(Bytes bytes) {
    TransmitItem item;
    item.head.assign(bytes.begin(), bytes.end());
    return item;
  }
};

}  // namespace offramp::zrlmpi
