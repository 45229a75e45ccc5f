// What `offramp explain` shows of the service.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp::dpu {

std::span<const ExplainTopic> topics();

}  // namespace offramp::dpu
