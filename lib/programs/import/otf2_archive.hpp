// Opens archives of OTF2 as programs with OTF2's library.
#pragma once

#include <string>

#include "lib/programs/import/program.hpp"

namespace offramp::otf2 {

/// anchor: path of the .otf2 file. Reads all events once to find missing or damaged data. Errors name the
/// file.
Result<trace::Program> open_archive(const std::string& anchor);

}  // namespace offramp::otf2
