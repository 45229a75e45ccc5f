// The lane of a rank, from the configuration.
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
  std::size_t functions = 0;  // that the counters number
};

/// The backend that carries the data, the host behind it, and whatever the routes name.
Result<std::unique_ptr<Lane>> make_lane(const LaneRequest& request);

}  // namespace offramp
