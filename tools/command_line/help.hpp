// What --help and --help-all print, from the options and the registered descriptions of subcommands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace offramp::tool {

/// Lays help out on 80 columns. Where a subcommand names the options that most people need (`often`), --help
/// has those in that order and names the others, which --help-all describes.
class HelpFormatter final : public CLI::FormatterBase {
 public:
  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const override;
};

}  // namespace offramp::tool
