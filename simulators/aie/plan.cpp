// The attempts at a plan. complete() turns a placement into a plan with three solvers, and each may find a
// limit: windows to memory modules (assignment.cpp), streams to switch channels (routing.cpp), and bank
// conflicts (banks.cpp). If a placement fails, the next one is tried: the snake with gaps, or refinement with
// other seeds. The last attempt's limit is reported.
#include "simulators/aie/plan.hpp"

#include <algorithm>
#include <utility>

namespace offramp::aie {
namespace {

// tiles: empty if the placement failed.
Plan complete(const ArraySpec& array, const Graph& graph, std::vector<Tile> tiles) {
  Plan plan;
  plan.tiles = std::move(tiles);
  if (plan.tiles.empty()) {
    plan.limit = std::to_string(graph.kernels) + " kernels do not fit into this layout";
    return plan;
  }
  assign_windows(array, graph, plan);
  if (plan.ok()) route_streams(array, graph, plan);
  if (plan.ok()) count_meeting(array, graph, plan);
  return plan;
}

constexpr int kStrides = 4;  // kernels further apart share no memory

Plan on_snake(const ArraySpec& array, const Tree& tree, const Graph& graph) {
  Plan plan = complete(array, graph, place_on_snake(array, tree));
  for (int stride = 2; !plan.ok() && stride <= kStrides && tree.size() * stride <= array.tiles(); ++stride)
    plan = complete(array, graph, place_on_snake(array, tree, stride));
  return plan;
}

Plan refined(const ArraySpec& array, const Tree& tree, const Graph& graph) {
  const int pairs_beside_data =
      (array.memory_bytes - graph.data_bytes - array.own_bytes()) / (2 * graph.window_bytes);
  constexpr int kLarge = 200;  // kernels; larger trees need a fast second attempt
  Refinement how;
  how.spread = pairs_beside_data < 3;
  how.columns =
      how.spread ? array.columns : std::min(array.columns, (tree.size() + array.rows - 1) / array.rows + 2);
  // Seeds to try.
  const std::uint64_t tries = tree.size() >= kLarge && how.spread ? 2 : 3;
  how.moves_per_kernel = how.spread ? 6000 : 4000;
  Plan plan;
  for (how.seed = 1; how.seed <= tries; ++how.seed) {
    how.fan_in = how.seed == 1 || how.spread ? 4 : 2;
    plan = complete(array, graph, refine_placement(array, tree, how));
    if (plan.ok()) break;
  }
  return plan;
}

Plan published(const ArraySpec& array, const Tree& tree, const Graph& graph) {
  Plan plan = complete(array, graph, place_as_published(array, tree));
  plan.as_published = true;
  return plan;
}

constexpr int kPublishedKernels = 63;  // the largest tree that the tools of [aie-thesis] placed

Plan automatic(const ArraySpec& array, const Tree& tree, const Graph& graph) {
  // See plan_tree().
  const bool measured_shape = tree.perfect_binary() && tree.size() >= 7 && tree.size() <= kPublishedKernels;
  if (measured_shape) {
    const bool compact =
        graph.window_bytes > array.minimum_window && 2 * graph.window_bytes <= array.bank_bytes();
    Plan plan = compact ? refined(array, tree, graph) : published(array, tree, graph);
    if (plan.ok()) return plan;
  }
  Plan plan = on_snake(array, tree, graph);
  return plan.ok() ? plan : refined(array, tree, graph);
}

}  // namespace

Graph graph_of(const Tree& tree, int window_bytes, int data_bytes) {
  Graph graph;
  graph.kernels = tree.size();
  for (int node = 1; node < tree.size(); ++node) graph.edges.push_back({node, tree.parent(node)});
  graph.window_bytes = window_bytes;
  graph.data_bytes = data_bytes;
  return graph;
}

Plan plan_tree(const ArraySpec& array, const Tree& tree, const Graph& graph, Placement placement) {
  Plan plan;
  plan.limit = fixed_limit(array, graph);
  if (!plan.ok()) return plan;
  switch (placement) {
    case Placement::kPublished:
      return published(array, tree, graph);
    case Placement::kSnake:
      return on_snake(array, tree, graph);
    case Placement::kRefined:
      return refined(array, tree, graph);
    default:
      return automatic(array, tree, graph);
  }
}

namespace {

// Kernels follow the snake in the order of their numbers.
Plan in_order(const ArraySpec& array, const Graph& graph, int stride) {
  std::vector<Tile> tiles;
  tiles.reserve(static_cast<std::size_t>(graph.kernels));
  for (int i = 0; i < graph.kernels; ++i) tiles.push_back(snake_tile(array, i * stride));
  return complete(array, graph, std::move(tiles));
}

}  // namespace

Plan plan_on_snake(const ArraySpec& array, const Graph& graph) {
  Plan plan;
  plan.limit = fixed_limit(array, graph);
  if (!plan.ok()) return plan;
  plan = in_order(array, graph, 1);
  for (int stride = 2; !plan.ok() && stride <= kStrides && graph.kernels * stride <= array.tiles(); ++stride)
    plan = in_order(array, graph, stride);
  return plan;
}

Plan plan_apart(const ArraySpec& array, const Graph& graph) {
  Plan plan;
  plan.limit = fixed_limit(array, graph);
  if (!plan.ok()) return plan;
  // The largest distance first.
  for (int stride = array.tiles() / graph.kernels; stride >= 1; --stride) {
    plan = in_order(array, graph, stride);
    if (plan.ok()) break;
  }
  return plan;
}

}  // namespace offramp::aie
