// The placements: the layout of [aie-thesis], a snake, and refinement by threshold accepting (G. Dueck, T.
// Scheuer, Journal of Computational Physics 90, 1990), a relative of simulated annealing that accepts a worse
// placement if the difference is below a random part of a falling threshold. A move puts a kernel on a tile
// near one of its relatives in the tree. The cost of a swap is computed from the affected kernels before and
// after it (local_cost() and crowding()); total() is only used at the start.
#include "simulators/aie/placement.hpp"

#include <algorithm>

#include "offramp/kernel/random.hpp"

namespace offramp::aie {
namespace {

// Equal seeds give equal numbers on any machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  int below(int n) { return static_cast<int>((splitmix(state_) >> 33U) % static_cast<std::uint64_t>(n)); }

 private:
  std::uint64_t state_;
};

/// Kernels on tiles, and the placement's cost in cycles.
class Board {
 public:
  Board(const ArraySpec& array, const Tree& tree, const Refinement& how)
      : array_(array), tree_(tree), how_(how), tiles_(array.rows * how.columns) {
    array_.columns = how.columns;
    near_.resize(at(tiles_));
    reach_.resize(at(tiles_));
    for (int a = 0; a < tiles_; ++a) {
      reach_[at(a)] = reachable_modules(array_, array_.tile(a));
      for (int b = 0; b < tiles_; ++b) {
        // Tiles further apart share no module.
        const bool close = distance(array_.tile(a), array_.tile(b)) <= 2;
        if (a != b && close && common_modules(array_, array_.tile(a), array_.tile(b)).size() > 0)
          near_[at(a)].push_back(b);
      }
    }
    reached_by_.resize(at(tiles_));
    for (int a = 0; a < tiles_; ++a) {
      for (const Tile module : reach_[at(a)]) reached_by_[at(array_.index(module))].push_back(a);
    }
    fill_costs();
    kernel_.assign(at(tiles_), -1);
    place_.resize(at(tree.size()));
    for (int i = 0; i < tree.size(); ++i) put(tree.preorder()[at(i)], array_.index(snake_tile(array_, i)));
  }

  [[nodiscard]] int place(int kernel) const { return place_[at(kernel)]; }
  [[nodiscard]] int kernel(int tile) const { return kernel_[at(tile)]; }
  [[nodiscard]] const std::vector<int>& near(int tile) const { return near_[at(tile)]; }
  [[nodiscard]] std::vector<Tile> placement() const {
    std::vector<Tile> tiles;
    for (const int tile : place_) tiles.push_back(array_.tile(tile));
    return tiles;
  }

  /// Moves a kernel to a tile and swaps it with the kernel there, if any.
  void swap(int kernel, int tile) {
    const int other = kernel_[at(tile)];
    const int from = place_[at(kernel)];
    put(kernel, tile);
    kernel_[at(from)] = other;
    if (other >= 0) place_[at(other)] = from;
  }

  /// The cost of everything that swapping these two affects.
  [[nodiscard]] double local_cost(int kernel, int other) const {
    double cost = edges(kernel) + fan_in(kernel) + fan_in(tree_.parent(kernel));
    if (other >= 0) {
      cost += edges(other) + fan_in(other);
      if (tree_.parent(other) != tree_.parent(kernel)) cost += fan_in(tree_.parent(other));
    }
    return cost;
  }
  /// Kernels around the two tiles without a module for windows only.
  [[nodiscard]] double crowding(int a, int b) const {
    if (!how_.spread) return 0;
    double cost = 0;
    for (const int tile : reached_by_[at(a)]) cost += crowded(tile);
    for (const int tile : reached_by_[at(b)]) {
      if (!reach_[at(tile)].has(array_.tile(a))) cost += crowded(tile);
    }
    return cost;
  }
  // The cost of the whole placement.
  [[nodiscard]] double total() const {
    double cost = 0;
    for (int node = 0; node < tree_.size(); ++node) {
      if (node > 0) cost += between(place(node), place(tree_.parent(node)));
      cost += fan_in(node);
    }
    return cost;
  }

 private:
  // In cycles: more than any edge, since such kernels have no room for large windows.
  static constexpr double kCrowded = 120;
  static constexpr double kFanIn = 40;

  // Costs of all pairs of tiles are computed once: moves look them up.
  void fill_costs() {
    costs_.resize(at(tiles_) * at(tiles_));
    for (int a = 0; a < tiles_; ++a) {
      for (int b = 0; b < tiles_; ++b)
        costs_[at(a) * at(tiles_) + at(b)] =
            how_.base_cycles + how_.hop_cycles * distance(array_.tile(a), array_.tile(b));
      for (const int b : near_[at(a)]) costs_[at(a) * at(tiles_) + at(b)] = 0;
    }
  }
  void put(int kernel, int tile) { place_[at(kernel)] = tile, kernel_[at(tile)] = kernel; }
  // 0 if both tiles share a module.
  [[nodiscard]] double between(int a, int b) const { return costs_[at(a) * at(tiles_) + at(b)]; }

