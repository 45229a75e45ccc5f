// Writes GOAL, the schedules of LogGOPSim and ATLAHS, as text and in their binary form.
#pragma once

#include <string>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// For programs without collectives, which GOAL cannot express. unsaid: receives a line for each kind of
/// construct that the format cannot express.
Result<void> write_goal_text(const Program& program, const std::string& path,
                             std::vector<std::string>& unsupported);
Result<void> write_goal_binary(const Program& program, const std::string& path,
                               std::vector<std::string>& unsupported);

}  // namespace offramp::trace
