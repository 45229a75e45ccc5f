// Runs a function in a child process, for reading files with a library that may crash on them or never
// return.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace offramp {

/// Runs `read` in a child process and returns its result. Returns nullopt if the child crashes, exceeds
/// `seconds` of CPU time, or exceeds 10 * `seconds` of wall time (a FIFO without a writer). The child's
/// output is discarded.
std::optional<std::string> in_trial_process(unsigned seconds, const std::function<std::string()>& read);

}  // namespace offramp
