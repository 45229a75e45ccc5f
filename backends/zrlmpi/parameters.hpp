// The parameters of the zrlmpi backend, and the engine that they describe.
#pragma once

#include <vector>

#include "offramp/model/parameter.hpp"
#include "simulators/zrlmpi/spec.hpp"

namespace offramp::zrlmpi {

const std::vector<Parameter>& parameters();

MpeSpec spec_of(const Settings& settings);

}  // namespace offramp::zrlmpi