  [[nodiscard]] double edges(int kernel) const {
    double cost = 0;
    if (tree_.parent(kernel) >= 0) cost += between(place(kernel), place(tree_.parent(kernel)));
    for (const int child : tree_.children(kernel)) cost += between(place(child), place(kernel));
    return cost;
  }
  // 1 has no cost, so that roots need no test.
  [[nodiscard]] double fan_in(int kernel) const {
    if (kernel < 0 || static_cast<int>(tree_.children(kernel).size()) <= how_.fan_in) return 0;
    int inputs = 0;
    for (const int child : tree_.children(kernel)) inputs += between(place(child), place(kernel)) > 0 ? 1 : 0;
    const int excess = std::max(0, inputs - how_.fan_in);
    return kFanIn * excess * excess;
  }
  [[nodiscard]] double crowded(int tile) const {
    if (kernel(tile) < 0) return 0;
    for (const Tile module : reach_[at(tile)]) {
      if (kernel(array_.index(module)) < 0) return 0;
    }
    return kCrowded;
  }

  ArraySpec array_;
  const Tree& tree_;
  Refinement how_;
  int tiles_;
  std::vector<std::vector<int>> near_;  // tiles that share a module
  std::vector<Modules> reach_;
  std::vector<std::vector<int>> reached_by_;  // tiles whose cores can access a tile's module
  std::vector<double> costs_;
  std::vector<int> kernel_;  // by tile
  std::vector<int> place_;   // by kernel
};

}  // namespace

std::vector<Tile> place_as_published(const ArraySpec& array, const Tree& tree) {
  // Every second tile.
  const int per_column = (array.rows + 1) / 2;
  if (tree.size() > per_column * array.columns) return {};
  std::vector<int> order;
  for (const bool leaves : {true, false}) {
    for (int node = 1; node < tree.size(); ++node) {
      if (tree.children(node).empty() == leaves) order.push_back(node);
    }
  }
  order.push_back(0);
  std::vector<Tile> tiles(at(tree.size()));
  for (int i = 0; i < tree.size(); ++i) tiles[at(order[at(i)])] = {i / per_column, 2 * (i % per_column)};
  return tiles;
}

Tile snake_tile(const ArraySpec& array, int i) {
  const int column = i / array.rows;
  const int step = i % array.rows;
  return {column, column % 2 == 0 ? step : array.rows - 1 - step};
}

std::vector<Tile> place_on_snake(const ArraySpec& array, const Tree& tree, int stride) {
  if ((tree.size() - 1) * stride >= array.tiles()) return {};
  std::vector<Tile> tiles(at(tree.size()));
  for (int i = 0; i < tree.size(); ++i) tiles[at(tree.preorder()[at(i)])] = snake_tile(array, i * stride);
  return tiles;
}

std::vector<Tile> refine_placement(const ArraySpec& array, const Tree& tree, const Refinement& how) {
  if (tree.size() > array.tiles()) return {};
  if (tree.size() == 1) return place_on_snake(array, tree);
  constexpr double kHot = 40;  // initial threshold in cycles: about one unshared edge
  constexpr double kCold = 1;
  Board board(array, tree, how);
  Random random(how.seed);
  const int moves = how.moves_per_kernel * tree.size();
  double cost = board.total();
  double best = cost;
  std::vector<Tile> best_placement = board.placement();
  for (int move = 0; move < moves; ++move) {
    const double left = 1.0 - static_cast<double>(move) / moves;
    // Falls with the fourth power: most moves are near the end.
    const double threshold = kCold + (kHot - kCold) * left * left * left * left;
    const int kernel = random.below(tree.size());
    const int relatives = static_cast<int>(tree.children(kernel).size()) + (kernel > 0 ? 1 : 0);
    const int pick = random.below(relatives);
    const int relative =
        kernel > 0 && pick == relatives - 1 ? tree.parent(kernel) : tree.children(kernel)[at(pick)];
    const std::vector<int>& targets = board.near(board.place(relative));
    const int to = targets[at(random.below(static_cast<int>(targets.size())))];
    const int from = board.place(kernel);
    if (to == from) continue;
    const int other = board.kernel(to);
    const double before = board.local_cost(kernel, other) + board.crowding(from, to);
    board.swap(kernel, to);
    const double change = board.local_cost(kernel, other) + board.crowding(from, to) - before;
    if (change > threshold * (random.below(1024) / 1024.0)) {
      board.swap(kernel, from);
      continue;
    }
    cost += change;
    // Rounding of sums is no improvement.
    if (cost < best - 1e-9) {
      best = cost;
      best_placement = board.placement();
    }
  }
  return best_placement;
}

}  // namespace offramp::aie
