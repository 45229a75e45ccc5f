// The topics of `offramp explain` for the backend.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp::sharp {

/// Live until the process ends.
std::span<const ExplainTopic> topics();

}  // namespace offramp::sharp
