// The writers of all formats. unsupported: receives a line for each kind of construct that the format cannot
// express.
#pragma once

#include <string>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// Writes a recording. Fails if the program cannot be read or exceeds a recording's limits.
Result<void> write_recording(const Program& program, const std::string& path);
/// Builds the recording in memory.
Result<recording::Recording> recording_of(const Program& program);

/// Writes GOAL, the schedules of LogGOPSim and ATLAHS, as text and in their binary form. For programs without
/// collectives, which GOAL cannot express.
Result<void> write_goal_text(const Program& program, const std::string& path,
                             std::vector<std::string>& unsupported);
Result<void> write_goal_binary(const Program& program, const std::string& path,
                               std::vector<std::string>& unsupported);

/// Writes Chakra's execution traces (chakra_format.hpp): PATH.0.et and so on, one file per rank, and
/// PATH.json with the groups of collectives.
Result<void> write_chakra(const Program& program, const std::string& path,
                          std::vector<std::string>& unsupported);

/// Writes a time-independent trace of SimGrid's SMPI, which `smpirun -replay` reads: the list of files, and a
/// file per rank in the folder PATH_files beside it, whose lines are "RANK ACTION ARGUMENTS". Names in the
/// list are relative to the working directory, as in SMPI.
Result<void> write_smpi(const Program& program, const std::string& path,
                        std::vector<std::string>& unsupported);

}  // namespace offramp::trace
