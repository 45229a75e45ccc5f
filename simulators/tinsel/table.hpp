// The routing tables of one board: bytes in the two modelled DRAMs, a builder that lays lists of records out
// in them, and the lookup that the router's fetchers make.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulators/tinsel/record.hpp"

namespace offramp::tinsel {

/// Where tables may lie in each DRAM (read in [tinsel-src]: POLiteProgRouterBase and -Length), in beats.
inline constexpr std::uint32_t kFirstBeat = 0x01804000 / kBeatBytes;
inline constexpr std::uint32_t kTableBeats = 32'767'488;
inline constexpr int kRams = 2;

/// A list laid out: its key, and the memory that it takes.
struct Placed {
  Trap trap = Trap::kNone;
  Key key;
  std::uint32_t beats = 0;  // over all blocks of its chain
};

/// One key's records, as the fetcher sees them.
struct Block {
  Trap trap = Trap::kNone;
  std::vector<BeatRecords> beats;
  std::optional<Key> chained;  // where its IND leads
};

class Tables {
 public:
  /// Lays the records out in order and gives the key, in the DRAM that has fewer beats in use. Long lists
  /// become chains of 31-beat blocks, each with an IND. arrived_from: messages come over that link, so no RR
  /// may lead back there. The proposal's restrictions and the hardware's stricter ones hold for everything
  /// that is laid out; a list that breaks them is refused. No records: the null key.
  Placed place(std::span<const Record> records, std::optional<Direction> arrived_from = std::nullopt);
  /// Gives the memory of a list back.
  void release(const Placed& placed);

  /// Reads the beats of one key and checks every restriction. Any key and any memory contents are safe.
  [[nodiscard]] Block read(const Key& key) const;

  /// Beats in use, and the memory itself (its first byte is beat kFirstBeat), of one DRAM.
  [[nodiscard]] std::uint32_t used(int ram) const { return rams_[index(ram)].used; }
  [[nodiscard]] std::span<std::byte> memory(int ram) { return rams_[index(ram)].bytes; }
  /// Beats up to the end of the tables: no chain is longer, unless it goes in circles.
  [[nodiscard]] std::uint32_t extent(int ram) const {
    return static_cast<std::uint32_t>(rams_[index(ram)].bytes.size() / kBeatBytes);
  }
  /// Puts bytes into memory as they are, for tests: contents that no builder made.
  void poke(int ram, std::uint32_t beat, std::span<const std::byte> bytes);

 private:
  struct Ram {
    std::vector<std::byte> bytes;
    std::uint32_t used = 0;
    std::map<std::uint32_t, std::uint32_t> free;  // first beat -> beats, below the end
  };
  static std::size_t index(int ram) { return static_cast<std::size_t>(ram) & 1U; }
  std::optional<std::uint32_t> allocate(Ram& ram, std::uint32_t beats);

  std::array<Ram, kRams> rams_;
};

/// Every record behind a key, chains followed: what a message is sent to. Stops at a trap.
struct Expansion {
  Trap trap = Trap::kNone;
  std::vector<Record> records;
  std::uint32_t beats = 0;
  std::uint32_t blocks = 0;
};
Expansion expand(const Tables& tables, const Key& key);

}  // namespace offramp::tinsel
