// Creates the lane of a rank from the configuration.
#pragma once

#include <memory>

#include "lib/base/configuration/configuration.hpp"
#include "lib/run/engine/lane.hpp"

namespace offramp {

struct LaneRequest {
  const Configuration& configuration;
  const Registry& registry;
  int rank = 0;
  int ranks = 1;
  std::size_t functions = 0;  // number of functions in the counters
};

/// Creates the host, the primary backend, and all backends of the routes.
Result<std::unique_ptr<Lane>> make_lane(const LaneRequest& request);

}  // namespace offramp
