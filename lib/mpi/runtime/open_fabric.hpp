// From the ranks and the nodes they are on to the UCX fabric between them.
#pragma once

#include <memory>
#include <string>

#include "lib/fabric/ucx_fabric.hpp"

namespace offramp {

/// Of a run in which the MPI library carries everything.
std::unique_ptr<UcxFabricBase> no_fabric(int rank, int ranks);

/// Collective over MPI_COMM_WORLD. Null: error says why, on every rank alike or on this one alone.
std::unique_ptr<UcxFabricBase> open_fabric(std::string& error);

}  // namespace offramp
