// What an offramp.toml may do that nobody named: it lies in the folder in which a command was started, and
// may have come there with an archive or a repository. It sets parameters. It does not choose code that is
// loaded, and it names no output outside of its folder.
#pragma once

#include <string>
#include <vector>

#include "lib/base/configuration/configuration_file.hpp"

namespace offramp {

/// Refuses entries that a file that was found in the folder may not have. The failure names the place.
Result<void> check_found_file(const std::vector<Entry>& entries, const std::string& folder);

}  // namespace offramp
