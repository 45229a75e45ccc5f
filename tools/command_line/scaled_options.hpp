// Options for programs at more ranks than were recorded.
#pragma once

#include <string>
#include <vector>

#include "lib/programs/scale/compute_scaling.hpp"

namespace offramp::tool {

struct ScaledOptions {
  std::vector<std::string> files;
  int ranks = 0;             // 0: as recorded
  std::string phase;         // the only phase to scale; empty: the whole program
  bool all_reasons = false;  // for a refusal
  scale::ComputeScaling compute = scale::ComputeScaling::kRecorded;
};

}  // namespace offramp::tool
