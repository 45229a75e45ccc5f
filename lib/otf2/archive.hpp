// Archives of OTF2 by its own library: read as programs, and written.
#pragma once

#include <string>
#include <vector>

#include "lib/replay/timeline.hpp"
#include "lib/trace/program.hpp"

namespace offramp::otf2 {

/// anchor: the path of the file that ends in .otf2. All events are read once: what an archive lacks, and
/// what is damaged, is known then. An error names the file.
Result<trace::Program> open_archive(const std::string& anchor);

/// See trace::write_otf2().
std::string write_archive(const Timeline& timeline, const std::string& program, const std::string& folder);
std::string write_program(const trace::Program& program, const std::string& folder,
                          std::vector<std::string>& unsaid);

}  // namespace offramp::otf2
