// A child process that reads a file with a library that may crash on it, or not come to an end.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace offramp {

/// What `read` returns, which runs in a child process. Nothing if the child crashes, uses more than so many
/// seconds of a processor, or waits for longer than ten times that, as for the other end of a FIFO. What the
/// child prints is dropped.
std::optional<std::string> in_trial_process(unsigned seconds, const std::function<std::string()>& read);

}  // namespace offramp
