// forwarded_windows() follows the header design of [aie-thesis]: a node sends its own windows first. The
// windows of its inputs follow, one input after the other or in turns. Butterfly partners differ in one bit
// per round.
#include "simulators/aie/collectives.hpp"

#include <algorithm>

namespace offramp::aie {

std::vector<int> acquisition_order(const Tree& tree, const Plan& plan, int node) {
  std::vector<int> order = tree.children(node);
  if (plan.as_published) {
    std::sort(order.begin(), order.end());
    return order;
  }
  // Shared windows come first.
  const auto lateness = [&](int child) {
    const Connection& connection = plan.connections[static_cast<std::size_t>(child - 1)];
    return connection.shared ? -1 : connection.hops();
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return lateness(a) < lateness(b); });
  return order;
}

std::size_t edge_window(std::size_t bytes, std::size_t largest) {
  constexpr std::size_t kLeast = 16;
  const std::size_t rounded = (bytes + kLeast - 1) / kLeast * kLeast;
  return std::clamp(rounded, kLeast, std::max(largest, kLeast));
}

std::vector<Forwarded> forwarded_windows(const Tree& tree, int node, std::size_t chunks_per_node,
                                         bool in_turns) {
  std::vector<Forwarded> windows;
  for (std::size_t chunk = 0; chunk < chunks_per_node; ++chunk) windows.push_back({node, chunk});
  std::vector<std::vector<Forwarded>> inputs;
  std::vector<std::size_t> counts;
  for (const int child : tree.children(node)) {
    inputs.push_back(forwarded_windows(tree, child, chunks_per_node, in_turns));
    counts.push_back(inputs.back().size());
  }
  std::vector<std::size_t> used(inputs.size(), 0);
  for (const std::size_t input : forwarding_order(counts, in_turns))
    windows.push_back(inputs[input][used[input]++]);
  return windows;
}

Graph butterfly_graph(int rounds, int window_bytes, int data_bytes) {
  Graph graph;
  graph.kernels = 1 << rounds;
  for (int round = 0; round < rounds; ++round) {
    for (int kernel = 0; kernel < graph.kernels; ++kernel)
      graph.edges.push_back({kernel, kernel ^ (1 << round)});
  }
  graph.window_bytes = window_bytes;
  graph.data_bytes = data_bytes;
  return graph;
}

}  // namespace offramp::aie
