// The dpu backend: offload service processes on BlueField-class DPUs, and their hosts.
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp {

const BackendDescription& dpu_backend();

}  // namespace offramp
