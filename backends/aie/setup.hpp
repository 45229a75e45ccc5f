// Converts the backend's parameters for the models.
#pragma once

#include "offramp/model/parameter.hpp"
#include "simulators/aie/collectives.hpp"

namespace offramp::aie {

enum class AllreduceDesign : std::uint8_t { kTree, kButterfly };

/// The largest window that compiled in [aie-thesis] 4.6.3.
inline constexpr std::size_t kLargestWindow = 8192;

struct Setup {
  explicit Setup(const Settings& settings);

  ArraySpec array;
  Timing timing;
  Placement placement;
  int arity;
  std::size_t window;  // largest window, in bytes
  bool best_window;    // use smaller windows where they are faster
  Code kernels;        // of reductions
  Code copies;         // of everything else
  GatherDesign gather;
  AllreduceDesign allreduce;
  bool host_data;  // messages are in the host's memory instead of the tiles
  HostPath host;
  Time command;
  Bandwidth configuration;
  std::size_t eager_limit;
  Bandwidth bounce;
};

}  // namespace offramp::aie
