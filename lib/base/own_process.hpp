// The command line of this process.
#pragma once

#include <string>
#include <vector>

namespace offramp {

/// The words of this process's command line, those for a dynamic loader that was called by name included.
std::vector<std::string> own_command();

/// Replaces the program of this process by itself, with its command line and the present environment. Returns
/// the reason on failure.
std::string restart();

}  // namespace offramp
