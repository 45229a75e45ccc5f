// The tinsel backend: ranks on the threads of POETS/Tinsel boards with programmable multicast routers.
#pragma once

#include <span>
#include <vector>

#include "offramp/model/backend.hpp"

namespace offramp {

/// Lives until the process ends.
const BackendDescription& tinsel_backend();

// Parts of its description.
namespace tinsel {
/// In the order in which they are listed to users.
const std::vector<Parameter>& parameters();
std::span<const ExplainTopic> topics();
/// Simulates the published measurements.
ValidationRows validation();
}  // namespace tinsel

}  // namespace offramp
