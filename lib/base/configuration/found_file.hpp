// Restrictions on an offramp.toml that the user did not name: it is in the folder in which a command was
// started, and may have come with an archive or a repository. It may set parameters. It may not load code or
// name outputs outside of its folder.
#pragma once

#include <string>
#include <vector>

#include "lib/base/configuration/configuration_file.hpp"

namespace offramp {

/// Fails for entries that a found file may not have. The failure includes the place.
Result<void> check_found_file(const std::vector<Entry>& entries, const std::string& folder);

}  // namespace offramp
