// The sharp backend: reductions, broadcasts, and barriers in the switches of the network, after NVIDIA's
// SHARP.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp {

/// Lives until the process ends.
const BackendDescription& sharp_backend();

// Parts of its description.
namespace sharp {
std::span<const ExplainTopic> topics();
ValidationRows validation();
}  // namespace sharp

}  // namespace offramp
