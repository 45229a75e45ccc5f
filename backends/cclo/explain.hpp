// What `offramp explain TOPIC --backend cclo` shows.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp::cclo {

std::span<const ExplainTopic> topics();

}  // namespace offramp::cclo
