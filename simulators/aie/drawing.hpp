// A plan as a picture (SVG): tiles, kernels, window buffers, routes.
#pragma once

#include <array>
#include <string>

#include "simulators/aie/plan.hpp"

namespace offramp::aie {

std::string draw_plan(const ArraySpec& array, const Graph& graph, const Plan& plan);

/// The same in figures: edges that share memory, DMA channels, the busiest links and column boundaries.
struct Occupancy {
  int shared = 0;
  int streams = 0;
  int columns = 0;               // that hold kernels
  std::array<int, 4> busiest{};  // channels of one link, by direction
  int boundary = 0;              // streams east across one column boundary, at most
  int hops = 0;                  // of the longest route
};
Occupancy occupancy_of(const ArraySpec& array, const Graph& graph, const Plan& plan);

}  // namespace offramp::aie
