// Published figures of MPI on hosts without offload, compared with the model.
#pragma once

#include <cstddef>

#include "offramp/model/validation.hpp"

namespace offramp::host {

/// The model's duration of an allgatherv on the nodes of [sc23-logs] without offload: 4 nodes with 32 ranks,
/// timed as by OSU's benchmarks. The dpu backend's table compares its rows of that job with it.
struct PublishedAllgatherv {
  double us;
  bool is_fitted;  // the memory of `processor = sc23` was fitted to this row
};
/// bytes: size of each rank's block.
PublishedAllgatherv published_allgatherv(std::size_t bytes, bool nonblocking);

/// As BackendDescription::validation.
ValidationRows validation();

}  // namespace offramp::host
