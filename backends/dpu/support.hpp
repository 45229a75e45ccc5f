// What the service processes can do.
#pragma once

#include "offramp/model/backend.hpp"
#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

/// All but prefix reductions, which no service is known for.
bool knows(OperationKind kind);
/// ranks: of the world.
Verdict supports(const PlatformSpec& spec, int ranks, const Operation& operation);

}  // namespace offramp::dpu
