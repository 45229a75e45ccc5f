// Time-independent traces of SimGrid's SMPI: `smpirun -trace-ti` writes them, `smpirun -replay` reads them. A
// list names the files, whose lines are "RANK ACTION ARGUMENTS".
#pragma once

#include <string>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// Writes the list, and a file per rank to the folder PATH_files beside it. Names in the list are relative to
/// the working directory, as in SMPI. unsaid: receives a line per kind of construct that cannot be expressed.
Result<void> write_smpi(const Program& program, const std::string& path,
                        std::vector<std::string>& unsupported);

}  // namespace offramp::trace
