// What is said of a problem at another number of ranks.
#pragma once

#include <cstdint>

namespace offramp::scale {

/// How the CPU time that was recorded at one number of ranks becomes that at another.
enum class ComputeScaling : std::uint8_t {
  kStrong,    // all ranks together have as much to do
  kWeak,      // each rank has as much to do
  kRecorded,  // as recorded: nothing is said of the problem
};

}  // namespace offramp::scale
