// Kernels to tiles.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "simulators/aie/array.hpp"
#include "simulators/aie/tree.hpp"

namespace offramp::aie {

/// As the benchmarks of [aie-thesis] 4.6.1: columns filled from the bottom left, every second tile, leaves
/// first, then inner kernels, the root last. Empty if the array is too small.
std::vector<Tile> place_as_published(const ArraySpec& array, const Tree& tree);

/// Preorder along a snake: column 0 upward, column 1 downward, and so on, so that consecutive kernels always
/// share a memory module. stride: from kernel to kernel; the tiles between give their memory to the
/// neighbours. Empty if the array is too small.
std::vector<Tile> place_on_snake(const ArraySpec& array, const Tree& tree, int stride = 1);
/// The i-th tile of the snake.
Tile snake_tile(const ArraySpec& array, int i);

struct Refinement {
  std::uint64_t seed = 1;
  int moves_per_kernel = 3000;
  int columns = 50;       // at most
  int fan_in = 4;         // DMA inputs of a kernel beyond these cost extra: channels are few
  bool spread = false;    // keep modules without a kernel in reach: for large windows
  double hop_cycles = 4;  // what an edge costs that is not shared: base + hop_cycles x distance
  double base_cycles = 25.5;
};
/// From the snake on, moves kernels next to their tree neighbours. Accepts what makes the sum of edge
/// latencies worse by less than a threshold that falls; a given seed and number of moves give the same
/// placement on every machine.
std::vector<Tile> refine_placement(const ArraySpec& array, const Tree& tree, const Refinement& how);

}  // namespace offramp::aie
