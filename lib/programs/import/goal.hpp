// GOAL, the schedules of LogGOPSim and ATLAHS, as text and binary: per rank a graph of messages and
// computing.
#pragma once

#include <functional>
#include <string>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// The common part of both forms. several: uses several cpus or nics.
Program goal_program(const std::string& name, int ranks, bool several,
                     std::function<Result<Graph>(int rank)> graph);

}  // namespace offramp::trace
