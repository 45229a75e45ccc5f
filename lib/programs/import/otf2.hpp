// Archives of the Open Trace Format 2, which Score-P and others write and Vampir, Scalasca and otf2-print
// read. OTF2's own library reads the bytes; a build without it names the format and refuses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "offramp/kernel/result.hpp"

namespace offramp::trace {

/// The version of OTF2's library that this build uses. Empty without the library.
std::string_view otf2_version();

/// The message of a build without the library.
std::string otf2_is_missing();

/// The anchor file of the archive in a folder. nullopt if the folder has no archive, an error if it has
/// several.
Result<std::optional<std::string>> otf2_anchor(const std::string& folder);

}  // namespace offramp::trace
