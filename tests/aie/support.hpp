// Helpers of the aie tests: plans of trees, and cycles.
#pragma once

#include "simulators/aie/collectives.hpp"

namespace offramp::aie {

inline const Timing& published_timing() {
  static const Timing timing(Costs{}, 1250);
  return timing;
}

inline Plan plan_of(const Tree& tree, int window, int data, Placement placement = Placement::kAuto) {
  const ArraySpec array;
  Graph graph = graph_of(tree, window, data);
  graph.to_host.push_back(0);
  return plan_tree(array, tree, graph, placement);
}

}  // namespace offramp::aie
