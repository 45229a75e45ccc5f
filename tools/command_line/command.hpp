// A subcommand: each is a class in a file of its own, which registers itself. Help, manual pages, shell
// completion and the reference in options.md are made from what is registered.
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
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Returns the process's exit code. program: what stands behind the options, where it runs one,
  /// or the words behind --, where it takes more; else empty.
  virtual int execute(std::vector<std::string> program) = 0;

 protected:
  /// Complains, and points to the help.
  [[nodiscard]] int refuse(const std::string& what) const;
  [[nodiscard]] bool is_set(const std::string& option) const { return app_.count(option) > 0; }
  /// The whole program, with all subcommands.
  [[nodiscard]] const CLI::App& whole() const { return *app_.get_parent(); }

 private:
  CLI::App& app_;
};

/// What an exit code means. Without a text of its own: what it means everywhere.
struct ExitMeaning {
  int code = kDone;
  std::string_view text = {};
};
/// Stands for every other code, where a program that was run decides.
inline constexpr int kAnyOther = -1;
/// What the code means where a subcommand says nothing else; empty: nothing.
std::string_view usual_meaning(int code);
std::string_view meaning_of(const ExitMeaning& exit);
/// "74"; "any other"
std::string exit_label(int code);

struct CommandDescription {
  std::string_view name;
  int place = 0;  // in the help: lower ones come first
  std::string_view summary;
  std::string about = {};                    // text below the options, paragraphs apart; --help has the first
  std::vector<std::string_view> often = {};  // the options of --help; empty: all
  std::vector<ExitMeaning> exits;
  bool runs_program = false;  // a program and its arguments stand behind the options
  bool takes_more = false;    // execute() gets the words behind -- as they are
  bool hidden = false;        // not for users
  std::unique_ptr<Command> (*make)(CLI::App&) = nullptr;  // set by Registered
};

/// In the order of the help.
const std::vector<const CommandDescription*>& registered_commands();
void register_command(CommandDescription description);

/// A static object of the subcommand's file.
template <typename OneCommand>
struct Registered {
  explicit Registered(CommandDescription description) {
    description.make = [](CLI::App& app) -> std::unique_ptr<Command> {
      return std::make_unique<OneCommand>(app);
    };
    register_command(std::move(description));
  }
};

/// The command line of the program, with the objects that its options belong to.
class CommandLine {
 public:
  CommandLine();
  [[nodiscard]] CLI::App& app() { return app_; }
  /// The subcommand that the parsed words name.
  [[nodiscard]] const CommandDescription& used_description() const;
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
