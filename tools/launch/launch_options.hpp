// Options that run and record share: the program and its launcher.
#pragma once

#include <string>
#include <vector>

#include "tools/command_line/command.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {

/// Declares the options, and converts them after parsing.
class LaunchOptions {
 public:
  /// Fills the options, which must outlive this object.
  LaunchOptions(CLI::App& app, RunOptions& options);
  /// program: the words after the options.
  void collect(std::vector<std::string> program);

 private:
  RunOptions& options_;
  LauncherOptions launcher_;
};

/// The exit codes of run and record, for their help.
std::vector<ExitMeaning> launch_exits();

}  // namespace offramp::tool
