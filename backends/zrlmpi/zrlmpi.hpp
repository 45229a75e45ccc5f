// The zrlmpi backend: IBM cloudFPGA's message passing engine [zrlmpi-protocol], and its host driver.
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp {

const BackendDescription& zrlmpi_backend();

}  // namespace offramp
