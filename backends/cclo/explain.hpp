// The topics of `offramp explain TOPIC --backend cclo`.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp::cclo {

std::span<const ExplainTopic> topics();

}  // namespace offramp::cclo
