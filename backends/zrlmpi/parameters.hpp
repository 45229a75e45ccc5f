// The parameters of the zrlmpi backend, and the engine that they describe.
#pragma once

#include <vector>

#include "offramp/model/parameter.hpp"
#include "simulators/zrlmpi/spec.hpp"

namespace offramp::zrlmpi {

/// In the order in which they are listed to users.
const std::vector<Parameter>& parameters();

/// Settings must have been checked against parameters().
MpeSpec spec_of(const Settings& settings);

}  // namespace offramp::zrlmpi
