// The machine's structure and timing. Sources: [pip-0024]; papers of the authors, [tinsel-fpl] and
// [tinsel-asap] (published); the hardware description [tinsel-src] (read in); else inferred, fitted, or
// assumed.
#pragma once

#include <cstdint>

#include "offramp/kernel/time.hpp"
#include "simulators/tinsel/record.hpp"

namespace offramp::tinsel {

inline constexpr int kMailboxColumns = 4;
inline constexpr int kMailboxes = 16;  // per board, in a mesh of 4 x 4 (read in [tinsel-src])
inline constexpr int kCores = 4;       // per mailbox
inline constexpr int kThreadsPerCore = 16;
inline constexpr int kThreadsPerMailbox = 64;
inline constexpr int kThreadsPerBoard = kMailboxes * kThreadsPerMailbox;
inline constexpr int kBoxColumns = 3;  // a box has 3 x 2 boards
inline constexpr int kBoxRows = 2;
inline constexpr int kMaximumColumns = 6;  // the published machine: 8 boxes, 48 boards
inline constexpr int kMaximumRows = 8;
inline constexpr int kLinks = 4;  // per board: N, S, E, W
inline constexpr int kFetchers = kLinks + kMailboxColumns;
inline constexpr int kFlitBytes = 16;
inline constexpr int kWordsPerFlit = 4;
inline constexpr int kMaximumFlits = 4;
inline constexpr int kMaximumBurst = 4;                    // beats of one DRAM request
inline constexpr int kOutstandingBeats = 16;               // per DRAM, over all fetchers
inline constexpr int kReceiveSlots = 448;                  // per mailbox: 512 less one send slot per thread
inline constexpr int kReceivePointers = 63;                // per thread
inline constexpr std::uint64_t kThreadMemory = 2U << 20U;  // DRAM partition of one thread, bytes
/// A thread's share of its core's write-back cache: 8 sets of 4 lines of 32 bytes (read in [tinsel-src]).
inline constexpr std::uint64_t kThreadCache = 1024;
inline constexpr int kCacheBeats = 32;  // in flight from the threads' caches to a DRAM (read in [tinsel-src])

/// A thread of the machine. board: index, row by row.
struct ThreadLocation {
  std::uint16_t board = 0;
  std::uint8_t mailbox = 0;  // {y[1:0], x[1:0]}
  std::uint8_t thread = 0;
  [[nodiscard]] int core() const { return thread / kThreadsPerCore; }
  friend auto operator<=>(const ThreadLocation&, const ThreadLocation&) = default;
};

/// The boards in use, a rectangle.
struct Mesh {
  int columns = kBoxColumns;
  int rows = kBoxRows;
  [[nodiscard]] int boards() const { return columns * rows; }
  [[nodiscard]] int x(int board) const { return board % columns; }
  [[nodiscard]] int y(int board) const { return board / columns; }
  /// Boards are numbered row by row.
  [[nodiscard]] int at(int x_, int y_) const { return y_ * columns + x_; }
  [[nodiscard]] bool has(int x_, int y_) const { return x_ >= 0 && x_ < columns && y_ >= 0 && y_ < rows; }
  /// The neighbour in a direction, or a negative number. North is y + 1, east is x + 1.
  [[nodiscard]] int neighbour(int board, Direction direction) const;
  /// Links on a shortest route between two boards.
  [[nodiscard]] int distance(int a, int b) const;
};

/// The dimension that routes between boards follow first.
enum class DimensionOrder : std::uint8_t { kYFirst, kXFirst };
/// The first step of the route from one board to another.
Direction first_step(const Mesh& mesh, int from, int to, DimensionOrder order);

/// The settings of a machine. Plain values, for any thread.
struct MachineSpec {
  Frequency clock = Frequency::megahertz(210);
  Mesh mesh;
  // Inter-board link: 490 ns of MAC and PHY (published [tinsel-src], revision 7bd6c6c) and 32 cycles of
  // reliability layer, together the published 150 cycles at 240 MHz [tinsel-asap].
  Time link_mac = Time::ns(490);
  int link_cycles = 32;
  Bandwidth link = Bandwidth::gigabits_per_second(10);
  int flit_link_bytes =
      32;                  // a flit in the link's items: 208 bit padded (read in [tinsel-src]); 24 before 0.7
  int packet_bytes = 160;  // 20 items of 64 bit
  int packet_overhead = 40;   // 2 header beats, preamble, CRC, gap
  int packet_gap_cycles = 2;  // between packets; fitted to [tinsel-fpl]
  int timeout_cycles = 1024;  // reliability layer
  int retries = 1000;         // our limit; then the link counts as broken
  // Network on chip: half-rate links.
  int noc_flit_cycles = 2;
  int noc_hop_cycles = 1;
  int noc_turn_cycles = 2;  // per message at a mailbox's port; fitted to [tinsel-fpl]
  // Router.
  int bypass_cycles = 8;
  int dram_cycles = 80;  // lookup latency; not published, 60 to 120 plausible
  int emit_flit_cycles = 2;

  /// Time of n cycles of the machine's clock.
  [[nodiscard]] Time cycles(std::int64_t n) const { return clock.cycles(n); }
  /// Latency of one link between boards, for the first flit.
  [[nodiscard]] Time hop_latency() const { return link_mac + cycles(link_cycles); }
  /// A flit's share of the time of full packets.
  [[nodiscard]] Time link_flit() const;
};

}  // namespace offramp::tinsel
