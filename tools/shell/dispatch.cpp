// The `offramp` command: parses the command line and calls the subcommand.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "lib/base/output_file.hpp"
#include "lib/base/text_format.hpp"
#include "tools/command_line/command.hpp"
#include "tools/command_line/memory_need.hpp"
#include "tools/shell/unknown_word.hpp"

namespace offramp::tool {
namespace {

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
