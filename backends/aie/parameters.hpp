// The parameters of the aie backend.
#pragma once

#include <span>

#include "offramp/model/parameter.hpp"

namespace offramp::aie {

std::span<const Parameter> parameters();

}  // namespace offramp::aie
