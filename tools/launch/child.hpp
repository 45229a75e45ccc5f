// Runs a program with a time limit, and cleans up all processes that it started.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace offramp::tool {

/// The outcome of a child process. 126: it could not be started; 127: the path could not be executed.
struct ChildResult {
  int status = 0;          // exit code, or 128 + n after signal n, as in shells
  bool timed_out = false;  // it was ended at the time limit
  double seconds = 0;
  std::string output;  // standard output and error, interleaved; of very long output, the middle is missing
};

/// words: a path and arguments. All processes that the program started end with it. From the first call on,
/// this process adopts orphans, so it must have no other children.
ChildResult run_child(const std::vector<std::string>& words, double time_limit);

/// Returns what a child process writes to the descriptor passed to `answer`, at most a line. The child may
/// crash; if it hangs, it is ended after five seconds.
std::string output_of_child(const std::function<void(int)>& answer);
/// The output of `program --version`, up to a few KiB.
std::string version_output_of(const std::string& program);

}  // namespace offramp::tool
