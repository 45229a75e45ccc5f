// The routing tables of one board: bytes in the two modelled DRAMs, a builder that stores lists of records,
// and the lookup of the router's fetchers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "simulators/tinsel/record.hpp"

namespace offramp::tinsel {

/// The space for tables in each DRAM, in beats (read in [tinsel-src]: POLiteProgRouterBase and -Length).
inline constexpr std::uint32_t kFirstBeat = 0x01804000 / kBeatBytes;
inline constexpr std::uint32_t kTableBeats = 32'767'488;
inline constexpr int kRams = 2;

/// A stored list: its key and its memory.
struct Placed {
  Trap trap = Trap::kNone;
  Key key;
  std::uint32_t beats = 0;  // in all blocks of its chain
};

/// The records of one key, as the fetcher sees them.
struct Block {
  Trap trap = Trap::kNone;
  std::vector<BeatRecords> beats;
  std::optional<Key> chained;  // the key in its IND
};

/// The tables of one board in its two DRAMs.
class Tables {
 public:
  /// Stores records in order and returns their key, in the DRAM with fewer beats in use. Long lists become
  /// chains of 31-beat blocks, each with an IND. An empty list gets the null key. arrived_from: messages
  /// arrive over this link, so no RR may lead back. Lists that break the proposal's restrictions, or the
  /// hardware's stricter ones, are refused.
  Placed place(std::span<const Record> records, std::optional<Direction> arrived_from = std::nullopt);
  /// Releases the memory of a list.
  void release(const Placed& placed);

  /// Reads the beats of one key and checks all restrictions. Accepts any key and any memory contents.
  [[nodiscard]] Block read(const Key& key) const;

  /// The number of beats in use, and the memory, of one DRAM. The first byte is beat kFirstBeat.
  [[nodiscard]] std::uint32_t used(int ram) const { return rams_[index(ram)].used; }
  /// The bytes are valid until the next place().
  [[nodiscard]] std::span<std::byte> memory(int ram) { return rams_[index(ram)].bytes; }
  /// Beats up to the end of the tables; a longer chain must be circular.
  [[nodiscard]] std::uint32_t extent(int ram) const {
    return static_cast<std::uint32_t>(rams_[index(ram)].bytes.size() / kBeatBytes);
  }
  /// For tests: writes arbitrary bytes into memory.
  void poke(int ram, std::uint32_t beat, std::span<const std::byte> bytes);

 private:
  /// The tables in one DRAM. Its bytes grow with the lists.
  struct Ram {
    std::vector<std::byte> bytes;
    std::uint32_t used = 0;
    std::map<std::uint32_t, std::uint32_t> free;  // first beat -> length in beats, below the end
  };
  static std::size_t index(int ram) { return static_cast<std::size_t>(ram) & 1U; }
  /// Returns the first of consecutive beats. Empty if there is no room.
  std::optional<std::uint32_t> allocate(Ram& ram, std::uint32_t beats);

  std::array<Ram, kRams> rams_;
};

/// All records behind a key, including chains: the destinations of a message. Ends at a trap.
struct Expansion {
  Trap trap = Trap::kNone;
  std::vector<Record> records;
  std::uint32_t beats = 0;
  std::uint32_t blocks = 0;
};
/// Follows the chain of one board only. RR records stay as they are.
Expansion expand(const Tables& tables, const Key& key);

}  // namespace offramp::tinsel
