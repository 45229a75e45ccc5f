// Published figures of MPI on hosts without offload, beside those of the model.
#pragma once

#include <cstddef>

#include "offramp/model/validation.hpp"

namespace offramp::host {

/// The model's time of an allgatherv on the nodes of [sc23-logs] without offload: 4 of 32 ranks, timed as
/// OSU's benchmarks do. The dpu's table compares its own rows of that job with it.
struct PublishedAllgatherv {
  double us;
  bool is_fitted;  // the memory of `processor = sc23` was chosen after this row
};
/// bytes: of each rank's block.
PublishedAllgatherv published_allgatherv(std::size_t bytes, bool nonblocking);

/// As BackendDescription::validation.
ValidationRows validation();

}  // namespace offramp::host
