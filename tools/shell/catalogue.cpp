#include "tools/shell/catalogue.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

namespace offramp::tool {
namespace {

std::vector<std::string> split(const std::string& text, std::string_view separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  return parts;
}

/// Joins lines: the help's line breaks are for a terminal.
std::string joined(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  const auto first = text.find_first_not_of(' ');
  const auto last = text.find_last_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first, last - first + 1);
}

std::string without_full_stop(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry;
  entry.positional = option.get_positional();
  entry.required = option.get_required();
  entry.several = option.get_items_expected_max() > 1;
  entry.description = option.get_description();
  entry.default_text = option.get_default_str();
  if (entry.positional) {
    entry.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  }
  if (option.get_items_expected_max() > 0) entry.value = option.get_type_name();
  return entry;
}

CommandEntry entry_of(const CLI::App& app) {
  CommandEntry entry;
  entry.name = app.get_name();
  entry.summary = without_full_stop(app.get_description());
  for (const CLI::Option* option : app.get_options()) entry.options.push_back(entry_of(*option));
  return entry;
}

}  // namespace

std::vector<CommandEntry> catalogue(const CLI::App& app) {
  std::vector<CommandEntry> all = {entry_of(app)};
  for (const CommandDescription* command : registered_commands()) {
    if (command->hidden) continue;
    CommandEntry entry = entry_of(*app.get_subcommand(std::string(command->name)));
    entry.runs_program = command->runs_program;
    entry.exits = command->exits;
    for (const std::string& paragraph : split(command->about, "\n\n"))
      entry.paragraphs.push_back(joined(paragraph));
    all.push_back(std::move(entry));
  }
  return all;
}

std::vector<ExitText> exit_texts(const std::vector<CommandEntry>& commands) {
  std::map<int, std::string> texts;
  for (const CommandEntry& command : commands) {
    for (const ExitMeaning& exit : command.exits) {
      const auto [place, is_new] = texts.try_emplace(exit.code, usual_meaning(exit.code));
      if (exit.text.empty()) continue;
      if (!place->second.empty()) place->second += "; ";
      place->second += fmt::format("{}: {}", command.name, exit.text);
    }
  }
  std::vector<ExitText> all;
  for (auto& [code, text] : texts) {
    if (code != kAnyOther) all.push_back({exit_label(code), std::move(text)});
  }
  if (texts.contains(kAnyOther)) all.push_back({exit_label(kAnyOther), std::move(texts[kAnyOther])});
  return all;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

}  // namespace offramp::tool
