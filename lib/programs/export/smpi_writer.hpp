// Time-independent traces of SimGrid's SMPI: `smpirun -trace-ti` writes them, `smpirun -replay` reads them. A
// list names the files; each line of those is "RANK ACTION ARGUMENTS".
#pragma once

#include <string>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// Writes the list, and beside it the folder PATH_files with one file for each rank. The names in the list
/// are relative to this process's folder, as SMPI's own are. unsaid: gets a line for each kind of thing that
/// the format cannot say.
Result<void> write_smpi(const Program& program, const std::string& path, std::vector<std::string>& unsaid);

}  // namespace offramp::trace
