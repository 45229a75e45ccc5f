// The topics of `offramp explain` about the service.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp::dpu {

std::span<const ExplainTopic> topics();

}  // namespace offramp::dpu
