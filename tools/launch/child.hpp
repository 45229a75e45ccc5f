// Runs a program with a time limit, and leaves nothing of it behind.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace offramp::tool {

struct ChildResult {
  int status = 0;          // as a shell reports it: 128 + n after signal n
  bool timed_out = false;  // and was ended
  double seconds = 0;
  std::string output;  // standard output and error as they came; the middle of a very long one is cut out
};

/// words: a path and its arguments. Everything that the program started ends with it: from the first call on,
/// this process adopts orphans, so it must have no other children.
ChildResult run_child(const std::vector<std::string>& words, double time_limit);

/// What a child process writes to the descriptor that it is given, up to a line's worth. The child may crash
/// or hang: then it is ended after five seconds.
std::string output_of_child(const std::function<void(int)>& answer);
/// What a program prints when it is called with --version, up to a few KiB.
std::string version_output_of(const std::string& program);

}  // namespace offramp::tool
