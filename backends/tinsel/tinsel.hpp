// The tinsel backend: ranks on the threads of POETS/Tinsel boards with programmable multicast routers.
#pragma once

#include <span>
#include <vector>

#include "offramp/model/backend.hpp"

namespace offramp {

const BackendDescription& tinsel_backend();

// Parts of its description.
namespace tinsel {
const std::vector<Parameter>& parameters();
std::span<const ExplainTopic> topics();
ValidationRows validation();
}  // namespace tinsel

}  // namespace offramp
