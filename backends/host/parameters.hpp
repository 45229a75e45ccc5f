// The parameters of the host backend.
#pragma once

#include <vector>

#include "offramp/model/parameter.hpp"

namespace offramp::host {

const std::vector<Parameter>& parameters();

}  // namespace offramp::host
