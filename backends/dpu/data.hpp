// The bytes of a collective. Their way is the library's: the service processes' model has timed the operation
// (timing.hpp), and tokens without a time of their own bring every byte where it belongs.
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp::dpu {

/// Right for any number of ranks, any root and zero bytes. Reductions commute.
Task<Outcome> move_data(const Operation& operation, Team& team, CollectiveBuffers buffers);

}  // namespace offramp::dpu
