// Parameters of an engine, its network stack, and its firmware: widths, clocks, depths, costs. Plain values,
// for any thread. The backend's parameter table documents their sources.
#pragma once

#include <algorithm>
#include <cstdint>

#include "offramp/kernel/time.hpp"
#include "simulators/cclo/header.hpp"

namespace offramp::cclo {

/// Control-processor (MicroBlaze) cycles of firmware operations.
struct FirmwareCosts {
  std::int64_t fetch = 83;       // fetch the 15 words of a call and dispatch it
  std::int64_t finish = 40;      // RETVAL, performance counter, completion word
  std::int64_t axi = 8;          // one AXI-lite access: switch, arithmetic unit, exchange memory
  std::int64_t word = 2;         // one word to or from a command or status stream
  std::int64_t step = 10;        // branches and loop overhead per such group
  std::int64_t interrupt = 200;  // first generation: service of one filled RX buffer
  std::int64_t move = 40;        // second generation: one move instruction
  std::int64_t decode = 32;      // decoding by the data movement processor
  std::int64_t retire = 10;
  std::int64_t enqueue = 20;  // second generation: hardware for RX buffers, per buffer
};

/// A receive abandons a lost message after this many polls of its descriptor (set-up of [accl-h2rc]).
inline constexpr std::int64_t kTimeoutPolls = 10'000'000;
// One way through one switch. TCP and RDMA stacks add kStackLatency.
inline constexpr Time kLatency = Time::ns(1362);
inline constexpr Time kStackLatency = Time::ns(1000);
/// Rate of the RDMA engine. The default of Spec::engine is the TCP engine's.
inline constexpr Bandwidth kRdmaBandwidth = Bandwidth::gigabits_per_second(95);

/// Framing bytes per packet: preamble, gap, Ethernet 38; IP 20; UDP 8, TCP 20, RoCE v2 8 + 12 + 4.
constexpr std::uint32_t framing_of(Transport transport) {
  return transport == Transport::kUdp ? 66 : transport == Transport::kTcp ? 78 : 82;
}
/// Packet bytes on the network, without framing.
constexpr std::uint32_t max_packet_of(Generation generation) {
  return generation == Generation::kFirst ? 1536 : 4096;
}
/// Default bytes of an RX buffer, and so of a segment.
constexpr std::uint32_t rx_buffer_bytes_of(Generation generation) {
  return generation == Generation::kFirst ? 65536 : 1024;
}

/// Defaults: first generation over TCP.
struct Spec {
  Generation generation = Generation::kFirst;
  Transport transport = Transport::kTcp;
  Frequency clock = Frequency::megahertz(250);
  FirmwareCosts firmware;
  std::int64_t memory_cycles = 50;  // first word of a read, response of a write
  Bandwidth memory_channel = Bandwidth::gigabits_per_second(118);
  int memory_channels = 3;
  bool host_memory = false;  // the DMAs access the user's buffers in host memory directly
  Bandwidth pcie = Bandwidth::gigabits_per_second(97);
  Time pcie_latency = Time::ns(1550);   // one way through host memory
  std::int64_t arithmetic_cycles = 10;  // pipeline depth of the arithmetic unit and of a casting lane
  std::int64_t switch_cycles = 2;       // stream switch
  std::uint32_t max_packet = max_packet_of(Generation::kFirst);

