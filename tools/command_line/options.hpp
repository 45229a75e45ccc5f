// Options that several subcommands have, each declared once: the same name, help and meaning wherever it is.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "tools/command_line/records.hpp"
#include "tools/command_line/sharing.hpp"

namespace offramp::tool {

/// Options that set keys of the configuration, in groups.
enum class KeyGroup : std::uint8_t {
  kSettings,    // --set, --config
  kMachine,     // --nodes, --ranks-per-node, --cards-per-node
  kNetwork,     // --network
  kStragglers,  // --noise, --slow-nodes
  kComputing,   // --polling; --compute has other words in a replay
  kDetails,     // --details
  kRun,         // what only a run has: its clock, its files
};

/// Ranks may be started in another folder than the command: for them paths become absolute.
enum class Paths : std::uint8_t { kAsGiven, kAbsolute };

class KeyOptions {
 public:
  KeyOptions(CLI::App& app, std::initializer_list<KeyGroup> groups, Paths paths = Paths::kAsGiven);

  /// Adds what was given, in the order in which it applies. backends: those that the command line names, to
  /// which parameters without a backend belong. Returns the first --set that is none, or nothing.
  std::string collect(const std::vector<std::string>& backends, std::vector<Override>& overrides);

 private:
  struct Value {
    std::size_t option;  // of the table
    std::string text;
  };
  CLI::App& app_;
  Paths paths_;
  std::vector<Value> values_;
  std::vector<std::string> settings_;
};

/// Where every subcommand that simulates asks about a machine.
inline constexpr std::initializer_list<KeyGroup> kWorldKeys = {KeyGroup::kSettings, KeyGroup::kNetwork,
                                                               KeyGroup::kMachine, KeyGroup::kStragglers};

/// KEY=VALUE each, as with --set. backends: as in KeyOptions::collect. Returns the first that is none, or
/// nothing.
std::string add_settings(const std::vector<std::string>& settings, const std::vector<std::string>& backends,
                         std::vector<Override>& overrides);

/// What the table of keys says of one.
std::string description_of(std::string_view key);
/// "a,b" and "c": a, b, c.
std::vector<std::string> names_in(std::initializer_list<std::string> lists);

// Which hardware.
/// --backend, with several names.
void add_backends(CLI::App& app, std::vector<std::string>& backends);
/// --compare, which adds to --backend.
void add_compared(CLI::App& app, std::vector<std::string>& backends);
/// Each name once.
std::vector<std::string> together(std::vector<std::string> backends,
                                  const std::vector<std::string>& compared);

// What starts and how many.
CLI::Option* add_ranks(CLI::App& app, int& ranks, const char* description = "number of processes",
                       int least = 1);
/// --launcher, --launcher-args
class LauncherOptions {
 public:
  explicit LauncherOptions(CLI::App& app);
  [[nodiscard]] const std::string& launcher() const { return launcher_; }
  [[nodiscard]] std::vector<std::string> arguments() const;

 private:
  std::string launcher_;
  std::vector<std::string> arguments_;
};

/// --jobs, --shard, and --merge: how a sweep is shared out.
void add_sharing(CLI::App& app, Sharing& sharing);
/// What is wrong if there is no sweep; empty: nothing.
std::string sharing_problem(const Sharing& sharing);

// What comes out.
CLI::Option* add_json(CLI::App& app, bool& json);
/// Excludes --json.
void add_csv(CLI::App& app, bool& csv, CLI::Option* json);
void add_svg(CLI::App& app, std::string& file, const char* description = "plot into this file, as SVG");
void add_html(CLI::App& app, std::string& file);
/// --trace, --capture
void add_records(CLI::App& app, RecordOptions& records);
/// --partial: of recordings that are not whole.
void add_partial(CLI::App& app, bool& partial);
/// --check: the invariants of a simulation.
void add_check(CLI::App& app, bool& check);

}  // namespace offramp::tool
