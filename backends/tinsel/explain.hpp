// What `offramp explain` shows of this backend.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp::tinsel {

std::span<const ExplainTopic> topics();

}  // namespace offramp::tinsel