  Bandwidth link = Bandwidth::gigabits_per_second(100);
  Bandwidth engine = Bandwidth::bits_per_second(91'500'000'000);  // protocol engine
  std::uint32_t overhead = framing_of(Transport::kTcp);
  Time latency = kLatency + kStackLatency;  // first bit out to first bit in
  Time retransmission = Time::us(200);      // timer of the TCP engine
  int retries = 10;
  std::uint32_t transmit_buffer = 65536;  // TCP engine, per connection

  std::uint32_t rx_buffers = 16;
  std::uint32_t rx_buffer_bytes = rx_buffer_bytes_of(Generation::kFirst);
  std::uint32_t window = 10;  // segments in flight
  Time timeout = polls(kTimeoutPolls);

  // Second generation: threshold between eager and rendezvous.
  std::uint64_t max_eager = rx_buffer_bytes_of(Generation::kSecond);

  /// Time of n cycles of the engine's clock.
  [[nodiscard]] Time cycles(std::int64_t n) const { return clock.cycles(n); }
  /// Time of n polls: the firmware reads a descriptor's status word and loops.
  [[nodiscard]] Time polls(std::int64_t n) const { return cycles(n * (firmware.axi + firmware.step)); }
  /// Words of the 512-bit streams. A header or an empty message has one word.
  [[nodiscard]] static std::int64_t words(std::uint64_t bytes) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>((bytes + kWordBytes - 1) / kWordBytes));
  }
  /// All channels together.
  [[nodiscard]] Time memory_time(std::uint64_t bytes) const {
    return Bandwidth::bits_per_second(memory_channel.count() * memory_channels)
        .bytes(static_cast<std::int64_t>(bytes));
  }
  [[nodiscard]] Time pcie_time(std::uint64_t bytes) const {
    return pcie.bytes(static_cast<std::int64_t>(bytes));
  }
  [[nodiscard]] Time stream_time(std::uint64_t bytes) const { return cycles(words(bytes)); }
  [[nodiscard]] Time engine_time(std::uint64_t bytes) const {
    return engine.bytes(static_cast<std::int64_t>(bytes));
  }
  /// Returns the time when the protocol engine has accepted all of a message that it finishes sending at
  /// `done`. The rest is in its transmit buffer, or is the last packet of `last_packet` bytes.
  [[nodiscard]] Time handed_over(Time done, std::uint32_t last_packet) const {
    return done - engine_time(std::max(transmit_buffer, last_packet));
  }
  [[nodiscard]] Time link_time(std::uint64_t bytes) const {
    return link.bytes(static_cast<std::int64_t>(bytes + overhead));
  }
  /// Total of all packets of a message.
  [[nodiscard]] Time engine_time(const PacketCut& cut) const {
    return engine_time(cut.full_bytes) * std::int64_t{cut.full} + engine_time(cut.last_bytes);
  }
  [[nodiscard]] Time link_time(const PacketCut& cut) const {
    return link_time(cut.full_bytes) * std::int64_t{cut.full} + link_time(cut.last_bytes);
  }
  /// Returns how long a message occupies the receiver's port: the maximum of its protocol engine, its link,
  /// and memory. The bytes cross memory on their way into an RX buffer, out of it, and to their destination.
  /// A rendezvous needs no RX buffer.
  [[nodiscard]] Time port_time(const PacketCut& cut, std::uint64_t payload, bool rendezvous) const {
    const std::int64_t crossings = (rendezvous ? 0 : 2) + (host_memory ? 0 : 1);
    return later(later(engine_time(cut), link_time(cut)), memory_time(payload) * crossings);
  }
  /// Port time of the message's first packet.
  [[nodiscard]] Time port_time_of_first(const PacketCut& cut) const {
    const std::uint32_t bytes = cut.full == 0 ? cut.last_bytes : cut.full_bytes;
    return later(engine_time(bytes), link_time(bytes));
  }
  /// Link time of the message's first packet.
  [[nodiscard]] Time first_on_link(std::uint64_t payload) const {
    const PacketCut cut = cut_message(generation, transport, max_packet, payload);
    return link_time(cut.full == 0 ? cut.last_bytes : cut.full_bytes);
  }
  /// Returns the time when the processor sees a message without payload.
  [[nodiscard]] Time notified_at(Time last) const { return last + stream_time(kHeaderBytes); }
  [[nodiscard]] std::uint64_t segments(std::uint64_t bytes) const {
    return bytes == 0 || rx_buffer_bytes == 0 ? 1 : (bytes + rx_buffer_bytes - 1) / rx_buffer_bytes;
  }
  /// Bytes of segment i of a message.
  [[nodiscard]] std::uint64_t segment_bytes(std::uint64_t bytes, std::uint64_t i) const {
    return std::min<std::uint64_t>(rx_buffer_bytes, bytes - i * rx_buffer_bytes);
  }
  /// Maximum segments in flight: the firmware's window, limited by the RX buffers.
  [[nodiscard]] std::uint32_t in_flight() const { return std::min(window, rx_buffers); }
};

}  // namespace offramp::cclo
