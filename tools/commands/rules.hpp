// offramp replay --rules: replays schedules by another simulator's rules.
#pragma once

#include <string>

#include "tools/text/replay_options.hpp"

namespace offramp::tool {

/// Why the text names no rules: "loggopsim", or with values "loggopsim:o=1500,L=2500". Empty if it does.
std::string is_rules(const std::string& text);

/// Prints the end of each rank per file. Returns kDone, or kUsage if a program does not fit or complete.
int replay_by_rules(const ReplayToolOptions& options);

}  // namespace offramp::tool
