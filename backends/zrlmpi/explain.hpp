// Topics of `offramp explain --backend zrlmpi`.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp::zrlmpi {

std::span<const ExplainTopic> topics();

}  // namespace offramp::zrlmpi
