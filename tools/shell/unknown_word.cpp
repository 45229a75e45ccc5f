#include "tools/shell/unknown_word.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text_format.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/shell/catalogue.hpp"

namespace offramp::tool {
namespace {

bool has_option(const CLI::App& app, const std::string& name) {
  const std::vector<std::string> names = option_names(app);
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Other subcommands with this option: "; it is an option of run and record".
std::string elsewhere(const CLI::App& used, const std::string& name) {
  std::vector<std::string> having;
  for (const CLI::App* sub : used.get_parent()->get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty() && has_option(*sub, name)) having.push_back(sub->get_name());
  }
  if (having.empty()) return {};
  const std::string last = having.back();
  having.pop_back();
  return fmt::format("; it is an option of {}{}{}", fmt::join(having, ", "), having.empty() ? "" : " and ",
                     last);
}

/// The subcommand of this name, or null.
const CLI::App* subcommand_named(const CLI::App& app, const std::string& name) {
  const auto found = app.get_subcommands([&](const CLI::App* sub) { return sub->check_name(name); });
  return found.empty() ? nullptr : found.front();
}

bool takes_value(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() > 0;
}

}  // namespace

void rewrite_help_words(std::vector<std::string>& words) {
  if (words.empty()) return;
  if (words[0] == "version") words[0] = "--version";
  if (words[0] != "help") return;
  words.erase(words.begin());
  words.resize(std::min<std::size_t>(words.size(), 1));
  words.emplace_back("--help");
}

std::string unknown_subcommand(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return "no subcommand; see offramp --help";
  if (words[0].starts_with('-')) {
    const std::string name = words[0].substr(0, words[0].find('='));
    return has_option(app, name) ? "" : fmt::format("unknown option {}; see offramp --help", in_quotes(name));
  }
  if (subcommand_named(app, words[0]) != nullptr) return {};
  std::vector<std::string> names;
  for (const CommandEntry& command : catalogue(app)) names.push_back(command.name);
  const std::vector<std::string_view> views(names.begin() + 1, names.end());
  return fmt::format("unknown subcommand {}{}", in_quotes(words[0]), suggestion(words[0], views));
}

void tidy_options(const CLI::App& app, std::vector<std::string>& words) {
  const CLI::App* const command = subcommand_named(app, words[0]);
  if (command == nullptr) return;
  const bool runs = command->get_prefix_command();
  std::size_t at = 1;
  for (; at < words.size() && words[at] != "--"; ++at) {
    std::string& word = words[at];
    if (word == "-np" && command->get_option_no_throw("-n") != nullptr) word = "-n";
    if (!word.starts_with('-')) {
      if (runs) break;
      continue;
    }
    const bool apart = word.find('=') == std::string::npos;
    if (apart && takes_value(command->get_option_no_throw(word))) ++at;
  }
  if (at >= words.size() || words[at] == "--") return;
  const std::string& program = words[at];
  if (std::find(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(), "--") != words.end()) return;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (!name.starts_with("--") || name == "--help" || command->get_option_no_throw(name) == nullptr)
      continue;
    warn(
        fmt::format("note: {} after {} goes to the program; put options of offramp before it (or write -- "
                    "before {} to avoid this note)",
                    name, printable(program), printable(program)));
    return;
  }
}

std::string unknown_option(const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (!word.starts_with('-')) return {};
    const std::string name = word.substr(0, word.find('='));
    std::vector<std::string_view> views;
    const std::vector<std::string> names = option_names(app);
    // Single letters resemble all other letters.
    for (const std::string& known : names) {
      if (known.starts_with("--")) views.push_back(known);
    }
    const std::string other = elsewhere(app, name);
    return fmt::format("unknown option {}{}", in_quotes(name),
                       !other.empty()           ? other
                       : name.starts_with("--") ? suggestion(name, views)
                                                : fmt::format("; see offramp {} --help", app.get_name()));
  }
  return {};
}

}  // namespace offramp::tool
