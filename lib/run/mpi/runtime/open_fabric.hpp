// Chooses and opens the fabric between the ranks.
#pragma once

#include <memory>

#include "lib/run/fabric/process_fabric.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp {

/// The fabric of a run in which the MPI library carries all calls.
std::unique_ptr<ProcessFabric> no_fabric(int rank, int ranks);

/// Collective over MPI_COMM_WORLD. Fails on every rank alike, or on this one alone.
Result<std::unique_ptr<ProcessFabric>> open_fabric();

}  // namespace offramp
