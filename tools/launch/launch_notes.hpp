// Warnings of `offramp run` before it starts a program that may not run as expected.
#pragma once

#include <string>
#include <vector>

#include "tools/command_line/tool.hpp"
#include "tools/launch/check.hpp"
#include "tools/launch/launcher.hpp"

namespace offramp::tool {

/// Why this launcher may fail: another MPI's OPAL_PREFIX, or srun without Slurm. Empty if nothing is found.
std::string launcher_problem(const Launcher& launcher);

/// One sentence each, about the launcher, the program, and libraries preloaded beside Offramp.
std::vector<std::string> notes_on_launch(const Launcher& launcher, const MpiUse& use,
                                         const RunOptions& options);

}  // namespace offramp::tool
