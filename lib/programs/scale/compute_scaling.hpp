// How the problem size changes with the number of ranks.
#pragma once

#include <cstdint>

namespace offramp::scale {

/// Converts CPU time recorded at one number of ranks to another number.
enum class ComputeScaling : std::uint8_t {
  kStrong,    // total work is constant
  kWeak,      // work per rank is constant
  kRecorded,  // as the recordings show; kept as recorded where they show neither
};

}  // namespace offramp::scale
