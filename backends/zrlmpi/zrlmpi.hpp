// The zrlmpi backend: IBM cloudFPGA's message passing engine [zrlmpi-protocol], and its host driver.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp {

/// Lives until the process ends.
const BackendDescription& zrlmpi_backend();

// Parts of its description.
namespace zrlmpi {
std::span<const ExplainTopic> topics();
/// Simulates the published measurements.
ValidationRows validation();
}  // namespace zrlmpi

}  // namespace offramp
