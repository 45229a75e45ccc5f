// Formats --help and --help-all from the options and the registered descriptions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace offramp::tool {

/// Breaks lines after line_width(). indent: of the further lines; at: the column at which the text begins.
/// Lines that begin with a space (examples, tables) keep their breaks.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t at);

/// A line of help: a label, and its description beside it.
std::string help_row(const std::string& label, const std::string& description);

/// Formats help for line_width(). If a subcommand lists its frequent options (`often`), --help describes
/// these in that order and only names the others; --help-all describes all.
class HelpFormatter final : public CLI::FormatterBase {
 public:
  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const override;
};

}  // namespace offramp::tool
