// What a collective asks of the service processes: who needs whose bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "simulators/dpu/collective.hpp"

namespace offramp::dpu {

struct PlannedPull {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
  int slice = -1;  // of a reduction: combined by its owner, in DPU memory
};
struct PlannedSlice {
  int owner = 0;
  std::int64_t bytes = 0;
  int contributions = 0;
  int first_result = 0;
  int last_result = 0;  // one behind
};
struct PlannedResult {
  int slice = 0;
  int to = 0;
};
struct PlannedRank {
  bool has_data = true;  // from the beginning; otherwise once its pull is done
  int receives = 0;
  std::vector<int> outgoing;  // pulls, in the order of their RTS
};
struct Plan {
  std::vector<PlannedPull> pulls;
  std::vector<PlannedSlice> slices;
  std::vector<PlannedResult> results;
  std::vector<PlannedRank> ranks;
  bool once_per_node = false;  // bytes of one source reach a node once
  bool imports = true;         // memory handles
};

/// Not for barriers.
Plan make_plan(const PlatformSpec& spec, const CollectiveRequest& request);

}  // namespace offramp::dpu
