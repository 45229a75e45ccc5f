// Collectives of the tinsel backend: broadcasts by one keyed send per fragment, reductions at threads up a
// tree, barriers by idle detection or up and down the tree, the rest by unicast.
#pragma once

#include "backends/tinsel/device.hpp"
#include "backends/tinsel/multicasts.hpp"
#include "offramp/model/backend.hpp"

namespace offramp::tinsel {

/// What the ranks' drivers work with.
struct Hardware {
  Device& device;
  Multicasts& multicasts;
};

/// in_flight: messages that this rank has sent less those that it has received, when the operation was
/// issued.
Task<Outcome> run_collective(Hardware hardware, const Operation& operation, Team& team,
                             CollectiveBuffers buffers, std::int64_t in_flight);

}  // namespace offramp::tinsel
