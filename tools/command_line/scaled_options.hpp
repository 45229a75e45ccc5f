// What is asked of a program at more ranks than were run.
#pragma once

#include <string>
#include <vector>

#include "lib/programs/scale/compute_scaling.hpp"

namespace offramp::tool {

struct ScaledOptions {
  std::vector<std::string> files;
  int ranks = 0;             // 0: as recorded
  std::string phase;         // that is scaled alone; empty: the whole program
  bool all_reasons = false;  // of a refusal
  scale::ComputeScaling compute = scale::ComputeScaling::kRecorded;
};

}  // namespace offramp::tool
