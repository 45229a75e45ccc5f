// The width is COLUMNS, else that of the terminal, else 80 columns; at least 40 and at most 80. --help
// describes the options in CommandDescription::often and names the others.
#include "tools/command_line/help.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tools/command_line/command.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {
namespace {

constexpr std::size_t kTextColumn = 26;  // column of descriptions

}  // namespace

std::size_t line_width() {
  constexpr long kNarrowest = 40;  // the column of descriptions, and a few words
  constexpr long kWidest = 80;
  const char* const columns = std::getenv("COLUMNS");
  long width = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  winsize window{};
  if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0) width = window.ws_col;
  return static_cast<std::size_t>(width <= 0 ? kWidest : std::clamp(width, kNarrowest, kWidest));
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t at) {
  const std::size_t width = line_width();
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool is_fixed = line.starts_with(' ');
    const bool goes_on =
        !is_fixed && !line.empty() && !text.empty() && !text.starts_with(' ') && !text.starts_with('\n');
    if (is_fixed) out += line;
    while (!is_fixed && !line.empty()) {
      const std::size_t word_end = std::min(line.find(' '), line.size());
      const bool begins = out.empty() || out.back() == '\n' || at <= indent;
      if (!begins && at + 1 + word_end > width) {
        out += "\n" + std::string(indent, ' ');
        at = indent;
      } else if (!begins) {
        out += ' ';
        ++at;
      }
      out += line.substr(0, word_end);
      at += word_end;
      line.remove_prefix(std::min(word_end + 1, line.size()));
    }
    if (text.empty() || goes_on) continue;
    out += "\n" + std::string(is_fixed ? 0 : indent, ' ');
    at = indent;
  }
  return out;
}

std::string help_row(const std::string& label, const std::string& description) {
  std::string out = "  " + label;
  if (out.size() + 2 > kTextColumn)
    out += "\n" + std::string(kTextColumn, ' ');
  else
    out.resize(kTextColumn, ' ');
  return out + wrapped(description, kTextColumn, kTextColumn) + "\n";
}

namespace {

std::string argument_of(const CLI::Option& option) {
  std::string type = option.get_type_name();
  if (!type.empty() && option.get_expected_max() > 1) type += " ...";
  return type;
}

std::string row(const CLI::Option& option) {
  std::string label = option.get_positional() ? "" : option.get_name(false, true);
  std::replace(label.begin(), label.end(), ',', ' ');
  const std::string argument = argument_of(option);
  if (!argument.empty()) label += (label.empty() ? "" : " ") + argument;
  std::string description = option.get_description();
  if (const std::string value = option.get_default_str(); !value.empty())
    description += fmt::format(" (default: {})", value);
  return help_row(label, description);
}

using Options = std::vector<const CLI::Option*>;

const CommandDescription* description_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return nullptr;
  for (const CommandDescription* one : registered_commands()) {
    if (one->name == app.get_name()) return one;
  }
  return nullptr;
}

/// In the order of `often`. If that is empty, all options.
Options chosen(const CLI::App& app, const CommandDescription* description) {
  const auto shown = [](const CLI::Option* one) {
    return !one->get_positional() && one->get_group() != kLabGroup && !one->get_group().empty();
  };
  const Options all = app.get_options(shown);
  if (description == nullptr || description->often.empty()) return all;
  Options some;
  for (const std::string_view name : description->often) some.push_back(app.get_option(std::string(name)));
  return some;
}

std::string exits_text(const CommandDescription& description) {
  std::string text = "\nExit codes:\n";
  for (const ExitMeaning& exit : description.exits)
    text += help_row(exit_label(exit.code), std::string(meaning_of(exit)));
  return text;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  const CommandDescription* const description = description_of(*app);
  const bool is_short =
      mode != CLI::AppFormatMode::All && description != nullptr && !description->often.empty();
  const Options positionals = app->get_options(
      [](const CLI::Option* one) { return one->get_positional() && !one->get_group().empty(); });
  std::string usage = fmt::format("Usage: {} [OPTIONS]", name);
  for (const CLI::Option* const one : positionals)
    usage += one->get_required() ? " " + argument_of(*one) : fmt::format(" [{}]", argument_of(*one));
  if (description == nullptr) usage += " SUBCOMMAND";
  if (description != nullptr && description->runs_program) usage += " -- PROGRAM [ARGUMENTS]";
  std::string text = wrapped(app->get_description(), 0, 0) + "\n" + usage + "\n";
  if (!positionals.empty()) text += "\n";
  for (const CLI::Option* const one : positionals) text += row(*one);

  text += "\nOptions:\n";
  const Options all = chosen(*app, nullptr);
  const Options first = chosen(*app, is_short ? description : nullptr);
  for (const CLI::Option* const one : first) text += row(*one);
  if (is_short) {
    std::string others;
    for (const CLI::Option* const one : all) {
      if (std::find(first.begin(), first.end(), one) == first.end() && one != app->get_help_ptr() &&
          one != app->get_help_all_ptr())
        others += (others.empty() ? "" : ", ") + one->get_name(false, false);
    }
    text += wrapped(fmt::format("\nMore options, described by {} --help-all: {}", name, others), 2, 0) + "\n";
  }
  if (description == nullptr) {
    text += "\nSubcommands:\n";
    for (const CommandDescription* const one : registered_commands()) {
      if (!one->hidden) text += help_row(std::string(one->name), std::string(one->summary));
    }
    return text;
  }
  const std::string& about = description->about;
  if (!about.empty())
    text += "\n" + wrapped(is_short ? about.substr(0, about.find("\n\n")) : about, 0, 0) + "\n";
  const std::vector<Example> examples = examples_of(description->name);
  if (is_short) return text + fmt::format("\nExample: {}\n", examples.front().command);
  if (!examples.empty()) text += "\nExamples:\n";
  for (const Example& example : examples)
    text += fmt::format("  {}\n      {}\n", example.command, wrapped(example.what, 6, 6));
  return text + exits_text(*description);
}

}  // namespace offramp::tool
