// The whole platform at once: an operation whose ranks all begin at time 0.
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp::dpu {

Forecast forecast(const Operation& operation, const BackendContext& context);

}  // namespace offramp::dpu
