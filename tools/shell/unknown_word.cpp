#include "tools/shell/unknown_word.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "lib/base/text_format.hpp"
#include "tools/command_line/catalogue.hpp"
#include "tools/command_line/tool.hpp"

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

/// Options of mpirun and mpiexec, with the number of their values.
struct LauncherOption {
  std::string_view name;  // behind one or two dashes
  int values;
};
constexpr LauncherOption kLauncherOptions[] = {{"H", 1},          {"allow-run-as-root", 0},
                                               {"bind-to", 1},    {"display-map", 0},
                                               {"f", 1},          {"genv", 2},
                                               {"host", 1},       {"hostfile", 1},
                                               {"hosts", 1},      {"machinefile", 1},
                                               {"map-by", 1},     {"mca", 2},
                                               {"npernode", 1},   {"oversubscribe", 0},
                                               {"ppn", 1},        {"rank-by", 1},
                                               {"tag-output", 0}, {"report-bindings", 0},
                                               {"wdir", 1},       {"use-hwthread-cpus", 0},
                                               {"mpi", 1},        {"x", 1}};

/// Rewrites the launcher's option and its values as --launcher-args. Returns false for other words.
bool pass_to_launcher(std::vector<std::string>& words, std::size_t at) {
  const std::string& word = words[at];
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals).substr(std::min(word.find_first_not_of('-'), word.size()));
  const auto* const found = std::find_if(std::begin(kLauncherOptions), std::end(kLauncherOptions),
                                         [&](const LauncherOption& one) { return one.name == name; });
  const std::size_t more = found == std::end(kLauncherOptions) || equals != std::string::npos
                               ? 0
                               : static_cast<std::size_t>(found->values);
  if (found == std::end(kLauncherOptions) || at + more >= words.size()) return false;
  std::string text = "--launcher-args=" + word;
  for (std::size_t i = at + 1; i <= at + more; ++i)
    text += words[i].find_first_of(" \t\"'") == std::string::npos ? " " + words[i] : " \"" + words[i] + "\"";
  words[at] = text;
  const auto next = words.begin() + static_cast<std::ptrdiff_t>(at) + 1;
  words.erase(next, next + static_cast<std::ptrdiff_t>(more));
  return true;
}

/// What products and papers call the hardware of a backend.
constexpr std::pair<std::string_view, std::string_view> kNicknames[] = {
    {"bluefield", "dpu"}, {"bluefield2", "dpu"}, {"bluefield3", "dpu"}, {"smartnic", "dpu"},
    {"accl", "cclo"},     {"accl+", "cclo"},     {"fpga", "cclo"},      {"versal", "aie"},
    {"aiengine", "aie"},  {"quantum", "sharp"},  {"switch", "sharp"},   {"nic", "host"}};

/// "BlueField-3,sharp" becomes "dpu,sharp", with a note.
void name_backends(std::string& list) {
  std::string named;
  for (const std::string& name : CLI::detail::split(list, ',')) {
    std::string plain;
    for (const char c : CLI::detail::to_lower(name)) {
      if (c != '-' && c != ' ' && c != '_') plain += c;
    }
    const auto* const found = std::find_if(std::begin(kNicknames), std::end(kNicknames),
                                           [&](const auto& one) { return one.first == plain; });
    if (found != std::end(kNicknames))
      warn(fmt::format("note: {} is the backend {}", printable(name), found->second));
    named += (named.empty() ? "" : ",") + (found == std::end(kNicknames) ? name : std::string(found->second));
  }
  list = named;
}

/// Rewrites what launchers and earlier versions call an option.
void rename_option(const CLI::App& app, std::string& word) {
  constexpr std::pair<std::string_view, const char*> kNames[] = {{"-np", "-n"},
                                                                 {"--mpirun", "--launcher"},
                                                                 {"--mpirun-args", "--launcher-args"},
                                                                 {"--compare", "--backend"}};
  const std::size_t end = std::min(word.find('='), word.size());
  for (const auto& [other, name] : kNames) {
    const bool is_known = app.get_option_no_throw(std::string(other)) != nullptr;
    if (word.substr(0, end) == other && !is_known && app.get_option_no_throw(name) != nullptr)
      word.replace(0, end, name);
  }
}

std::string unknown_option(const CLI::App& app, const std::string& name) {
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

/// What other tools call a subcommand, and what to type instead.
constexpr std::pair<std::string_view, std::string_view> kOtherWords[] = {
    {"profile", "record"}, {"simulate", "replay FILE"}, {"why", "explain"}, {"backends", "info"},
    {"list", "info"},      {"mpirun", "run"},           {"mpiexec", "run"}};

/// The command for a word that is no subcommand. Empty if none is near.
std::string command_for(const std::string& word) {
  for (const auto& [other, command] : kOtherWords) {
    if (other == word) return fmt::format("; use offramp {}", command);
  }
  std::error_code error;
  const auto status = std::filesystem::status(word, error);
  if (word.starts_with("pattern:") || std::filesystem::exists(status)) {
    const bool is_program = std::filesystem::is_regular_file(status) && access(word.c_str(), X_OK) == 0;
    const std::string_view command = is_program ? "record -n RANKS -o FILE.rec --" : "advise";
    return fmt::format("; use offramp {} {}", command, printable(word));
  }
  return {};
}

}  // namespace

void rewrite_help_words(std::vector<std::string>& words) {
  if (words.empty()) return;
  if (words[0] == "version") words[0] = "--version";
  if (words[0] == "compare" || words[0] == "diff") words[0] = "replay";
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
  std::vector<std::string_view> names;
  for (const CommandDescription* command : registered_commands()) {
    if (!command->hidden) names.push_back(command->name);
  }
  const std::string command = command_for(words[0]);
  return fmt::format("unknown subcommand {}{}", in_quotes(words[0]),
                     command.empty() ? suggestion(words[0], names) : command);
}

std::string tidy_options(const CLI::App& app, std::vector<std::string>& words) {
  const CLI::App* const command = subcommand_named(app, words[0]);
  if (command == nullptr) return {};
  const bool runs = command->get_prefix_command();
  std::size_t at = 1;
  for (; at < words.size() && words[at] != "--"; ++at) {
    std::string& word = words[at];
    rename_option(*command, word);
    if (!word.starts_with('-') || word == "-") {
      if (runs) break;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const CLI::Option* const option = command->get_option_no_throw(name);
    if (option == nullptr && runs && pass_to_launcher(words, at)) continue;
    const bool is_letter =
        !name.starts_with("--") && command->get_option_no_throw(name.substr(0, 2)) != nullptr;
    if (option == nullptr && !is_letter) return unknown_option(*command, name);
    if (equals == std::string::npos && takes_value(option)) ++at;
    if ((name == "--backend" || name == "--compare") && at < words.size()) {
      std::string list = words[at].substr(equals == std::string::npos ? 0 : equals + 1);
      name_backends(list);
      words[at] = equals == std::string::npos ? list : name + "=" + list;
    }
  }
  if (at >= words.size() || words[at] == "--") return {};
  const std::string& program = words[at];
  if (std::find(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(), "--") != words.end()) return {};
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (!name.starts_with("--") || name == "--help" || command->get_option_no_throw(name) == nullptr)
      continue;
    warn(
        fmt::format("note: {} after {} goes to the program; put options of offramp before it (or write -- "
                    "before {} to avoid this note)",
                    name, printable(program), printable(program)));
    break;
  }
  return {};
}

}  // namespace offramp::tool
