// The tinsel backend: ranks on the threads of POETS/Tinsel boards with programmable multicast routers.
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp {

const BackendDescription& tinsel_backend();

}  // namespace offramp
