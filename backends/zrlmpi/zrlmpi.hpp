// The zrlmpi backend: IBM cloudFPGA's message passing engine [zrlmpi-protocol], and its host driver.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp {

const BackendDescription& zrlmpi_backend();

// Parts of its description.
namespace zrlmpi {
std::span<const ExplainTopic> topics();
ValidationRows validation();
}  // namespace zrlmpi

}  // namespace offramp
