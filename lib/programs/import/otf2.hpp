// Archives of the Open Trace Format 2, written by Score-P and others, and read by Vampir, Scalasca, and
// otf2-print. OTF2's own library reads them; a build without it recognises and rejects the format.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// The version of OTF2's library that this build uses. Empty without the library.
std::string_view otf2_version();

/// The message of a build without the library.
std::string otf2_is_missing();

/// The anchor file of the archive in a folder. `nullopt` if there is no archive. Fails if there are several.
Result<std::optional<std::string>> otf2_anchor(const std::string& folder);

}  // namespace offramp::trace

namespace offramp::otf2 {

/// Opens an archive with OTF2's library. anchor: path of the .otf2 file. Reads all events once to find
/// missing or damaged data. Errors name the file.
Result<trace::Program> open_archive(const std::string& anchor);

}  // namespace offramp::otf2
