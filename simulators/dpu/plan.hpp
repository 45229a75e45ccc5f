// The work of service processes for a collective: which rank needs whose bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulators/dpu/collective.hpp"

namespace offramp::dpu {

/// The bytes that one rank READs from another.
struct PlannedPull {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
  int slice = -1;  // reductions only: combined by its owner in DPU memory
};
/// A slice of a reduction. Its results are [first_result, last_result) of Plan::results.
struct PlannedSlice {
  int owner = 0;
  std::int64_t bytes = 0;
  int contributions = 0;
  int first_result = 0;
  int last_result = 0;  // exclusive
};
/// A rank that receives the result of a slice.
struct PlannedResult {
  int slice = 0;
  int to = 0;
};
/// One rank's part of the plan.
struct PlannedRank {
  bool has_data = true;  // from the beginning; otherwise after its pull
  int receives = 0;
  std::vector<int> outgoing;  // pulls, in order of their RTS
};
/// The work for all ranks. Ranks are those of the communicator.
struct Plan {
  /// All ranks have data for all others: pull p is from rank p / size, for the rank 1 + p % size further.
  bool all_pairs = false;
  std::vector<PlannedPull> pulls;  // only if not all_pairs
  std::vector<PlannedSlice> slices;
  std::vector<PlannedResult> results;
  std::vector<PlannedRank> ranks;
  bool once_per_node = false;  // the bytes of a source reach a node only once
  bool imports = true;         // import memory handles
};

/// Makes the plan of any collective except a barrier. If sources post the sizes and the request does not
/// contain them, the plan has no pulls yet.
Plan make_plan(const PlatformSpec& spec, const CollectiveRequest& request);
/// Adds the pulls of a source that has posted its block sizes: by destination, or a single one.
void add_source(const CollectiveRequest& request, int rank, std::span<const std::int64_t> sizes, Plan& plan);

}  // namespace offramp::dpu
