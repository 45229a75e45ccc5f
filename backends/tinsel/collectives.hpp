// Collectives of the tinsel backend: broadcasts by one keyed send per fragment, reductions by threads up a
// tree, barriers by idle detection or over the tree, the rest by unicast.
#pragma once

#include "backends/tinsel/device.hpp"
#include "backends/tinsel/multicasts.hpp"
#include "offramp/model/backend.hpp"

namespace offramp::tinsel {

/// The hardware used by the ranks' drivers.
/// Both must outlive the operations.
struct Hardware {
  Device& device;
  Multicasts& multicasts;
};

/// The order of combination: that of the threads' tree.
[[nodiscard]] Fold fold_of(Device& device, const Operation& operation, const TeamMembers& team);
/// in_flight: number of messages that this rank had sent minus those it had received when the operation was
/// issued.
Task<Outcome> run_collective(Hardware hardware, const Operation& operation, Team& team,
                             CollectiveBuffers buffers, std::int64_t in_flight);

}  // namespace offramp::tinsel
