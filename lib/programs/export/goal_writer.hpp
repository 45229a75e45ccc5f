// Writes GOAL, the schedules of LogGOPSim and ATLAHS, as text and in their binary form.
#pragma once

#include <string>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// Of programs of messages alone: GOAL has no collectives. unsaid: gets a line for each kind of thing that
/// the format cannot say.
Result<void> write_goal_text(const Program& program, const std::string& path,
                             std::vector<std::string>& unsaid);
Result<void> write_goal_binary(const Program& program, const std::string& path,
                               std::vector<std::string>& unsaid);

}  // namespace offramp::trace
