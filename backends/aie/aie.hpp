// The aie backend: reduce, gather and broadcast trees on a Versal AI Engine array.
#pragma once

#include <span>

#include "offramp/model/backend.hpp"

namespace offramp {

const BackendDescription& aie_backend();

// Parts of its description.
namespace aie {
std::span<const Parameter> parameters();
std::span<const ExplainTopic> topics();
ValidationRows validation();
}  // namespace aie

}  // namespace offramp
