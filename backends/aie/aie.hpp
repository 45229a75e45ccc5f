// The aie backend: reduce, gather and broadcast trees on a Versal AI Engine array.
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp {

const BackendDescription& aie_backend();

}  // namespace offramp
