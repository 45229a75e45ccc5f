// Subcommands register from static objects, in an order that the linker decides. So the list is created at
// the first registration and sorted by `place` at its first use. If a subcommand runs a program, its options
// end at the first word that is not an option.
#include "tools/command_line/command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "offramp/version.hpp"
#include "tools/command_line/help.hpp"
#include "tools/command_line/setup.hpp"

namespace offramp::tool {
namespace {

/// Initialised on first use, since static objects of all files register in any order.
std::vector<std::unique_ptr<const CommandDescription>>& owned() {
  static std::vector<std::unique_ptr<const CommandDescription>> all;
  return all;
}

std::vector<const CommandDescription*> in_order() {
  std::vector<const CommandDescription*> all;
  for (const auto& one : owned()) all.push_back(one.get());
  std::sort(all.begin(), all.end(), [](const CommandDescription* a, const CommandDescription* b) {
    return std::pair(a->place, a->name) < std::pair(b->place, b->name);
  });
  return all;
}

}  // namespace

std::string exit_label(int code) {
  return code == kAnyOther ? "any other" : fmt::format("{}", code);
}

std::string_view meaning_of(const ExitMeaning& exit) {
  return exit.text.empty() ? usual_meaning(exit.code) : exit.text;
}

bool is_for_lab(const CLI::Option& option) {
  constexpr std::string_view kNames[] = {"--against",        "--arrival",      "--blocked",      "--capture",
                                         "--cards-per-node", "--certificate",  "--check",        "--clock",
                                         "--events",         "--jobs",         "--hang-timeout", "--polling",
                                         "--preload",        "--route",        "--rules",        "--calls",
                                         "--timeline",       "--seconds-each", "--slow-nodes",   "--what-if"};
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return option.check_name(std::string(name)); });
}

int Command::refuse(const std::string& what) const {
  warn(fmt::format("{}; see offramp {} --help", what, app_.get_name()));
  return kUsage;
}

std::string_view usual_meaning(int code) {
  constexpr ExitMeaning kUsual[] = {
      {kDone, "success"},
      {kBroken, "the installation is incomplete, or an unexpected error occurred"},
      {kUsage, "the command line or the configuration is wrong"},
      {kNotWritten, "an output could not be written"},
      {kNotFound, "the program or the launcher was not found"}};
  for (const ExitMeaning& usual : kUsual) {
    if (usual.code == code) return usual.text;
  }
  return {};
}

const std::vector<const CommandDescription*>& registered_commands() {
  static const std::vector<const CommandDescription*> all = in_order();
  return all;
}

void register_command(CommandDescription description) {
  owned().push_back(std::make_unique<const CommandDescription>(std::move(description)));
}

CommandLine::CommandLine(bool in_lab)
    : app_("Runs unmodified MPI programs on models of communication hardware.", "offramp") {
  app_.set_help_flag("-h,--help", "print this help");  // subcommands inherit it
  app_.set_version_flag("--version", "offramp " OFFRAMP_VERSION, "print the version");
  app_.require_subcommand(1);
  app_.formatter(std::make_shared<HelpFormatter>());
  for (const CommandDescription* description : registered_commands()) {
    CLI::App* const app =
        app_.add_subcommand(std::string(description->name), std::string(description->summary));
    app->set_help_all_flag("--help-all", "describe all options");
    app->allow_extras();
    if (description->runs_program)
      app->prefix_command();  // without --, the first word that is no option begins it
    if (description->hidden) app->group("");
    entries_.push_back({description, app, description->make(*app)});
    for (CLI::Option* const option : app->get_options({})) {
      if (!in_lab && is_for_lab(*option)) option->group(std::string(kLabGroup));
    }
  }
}

const CommandLine::Entry& CommandLine::used() const {
  const CLI::App* const app = app_.get_subcommands().front();
  return *std::find_if(entries_.begin(), entries_.end(), [app](const Entry& one) { return one.app == app; });
}

const CommandDescription& CommandLine::used_description() const {
  return *used().description;
}

int CommandLine::execute(std::vector<std::string> program) try {
  return used().command->execute(std::move(program));
} catch (const Misuse& misuse) {
  warn(misuse.text);
  return kUsage;
}

}  // namespace offramp::tool
