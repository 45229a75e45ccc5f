// The `offramp` command: corrects words of the command line or suggests others, parses it, and calls the
// subcommand.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

#include "lib/base/output_file.hpp"
#include "lib/base/text_format.hpp"
#include "tools/command_line/catalogue.hpp"
#include "tools/command_line/command.hpp"
#include "tools/command_line/memory_need.hpp"

namespace offramp::tool {
namespace {

// --- words before CLI11 parses them ---

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
    std::string plain = CLI::detail::to_lower(name);
    std::erase_if(plain, [](char c) { return c == '-' || c == ' ' || c == '_'; });
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

/// Accepts `offramp help run` and `offramp version`, which other programs have.
void rewrite_help_words(std::vector<std::string>& words) {
  if (words.empty()) return;
  if (words[0] == "version") words[0] = "--version";
  if (words[0] == "compare" || words[0] == "diff") words[0] = "replay";
  if (words[0] != "help") return;
  words.erase(words.begin());
  words.resize(std::min<std::size_t>(words.size(), 1));
  words.emplace_back("--help");
}

/// An error about the first word. Empty if it is valid.
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

/// Rewrites words of mpirun (-np 2, --bind-to core) and common names of hardware (--backend BlueField-3), and
/// warns if an option of offramp follows the program. Returns an error about the first unknown option before
/// the program, with a suggestion. Empty if there is none.
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
    if (equals == std::string::npos && option != nullptr && option->get_items_expected_max() > 0) ++at;
    if ((name == "--backend" || name == "--compare") && at < words.size()) {
      std::string list = words[at].substr(equals == std::string::npos ? 0 : equals + 1);
      name_backends(list);
      words[at] = equals == std::string::npos ? list : fmt::format("{}={}", name, list);
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

// --- parsing, and errors of CLI11 in other words ---

std::string lower_first(std::string text) {
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

/// An error if the subcommand lacks a positional argument: "FILE|PATTERN is missing". Empty if it lacks an
/// option, since CLI11's messages name those.
std::string missing_argument(const CLI::App& app) {
  for (const CLI::App* const used : app.get_subcommands()) {
    for (const CLI::Option* const option : used->get_options()) {
      if (option->get_positional() && option->get_required() && option->count() == 0)
        return fmt::format("{} is missing", option->get_type_name());
    }
  }
  return {};
}

/// An error if an option lacks its value. CLI11's own: "--backend: 1 required BACKEND missing".
std::string missing_value(const CLI::App& app, const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  for (const CLI::App* const used : app.get_subcommands()) {
    const CLI::Option* const option = used->get_option_no_throw(name);
    if (option != nullptr && text.ends_with(" missing"))
      return fmt::format("{} needs a value: {}", name, option->get_type_name());
  }
  return lower_first(text);
}

int refuse(const std::string& problem) {
  warn(problem);
  return kUsage;
}

/// Passes on the words after the subcommand's options: after --, or from the first word that is no option.
int execute(CommandLine& line, const CLI::App& used, std::vector<std::string> behind_dashes) {
  std::vector<std::string> rest = used.remaining();
  const CommandDescription& command = line.used_description();
  if (!command.runs_program) {
    limit_memory();
    if (command.takes_more && rest.empty()) return line.execute(std::move(behind_dashes));
    rest.insert(rest.end(), behind_dashes.begin(), behind_dashes.end());
    if (!rest.empty()) return refuse(fmt::format("unexpected argument {}", in_quotes(rest.front())));
    return line.execute({});
  }
  const std::string help = fmt::format("; see offramp {} --help", command.name);
  if (!rest.empty() && !behind_dashes.empty())
    return refuse(fmt::format("unexpected argument {}{}", in_quotes(rest.front()), help));
  std::vector<std::string> program = behind_dashes.empty() ? std::move(rest) : std::move(behind_dashes);
  return program.empty() ? refuse("there is no program to run" + help) : line.execute(std::move(program));
}

int dispatch(std::vector<std::string> words) {
  const bool in_lab = words.size() > 1 && words[0] == "lab" && !words[1].starts_with('-');
  if (in_lab) words.erase(words.begin());
  CommandLine line(in_lab);
  CLI::App& app = line.app();
  rewrite_help_words(words);
  if (const std::string problem = unknown_subcommand(app, words); !problem.empty()) return refuse(problem);
  if (const std::string problem = tidy_options(app, words); !problem.empty()) return refuse(problem);
  // CLI11 must not see the program's own options.
  const auto dashes = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> behind_dashes(dashes == words.end() ? dashes : dashes + 1, words.end());
  words.erase(dashes, words.end());
  const std::string help = "offramp " + (words[0].starts_with('-') ? "" : words[0] + " ") + "--help";
  std::reverse(words.begin(), words.end());  // CLI11 expects the reverse order
  try {
    app.parse(words);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::RequiredError& e) {
    const std::string missing = missing_argument(app);
    return refuse(fmt::format("{}; see {}", missing.empty() ? lower_first(e.what()) : missing, help));
  } catch (const CLI::ArgumentMismatch& e) {
    return refuse(fmt::format("{}; see {}", missing_value(app, e.what()), help));
  } catch (const CLI::ParseError& e) {
    return refuse(fmt::format("{}; see {}", lower_first(e.what()), help));
  }
  return execute(line, *app.get_subcommands().front(), std::move(behind_dashes));
}

int first_flush_error = 0;

int standard_output_lost(int error) {
  if (first_flush_error != 0) error = first_flush_error;
  warn(error == 0 ? "cannot write to standard output"
                  : fmt::format("cannot write to standard output: {}", std::strerror(error)));
  return kNotWritten;
}

/// Ends the process from any thread, which an exception cannot. The message needs no memory.
[[noreturn]] void on_no_memory() {
  constexpr std::string_view kLine =
      "offramp: out of memory; use fewer ranks, fewer bytes, or fewer events\n";
  (void)!write(STDERR_FILENO, kLine.data(), kLine.size());
  unlink_unfinished();
  _exit(kBroken);
}

/// Turns a file beyond `ulimit -f` into an error of write() (EFBIG). Programs started from here have the
/// default signal action, because a handler does not survive exec().
void survive_limit_of_file_sizes() {
  struct sigaction old {};
  if (sigaction(SIGXFSZ, nullptr, &old) == 0 && old.sa_handler == SIG_DFL)
    (void)std::signal(SIGXFSZ, [](int) {});
}

}  // namespace

void flush_output() {
  if (std::fflush(stdout) != 0 && first_flush_error == 0) first_flush_error = errno;
}

int run_command_line(const std::vector<std::string>& words) {
  std::set_new_handler(on_no_memory);
  survive_limit_of_file_sizes();
  try {
    const int code = dispatch(words);
    flush_output();
    return first_flush_error == 0 && std::ferror(stdout) == 0 ? code : standard_output_lost(0);
  } catch (const std::system_error& e) {
    if (std::ferror(stdout) != 0) return standard_output_lost(e.code().value());
    warn(e.what());
    return kBroken;
  } catch (const std::bad_alloc&) {
    on_no_memory();
  } catch (const std::exception& e) {
    warn(e.what());
    return kBroken;
  }
}

}  // namespace offramp::tool
