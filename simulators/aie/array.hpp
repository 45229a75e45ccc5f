// The array: tiles with a core, a memory module, two-way DMA and a stream switch each.
//
// Rows are counted from the first compute row. Sources: published in [am009]; read in the device
// model of the VC1902 in [mlir-aie].
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offramp::aie {

/// A count or a number of a tile, as the index of a vector.
inline std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

struct Tile {
  int column = 0;
  int row = 0;
  friend auto operator<=>(const Tile&, const Tile&) = default;
};

enum class Direction : std::uint8_t { kEast, kWest, kNorth, kSouth };
inline constexpr std::array<Direction, 4> kDirections = {Direction::kEast, Direction::kWest,
                                                         Direction::kNorth, Direction::kSouth};
std::string_view to_string(Direction direction);

/// What there is of everything. The defaults are the VC1902 of the measurements (published).
struct ArraySpec {
  int rows = 8;
  int columns = 50;
  int memory_bytes = 32768;   // of one module
  int banks = 8;              // of one module, of one port each; neighbours serve 256 bits in one access
  int program_bytes = 16384;  // of one core
  int locks = 16;             // of one module; a double-buffered window takes two
  int s2mm = 2;               // DMA channels from stream to memory of one tile
  int mm2s = 2;               // and from memory to stream
  int windows = 14;           // of one kernel, in and out; of [aie-thesis], no other source
  int stack_bytes = 1024;     // defaults of the compiler
  int heap_bytes = 1024;
  int sync_bytes = 32;
  int user_bytes = 0;       // of each module, for windows and data of kernels of the program's own
  int minimum_window = 16;  // bytes

  [[nodiscard]] int tiles() const { return rows * columns; }
  /// Link channels of a stream switch out of a tile. The interface row below row 0 has east and west
  /// channels too, and six into the array against four out of it.
  [[nodiscard]] int channels(Direction direction) const;
  [[nodiscard]] bool contains(Tile tile) const {
    return tile.column >= 0 && tile.column < columns && tile.row >= 0 && tile.row < rows;
  }
  [[nodiscard]] int index(Tile tile) const { return tile.column * rows + tile.row; }
  [[nodiscard]] Tile tile(int index) const { return {index / rows, index % rows}; }
  [[nodiscard]] int bank_bytes() const { return memory_bytes / banks; }
  [[nodiscard]] int double_banks() const { return std::max(banks / 2, 1); }
  /// Stack, heap and synchronisation buffer of a kernel, besides its local data, and what is the program's.
  [[nodiscard]] int own_bytes() const { return stack_bytes + heap_bytes + sync_bytes + user_bytes; }
  /// The most local data of a kernel; 0: none.
  [[nodiscard]] int most_data() const { return std::max(memory_bytes - own_bytes(), 0); }
  /// "2080 B of stack, heap and synchronisation": what else is in a kernel's module.
  [[nodiscard]] std::string reserved() const;
};

/// Tiles whose memory module a core reaches: its own, north, south, and west in even rows, east in odd ones.
class Modules {
 public:
  [[nodiscard]] const Tile* begin() const { return tiles_.data(); }
  [[nodiscard]] const Tile* end() const { return tiles_.data() + count_; }
  [[nodiscard]] int size() const { return count_; }
  [[nodiscard]] bool has(Tile tile) const;
  void add(Tile tile) { tiles_[static_cast<std::size_t>(count_++)] = tile; }

 private:
  std::array<Tile, 4> tiles_;
  int count_ = 0;
};
Modules reachable_modules(const ArraySpec& array, Tile core);
/// Where a window can lie that both cores use without DMA.
Modules common_modules(const ArraySpec& array, Tile a, Tile b);

/// Stream switches between two tiles: a window that crosses n of them passes n hops.
int distance(Tile a, Tile b);
/// The tile next to this one; it may lie outside the array.
Tile neighbour(Tile tile, Direction direction);

}  // namespace offramp::aie
