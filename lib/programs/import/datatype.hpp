// A datatype of a trace: its size, and the class of its elements.
#pragma once

#include <cstdint>

#include "offramp/model/operation.hpp"

namespace offramp::trace {

/// An element of a message: its size in bytes, and its class for reductions.
struct Datatype {
  std::uint64_t bytes = 1;
  ElementType element = ElementType::kByte;
};

}  // namespace offramp::trace
