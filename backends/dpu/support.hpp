// What the service processes can do.
#pragma once

#include "offramp/model/backend.hpp"
#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

/// ranks: of the world.
Verdict supports(const PlatformSpec& spec, int ranks, const Operation& operation);

}  // namespace offramp::dpu
