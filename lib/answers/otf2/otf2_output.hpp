// Writes archives of the Open Trace Format 2. OTF2's own library writes the bytes; a build without it
// refuses.
#pragma once

#include <string>
#include <vector>

#include "lib/answers/replay/timeline.hpp"
#include "lib/programs/import/program.hpp"

namespace offramp {

/// Why no archive can be written into a folder; empty if nothing is known to prevent it.
std::string otf2_problem(const std::string& folder);

/// Writes FOLDER/traces.otf2 and the files of the archive. Clocks count picoseconds of modelled time.
/// program: its name. Returns an empty text, or what went wrong.
std::string write_otf2(const Timeline& timeline, const std::string& program, const std::string& folder);

/// Writes a program by itself: computing takes what was recorded, and communication takes no time. unsaid
/// receives a line for each kind of thing that the format cannot express.
std::string write_otf2(const trace::Program& program, const std::string& folder,
                       std::vector<std::string>& unsupported);

}  // namespace offramp
