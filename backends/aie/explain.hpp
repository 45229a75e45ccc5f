// What `offramp explain` shows of the array.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp::aie {

std::span<const ExplainTopic> topics();

}  // namespace offramp::aie
