// Archives of OTF2 as programs, read by its own library.
#pragma once

#include <string>

#include "lib/programs/import/program.hpp"

namespace offramp::otf2 {

/// anchor: the path of the file that ends in .otf2. All events are read once: what an archive lacks, and
/// what is damaged, is known then. An error names the file.
Result<trace::Program> open_archive(const std::string& anchor);

}  // namespace offramp::otf2
