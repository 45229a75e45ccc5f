// Draws a plan as SVG: tiles, kernels, window buffers, routes.
#pragma once

#include <array>
#include <string>

#include "simulators/aie/plan.hpp"

namespace offramp::aie {

/// A whole SVG document. The plan must be ok().
std::string draw_plan(const ArraySpec& array, const Graph& graph, const Plan& plan);

/// Statistics of a plan: edges that share memory, DMA channels, busiest links, and column boundaries.
struct Occupancy {
  int shared = 0;
  int streams = 0;
  int columns = 0;               // with kernels
  std::array<int, 4> busiest{};  // maximum channels of one link, by direction
  int boundary = 0;              // maximum streams east across one column boundary
  int hops = 0;                  // longest route
};
Occupancy occupancy_of(const ArraySpec& array, const Graph& graph, const Plan& plan);

}  // namespace offramp::aie
