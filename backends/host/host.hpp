// The host backend: no offload. A plain NIC by the LogGP model and the usual algorithms in host software. It
// is the baseline of every report, and carries what other backends decline.
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp {

const BackendDescription& host_backend();

}  // namespace offramp
