// Writes Open Trace Format 2 archives with the OTF2 library. A build without it returns an error.
#pragma once

#include <string>
#include <vector>

#include "lib/answers/replay/timeline.hpp"
#include "lib/programs/import/program.hpp"

namespace offramp {

/// Why a folder cannot receive an archive. Empty if no obstacle is known.
std::string otf2_problem(const std::string& folder);

/// Writes FOLDER/traces.otf2 and the archive's other files, in picoseconds of modelled time. program: the
/// name to write. Returns an empty string, or an error.
std::string write_otf2(const Timeline& timeline, const std::string& program, const std::string& folder);

/// Writes a program without hardware: computing has the recorded time, communication takes none. Adds a line
/// to `unsupported` for each feature that the format cannot express.
std::string write_otf2(const trace::Program& program, const std::string& folder,
                       std::vector<std::string>& unsupported);

}  // namespace offramp
