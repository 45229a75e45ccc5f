// What a collective asks of the service processes: who needs whose bytes.
#pragma once

#include <cstdint>
#include <span>
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
  /// All ranks have something for all: pull p is rank p / size's, for the rank 1 + p % size places further.
  bool all_pairs = false;
  std::vector<PlannedPull> pulls;  // where not all_pairs
  std::vector<PlannedSlice> slices;
  std::vector<PlannedResult> results;
  std::vector<PlannedRank> ranks;
  bool once_per_node = false;  // bytes of one source reach a node once
  bool imports = true;         // memory handles
};

/// Not for barriers. Where sources tell sizes that the request does not have, it has no pulls yet.
Plan make_plan(const PlatformSpec& spec, const CollectiveRequest& request);
/// The bytes of a source that has told the sizes of its blocks: by destination, or of its only one.
void add_source(const CollectiveRequest& request, int rank, std::span<const std::int64_t> sizes, Plan& plan);

}  // namespace offramp::dpu
