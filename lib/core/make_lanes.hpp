// The lanes of a rank, from the configuration.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "lib/core/configuration.hpp"
#include "lib/core/lane.hpp"

namespace offramp {

struct LanesRequest {
  const Configuration& configuration;
  const Registry& registry;
  int rank = 0;
  int ranks = 1;
  std::size_t functions = 0;  // that the counters number
  /// Who takes the spans of a lane's hardware; null: nobody.
  std::function<SpanSink*(std::size_t lane)> spans;
  PacketSink* packets = nullptr;  // takes those of lane 0; null: nobody
};

/// One lane per backend of lane_backends(), each as it would be in a run of its own: that backend, the host
/// behind it, and whatever the routes name.
Result<std::vector<std::unique_ptr<Lane>>> make_lanes(const LanesRequest& request);

}  // namespace offramp
