// GOAL, the schedules of LogGOPSim and ATLAHS, as text and in their binary form: per rank a graph of sends,
// receives and computing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/trace/program.hpp"

namespace offramp::trace {

/// What both forms have in common. several: cpus or nics.
Program goal_program(const std::string& name, int ranks, bool several,
                     std::function<Result<Graph>(int rank)> graph);

/// Of programs of messages alone: GOAL has no collectives. unsaid: gets a line for each kind of thing that
/// the format cannot say. Empty, or what went wrong.
std::string write_goal_text(const Program& program, const std::string& path,
                            std::vector<std::string>& unsaid);
std::string write_goal_binary(const Program& program, const std::string& path,
                              std::vector<std::string>& unsaid);

}  // namespace offramp::trace
