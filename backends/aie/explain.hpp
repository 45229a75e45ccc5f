// The topics of `offramp explain` about the array.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp::aie {

std::span<const ExplainTopic> topics();

}  // namespace offramp::aie
