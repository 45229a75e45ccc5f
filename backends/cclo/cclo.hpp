// The cclo backend: ACCL's collectives offload engine on an FPGA, and its host driver.
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp {

const BackendDescription& cclo_backend();

}  // namespace offramp
