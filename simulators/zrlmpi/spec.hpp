// What one message passing engine (MPE) and its network are built of: widths, clocks, depths, timers.
//
// "read in code" is the reference's HLS source, "published" its documents, "inferred" ours. Plain values: any
// thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "offramp/kernel/time.hpp"
#include "offramp/kernel/wire.hpp"
#include "simulators/zrlmpi/header.hpp"

namespace offramp::zrlmpi {

/// UDP payload of a datagram: 1500 - 50 (VXLAN) - 28 (IP, UDP), rounded down to whole 64-bit words (read in
/// code).
inline constexpr std::uint32_t kDatagramBytes = 1416;
inline constexpr std::uint32_t kFirstPayloadBytes = kDatagramBytes - kHeaderBytes;
inline constexpr std::uint32_t kFragmentBytes = kFirstPayloadBytes - FragmentBlock::kBytes;

struct MpeSpec {
  Frequency clock = Frequency::kilohertz(156250);  // 6.4 ns (read in code)
  int initiation_interval = 2;                     // of the protocol state machine (read in code)
  int bus_bits = 8;  // of the role and network streams: 8 (seed 001), 32, or 64 (MPE v2)
  Format format = Format::kExtended;

  // Shell: UDP lengths and checksums are known at a datagram's end only, so it is stored and forwarded (read
  // in code).
  int shell_bus_bits = 64;
  WireSpec line{Time::us(1), Bandwidth::gigabits_per_second(10), 66, kDatagramBytes};
  /// Neither shell nor wire: datagrams are handed over whole, as in a cycle simulation of the bare engine.
  bool direct = false;

  // Timers count idle iterations of the state machine (read in code: 100 ms in the comments, 200 ms at II =
  // 2).
  std::int64_t timer_counts = 15'625'000;
  int retries = 16;  // ours: the reference stops after 3 and waits for ever

  [[nodiscard]] Time cycles(std::int64_t n) const { return clock.cycles(n); }
  [[nodiscard]] Time iterations(std::int64_t n) const { return clock.cycles(n * initiation_interval); }

  [[nodiscard]] std::int64_t bus_bytes() const { return bus_bits / 8; }
  /// The wideners pair two bus words, so that the state machine keeps up with the bus at II = 2 (read in
  /// code).
  [[nodiscard]] std::int64_t line_bytes() const { return 2 * bus_bytes(); }
  /// Iterations that handle n bytes behind one another.
  [[nodiscard]] std::int64_t lines(std::int64_t n) const { return (n + line_bytes() - 1) / line_bytes(); }
  [[nodiscard]] std::int64_t header_iterations() const { return lines(kHeaderBytes); }
  /// Iterations of a copying state: one per line; the end is seen with a partial line, or in one more
  /// iteration.
  [[nodiscard]] std::int64_t copy_iterations(std::int64_t n) const { return n / line_bytes() + 1; }
  [[nodiscard]] Time bus_time(std::int64_t n) const { return cycles((n + bus_bytes() - 1) / bus_bytes()); }
  [[nodiscard]] Time shell_time(std::int64_t n) const {
    const std::int64_t bytes = shell_bus_bits / 8;
    return cycles((n + bytes - 1) / bytes);
  }
  [[nodiscard]] Time line_time(std::int64_t n) const { return line.bandwidth.bytes(n + line.overhead_bytes); }
  /// The last word of a message is filled up to whole bus words, and to the 32-bit words that `size` counts.
  [[nodiscard]] std::uint64_t padded(std::uint64_t n) const {
    const auto unit = static_cast<std::uint64_t>(std::max<std::int64_t>(4, bus_bytes()));
    return (n + unit - 1) / unit * unit;
  }

  /// Wait for CLEAR_TO_SEND or DATA: bases = 1, for ACK: 2. attempt counts from 0 and grows the wait twice
  /// only.
  [[nodiscard]] Time timeout(int rank, int bases, int attempt) const {
    const std::int64_t base = timer_counts + rank * (timer_counts / 8);
    return iterations(bases * base + 10 * timer_counts * std::min(attempt, 2));
  }
};

}  // namespace offramp::zrlmpi
