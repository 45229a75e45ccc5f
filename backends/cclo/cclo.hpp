// The cclo backend: ACCL's collectives offload engine on an FPGA, and its host driver.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp {

/// Lives until the process ends.
const BackendDescription& cclo_backend();

// Parts of its description.
namespace cclo {
std::span<const ExplainTopic> topics();
/// Simulates the published measurements, which takes a while.
ValidationRows validation();
}  // namespace cclo

}  // namespace offramp
