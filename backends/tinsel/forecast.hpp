// One operation on many ranks with all boards in one simulation: messages of all ranks meet in the same
// routers and on the same links.
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp::tinsel {

Forecast forecast(const Operation& operation, const BackendContext& context);

}  // namespace offramp::tinsel
