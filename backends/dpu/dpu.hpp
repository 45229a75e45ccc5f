// The dpu backend: offload service processes on BlueField-class DPUs, and their hosts.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp {

/// Lives until the process ends.
const BackendDescription& dpu_backend();

// Parts of its description.
namespace dpu {
std::span<const ExplainTopic> topics();
/// Simulates the published measurements, which takes a while.
ValidationRows validation();
}  // namespace dpu

}  // namespace offramp
