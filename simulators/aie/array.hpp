// The array of tiles, each with a core, a memory module, DMA, and a stream switch. Rows count from the first
// compute row. Sources: published in [am009]; read in the device model of the VC1902 in [mlir-aie].
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace offramp::aie {

/// A count or tile number as a vector index.
inline std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// A place on the grid. Ordered by column, then by row.
struct Tile {
  int column = 0;
  int row = 0;
  friend auto operator<=>(const Tile&, const Tile&) = default;
};

/// As on a map: rows count northward.
enum class Direction : std::uint8_t { kEast, kWest, kNorth, kSouth };
inline constexpr std::array<Direction, 4> kDirections = {Direction::kEast, Direction::kWest,
                                                         Direction::kNorth, Direction::kSouth};
std::string_view to_string(Direction direction);

/// The resources of an array. Defaults are those of the VC1902 of the measurements (published).
struct ArraySpec {
  int rows = 8;
  int columns = 50;
  int memory_bytes = 32768;   // per module
  int banks = 8;              // per module, with one port each; neighbours serve 256 bits in one access
  int program_bytes = 16384;  // per core
  int locks = 16;             // per module; a double-buffered window needs two
  int s2mm = 2;               // DMA channels from stream to memory, per tile
  int mm2s = 2;               // DMA channels from memory to stream, per tile
  int windows = 14;           // per kernel, in and out; only from [aie-thesis]
  int stack_bytes = 1024;     // the compiler's default
  int heap_bytes = 1024;      // the compiler's default
  int sync_bytes = 32;
  int user_bytes = 0;       // per module, for windows and data of the program's own kernels
  int minimum_window = 16;  // bytes

  /// All of them have a core.
  [[nodiscard]] int tiles() const { return rows * columns; }
  /// Link channels of a tile's stream switch in a direction. The interface row below row 0 also has east and
  /// west channels, and six into the array against four out of it.
  [[nodiscard]] int channels(Direction direction) const;
  /// False for tiles of the interface row.
  [[nodiscard]] bool contains(Tile tile) const {
    return tile.column >= 0 && tile.column < columns && tile.row >= 0 && tile.row < rows;
  }
  /// Tiles are numbered column by column. The tile must be in the array.
  [[nodiscard]] int index(Tile tile) const { return tile.column * rows + tile.row; }
  /// The inverse of index().
  [[nodiscard]] Tile tile(int index) const { return {index / rows, index % rows}; }
  [[nodiscard]] int bank_bytes() const { return memory_bytes / banks; }
  /// Pairs of neighbouring banks of a module.
  [[nodiscard]] int double_banks() const { return std::max(banks / 2, 1); }
  /// Stack, heap, and synchronisation buffer of a kernel, plus the program's own bytes; without local data.
  [[nodiscard]] int own_bytes() const { return stack_bytes + heap_bytes + sync_bytes + user_bytes; }
  /// The maximum local data of a kernel, possibly 0.
  [[nodiscard]] int most_data() const { return std::max(memory_bytes - own_bytes(), 0); }
  /// Describes the reserved part of a kernel's module: "2080 B of stack, heap and synchronisation".
  [[nodiscard]] std::string reserved() const;
};

/// Tiles whose memory module a core can access: its own, north, south, and west (even rows) or east (odd).
class Modules {
 public:
  /// The own module comes first.
  [[nodiscard]] const Tile* begin() const { return tiles_.data(); }
  [[nodiscard]] const Tile* end() const { return tiles_.data() + count_; }
  [[nodiscard]] int size() const { return count_; }
  /// True if the module is one of them.
  [[nodiscard]] bool has(Tile tile) const;
  /// At most four.
  void add(Tile tile) { tiles_[static_cast<std::size_t>(count_++)] = tile; }

 private:
  std::array<Tile, 4> tiles_;
  int count_ = 0;
};
/// The modules that the core of this tile accesses without DMA.
Modules reachable_modules(const ArraySpec& array, Tile core);
/// Modules for a window that both cores access without DMA.
Modules common_modules(const ArraySpec& array, Tile a, Tile b);

/// The number of hops between two tiles' stream switches.
int distance(Tile a, Tile b);
/// The adjacent tile, which may be outside the array.
Tile neighbour(Tile tile, Direction direction);

}  // namespace offramp::aie
