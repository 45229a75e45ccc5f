// offramp replay --rules: schedules by the rules of another simulator, in place of a backend's.
#pragma once

#include <string>

#include "tools/text/replay_options.hpp"

namespace offramp::tool {

/// Empty, or why the text names no rules: "loggopsim", or with values "loggopsim:o=1500,L=2500".
std::string is_rules(const std::string& text);

/// Prints when each rank of each of the files ends. Returns kDone, or kUsage where a program cannot go by the
/// rules or does not come to its end.
int replay_by_rules(const ReplayToolOptions& options);

}  // namespace offramp::tool
