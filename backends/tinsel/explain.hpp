// The topics of `offramp explain` for this backend.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp::tinsel {

std::span<const ExplainTopic> topics();

}  // namespace offramp::tinsel
