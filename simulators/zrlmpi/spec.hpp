// Settings of a message passing engine (MPE) and its network, and derived times. For any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "offramp/kernel/time.hpp"
#include "offramp/kernel/wire.hpp"
#include "simulators/zrlmpi/header.hpp"

namespace offramp::zrlmpi {

/// The defaults are the constants of protocol.hpp.
struct MpeSpec {
  Frequency clock = kClock;
  int initiation_interval = kInitiationInterval;
  int bus_bits = kBusBits;  // width of the role and network streams
  Format format = Format::kExtended;

  // Shell: stores and forwards datagrams, since their UDP checksums come last (read in [zrlmpi-src]).
  int shell_bus_bits = kShellBusBits;
  WireSpec line{kLatency, kLink, kFramingBytes, kDatagramBytes};
  /// Without shell and wire: whole datagrams are passed on, as in a cycle simulation of the bare engine.
  bool direct = false;

  Time dram_datagram = kDramDatagram;  // time per full datagram; 0: the role's memory is as fast as the bus

  std::int64_t timer_counts = kTimerCounts;
  int retries = kRetries;

  [[nodiscard]] Time cycles(std::int64_t n) const { return clock.cycles(n); }
  /// Iterations of a state machine begin initiation_interval cycles apart.
  [[nodiscard]] Time iterations(std::int64_t n) const { return clock.cycles(n * initiation_interval); }

  [[nodiscard]] std::int64_t bus_bytes() const { return bus_bits / 8; }
  /// The wideners pair two bus words, so that the state machine matches the bus at II = 2 (read in
  /// [zrlmpi-src]).
  [[nodiscard]] std::int64_t line_bytes() const { return 2 * bus_bytes(); }
  /// Iterations to process n consecutive bytes.
  [[nodiscard]] std::int64_t lines(std::int64_t n) const { return (n + line_bytes() - 1) / line_bytes(); }
  [[nodiscard]] std::int64_t header_iterations() const { return lines(kHeaderBytes); }
  /// Iterations of a copying state: one per line. The end is a partial line or one further iteration.
  [[nodiscard]] std::int64_t copy_iterations(std::int64_t n) const { return n / line_bytes() + 1; }
  /// Time of n bytes on the bus. A partial word takes a whole cycle.
  [[nodiscard]] Time bus_time(std::int64_t n) const { return cycles((n + bus_bytes() - 1) / bus_bytes()); }
  /// Time of n bytes on the shell's bus, which has the engine's clock.
  [[nodiscard]] Time shell_time(std::int64_t n) const {
    const std::int64_t bytes = shell_bus_bits / 8;
    return cycles((n + bytes - 1) / bytes);
  }
  /// Time of a datagram of n bytes on the wire, with its framing.
  [[nodiscard]] Time line_time(std::int64_t n) const { return line.bandwidth.bytes(n + line.overhead_bytes); }
  /// Time of the role's DRAM for n bytes. Zero for messages that fit static memory.
  [[nodiscard]] Time dram_time(std::uint32_t n, std::uint64_t message_bytes) const {
    if (message_bytes <= kStaticBytes) return {};
    return Time::ps((dram_datagram.count() * n + kDatagramBytes - 1) / kDatagramBytes);
  }
  /// Rounds a message up to whole bus words and to the 32-bit words of `size`.
  [[nodiscard]] std::uint64_t padded(std::uint64_t n) const {
    const auto unit = static_cast<std::uint64_t>(std::max<std::int64_t>(kWordBytes, bus_bytes()));
    return (n + unit - 1) / unit * unit;
  }

  /// Returns how long a rank's engine waits before it repeats. attempt counts from 0.
  [[nodiscard]] Time timeout(int rank, Awaited awaited, int attempt) const {
    const std::int64_t base = timer_counts + rank * (timer_counts / kTimerRankParts);
    return iterations((awaited == Awaited::kAck ? kAckBases : 1) * base +
                      kTimerGrowth * timer_counts * std::min(attempt, kTimerSteps));
  }
};

}  // namespace offramp::zrlmpi
