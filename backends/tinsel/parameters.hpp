// The parameters of the tinsel backend.
#pragma once

#include <vector>

#include "offramp/model/parameter.hpp"

namespace offramp::tinsel {

const std::vector<Parameter>& parameters();

}  // namespace offramp::tinsel
