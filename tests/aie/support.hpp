// Helpers of the aie tests: plans of trees, cycles, and forecasts.
#pragma once

#include <gtest/gtest.h>

#include "backends/aie/aie.hpp"
#include "lib/answers/replay/forecast.hpp"
#include "simulators/aie/collectives.hpp"

namespace offramp::aie {

/// The timing of the published measurements: 1250 MHz, with the default costs.
inline const Timing& published_timing() {
  static const Timing timing(Costs{}, 1250);
  return timing;
}

/// The plan of a tree whose root sends to the host. window, data: bytes.
inline Plan plan_of(const Tree& tree, int window, int data, Placement placement = Placement::kAuto) {
  const ArraySpec array;
  Graph graph = graph_of(tree, window, data);
  graph.to_host.push_back(0);
  return plan_tree(array, tree, graph, placement);
}

/// A failed forecast fails the test.
inline Forecast forecast_of(const Operation& operation, const Settings& settings) {
  Result<Forecast> result = forecast({aie_backend(), settings, {}}, operation);
  if (result) return *result;
  ADD_FAILURE() << result.error();
  return {};
}

}  // namespace offramp::aie
