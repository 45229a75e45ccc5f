// What `offramp explain` shows of this backend.
#pragma once

#include <span>

#include "offramp/backend.hpp"

namespace offramp::tinsel {

std::span<const ExplainTopic> topics();

}  // namespace offramp::tinsel
