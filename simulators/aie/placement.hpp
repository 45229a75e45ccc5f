// Placement of kernels on tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "simulators/aie/array.hpp"
#include "simulators/aie/tree.hpp"

namespace offramp::aie {

/// The layout of the benchmarks of [aie-thesis] 4.6.1: columns filled from the bottom left, every second
/// tile; leaves first, then inner kernels, the root last. Empty if the array is too small.
std::vector<Tile> place_as_published(const ArraySpec& array, const Tree& tree);

/// Preorder along a snake: column 0 upward, column 1 downward, and so on, so that consecutive kernels always
/// share a memory module. stride: tiles from one kernel to the next; those between lend their memory to their
/// neighbours. Empty if the array is too small.
std::vector<Tile> place_on_snake(const ArraySpec& array, const Tree& tree, int stride = 1);
/// The i-th tile of the snake.
Tile snake_tile(const ArraySpec& array, int i);

/// The parameters of refine_placement().
struct Refinement {
  std::uint64_t seed = 1;
  int moves_per_kernel = 3000;
  int columns = 50;       // maximum
  int fan_in = 4;         // DMA inputs of a kernel above this number cost extra, since channels are few
  bool spread = false;    // keep modules without kernels in reach, for large windows
  double hop_cycles = 4;  // cost of an unshared edge: base + hop_cycles x distance
  double base_cycles = 25.5;
};
/// Starts from the snake and moves kernels next to their tree neighbours. Accepts changes that increase the
/// sum of edge latencies by less than a falling threshold. Deterministic for each seed.
std::vector<Tile> refine_placement(const ArraySpec& array, const Tree& tree, const Refinement& how);

}  // namespace offramp::aie
