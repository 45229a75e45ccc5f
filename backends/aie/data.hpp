// Data of collectives without hardware: whole payloads, combined in the order of the array's kernels.
#pragma once

#include "backends/aie/planner.hpp"
#include "offramp/model/backend.hpp"

namespace offramp::aie {

Task<Outcome> carry(Planner& planner, const Operation& operation, Team& team,
                    const CollectiveBuffers& buffers);

}  // namespace offramp::aie
