// Writes archives with the OTF2 library. Compiled only if the library is available; see otf2_output.hpp.
#pragma once

#include <string>
#include <vector>

#include "lib/answers/replay/timeline.hpp"
#include "lib/programs/import/program.hpp"

namespace offramp::otf2 {

/// Both as write_otf2() of otf2_output.hpp, which has checked the folder.
std::string write_archive(const Timeline& timeline, const std::string& program, const std::string& folder);
std::string write_program(const trace::Program& program, const std::string& folder,
                          std::vector<std::string>& unsupported);

}  // namespace offramp::otf2
