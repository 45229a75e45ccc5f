// Time-independent traces of SimGrid's SMPI: `smpirun -trace-ti` writes them, `smpirun -replay` reads them. A
// list names the files, whose lines are "RANK ACTION ARGUMENTS".
#pragma once

#include <string>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// Writes the list, and one file per rank to the folder PATH_files beside it. Names in the list are relative
/// to this process's working directory, as in SMPI. unsaid: receives a line for each kind of construct that
/// the format cannot express.
Result<void> write_smpi(const Program& program, const std::string& path, std::vector<std::string>& unsaid);

}  // namespace offramp::trace
