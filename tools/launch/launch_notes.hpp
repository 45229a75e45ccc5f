// What offramp run says before it starts a program that may not run as its user expects.
#pragma once

#include <string>
#include <vector>

#include "tools/command_line/tool.hpp"
#include "tools/launch/check.hpp"
#include "tools/launch/launcher.hpp"

namespace offramp::tool {

/// Why this launcher may fail here: another MPI's OPAL_PREFIX, srun without Slurm. Empty if nothing is wrong.
std::string launcher_problem(const Launcher& launcher);

/// A sentence each, of the launcher, the program, and the libraries that are preloaded beside Offramp.
std::vector<std::string> notes_on_launch(const Launcher& launcher, const MpiUse& use,
                                         const RunOptions& options);

}  // namespace offramp::tool
