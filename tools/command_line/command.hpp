// A subcommand is a class in its own file that registers itself. Help, manual pages, shell completion, and
// the reference in options.md are generated from the registrations.
//
//   class NewCommand final : public Command {
//    public:
//     explicit NewCommand(CLI::App& app) : Command(app) { app.add_option(...); }
//     int execute(std::vector<std::string> program) override;
//   };
//   const Registered<NewCommand> new_command({.name = "new", .place = 95, .summary = "...", ...});
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/command_line/tool.hpp"

namespace offramp::tool {

class Command {
 public:
  explicit Command(CLI::App& app) : app_(app) {}
  virtual ~Command() = default;
  Command& operator=(Command&&) = delete;

  /// Returns the exit code of the process. program: the words after the options if the subcommand runs a
  /// program, or the words after -- if it takes more; otherwise empty.
  virtual int execute(std::vector<std::string> program) = 0;

 protected:
  /// Prints an error with a pointer to the help. Returns kUsage.
  [[nodiscard]] int refuse(const std::string& what) const;
  [[nodiscard]] bool is_set(const std::string& option) const { return app_.count(option) > 0; }
  /// The whole program with all subcommands.
  [[nodiscard]] const CLI::App& whole() const { return *app_.get_parent(); }

 private:
  CLI::App& app_;
};

/// The meaning of an exit code. Without text: its usual meaning.
struct ExitMeaning {
  int code = kDone;
  std::string_view text = {};
};
/// All other codes, if the started program determines them.
inline constexpr int kAnyOther = -1;
/// The meaning of a code unless a subcommand overrides it. Empty if it has none.
std::string_view usual_meaning(int code);
/// Its own text, or else the usual meaning of its code.
std::string_view meaning_of(const ExitMeaning& exit);
/// "74", or "any other".
std::string exit_label(int code);

struct CommandDescription {
  std::string_view name;
  int place = 0;  // position in the help, ascending
  std::string_view summary;
  std::string about = {};                    // paragraphs below the options; --help shows the first
  std::vector<std::string_view> often = {};  // options in --help; empty: all
  std::vector<ExitMeaning> exits;
  bool runs_program = false;                              // a program and its arguments follow the options
  bool takes_more = false;                                // execute() receives the words after -- unchanged
  bool hidden = false;                                    // not for users
  std::unique_ptr<Command> (*make)(CLI::App&) = nullptr;  // set by Registered
};

/// A command line that shows what a subcommand is for.
struct Example {
  std::string_view command;
  std::string_view what;
};
/// The examples of a subcommand. Never empty for one that users see.
std::vector<Example> examples_of(std::string_view subcommand);

/// True for options that only those need who build models or measure Offramp. All subcommands take them;
/// `offramp lab` describes them, and the help of the others does not.
bool is_for_lab(const CLI::Option& option);
inline constexpr std::string_view kLabGroup = "Lab";  // of these options, outside of the lab

/// In the order of the help.
const std::vector<const CommandDescription*>& registered_commands();
/// Called by Registered, before main().
void register_command(CommandDescription description);

/// Registers a subcommand; define a static object in its file.
template <typename OneCommand>
struct Registered {
  explicit Registered(CommandDescription description) {
    description.make = [](CLI::App& app) -> std::unique_ptr<Command> {
      return std::make_unique<OneCommand>(app);
    };
    register_command(std::move(description));
  }
};

/// The program's command line, with the objects that store its options.
class CommandLine {
 public:
  /// in_lab: the help describes the options that are for the lab, too.
  explicit CommandLine(bool in_lab = false);
  [[nodiscard]] CLI::App& app() { return app_; }
  /// The subcommand that was parsed.
  [[nodiscard]] const CommandDescription& used_description() const;
  /// Executes the subcommand that was parsed. Returns its exit code.
  int execute(std::vector<std::string> program);

 private:
  struct Entry {
    const CommandDescription* description;
    CLI::App* app;
    std::unique_ptr<Command> command;
  };
  [[nodiscard]] const Entry& used() const;

  CLI::App app_;
  std::vector<Entry> entries_;
};

}  // namespace offramp::tool
