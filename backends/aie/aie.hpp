// The aie backend: reduce, gather and broadcast trees on a Versal AI Engine array.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp {

/// Lives until the process ends.
const BackendDescription& aie_backend();

// Parts of its description.
namespace aie {
/// In the order in which they are listed to users. With sources.
std::span<const Parameter> parameters();
std::span<const ExplainTopic> topics();
/// Simulates the published benchmarks, which takes a while.
ValidationRows validation();
}  // namespace aie

}  // namespace offramp
