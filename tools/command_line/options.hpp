// Options that several subcommands share, each declared once, so that name, help, and meaning agree.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "tools/command_line/records.hpp"

namespace offramp::tool {

/// Groups of options that set configuration keys.
enum class KeyGroup : std::uint8_t {
  kSettings,    // --set, --config
  kMachine,     // --nodes, --ranks-per-node, --cards-per-node
  kNetwork,     // --network
  kStragglers,  // --noise, --slow-nodes
  kComputing,   // --blocked, --polling; --compute differs in replays
  kDetails,     // --details
  kRun,         // options of a run: its clock, its files
};

/// kAbsolute: resolves paths at once, because the ranks may start in another folder.
enum class Paths : std::uint8_t { kAsGiven, kAbsolute };

class KeyOptions {
 public:
  KeyOptions(CLI::App& app, std::initializer_list<KeyGroup> groups, Paths paths = Paths::kAsGiven);

  /// Adds the given settings in the order in which they apply. backends: those named on the command line, for
  /// parameters without a backend. Returns the first invalid --set, or an empty string.
  std::string collect(const std::vector<std::string>& backends, std::vector<Override>& overrides);

 private:
  struct Value {
    std::size_t option;  // index in the table
    std::string text;
  };
  CLI::App& app_;
  Paths paths_;
  std::vector<Value> values_;
  std::vector<std::string> settings_;
};

/// The groups that describe a machine, for all subcommands that simulate.
inline constexpr std::initializer_list<KeyGroup> kWorldKeys = {KeyGroup::kSettings, KeyGroup::kNetwork,
                                                               KeyGroup::kMachine, KeyGroup::kStragglers};

/// Like --set for texts KEY=VALUE. See KeyOptions::collect. Returns the first invalid text, or "".
std::string add_settings(const std::vector<std::string>& settings, const std::vector<std::string>& backends,
                         std::vector<Override>& overrides);

// Checks of an option's value. The messages quote the value and name what is allowed.
/// A whole number from `least` to `most`.
CLI::Validator whole_number(std::int64_t least, std::int64_t most = INT64_MAX);
/// A number from `least` to `most`, without a unit.
CLI::Validator plain_number(double least, double most);
/// One of these words.
CLI::Validator one_of(std::vector<std::string> allowed);

/// Adds an option with a value. type: the name of the value in the help, such as FILE.
template <typename Value>
CLI::Option* add_value(CLI::App& app, const char* names, Value& value, const char* type,
                       std::string description) {
  return app.add_option(names, value, std::move(description))->type_name(type);
}

/// A key's description in the table of keys.
std::string description_of(std::string_view key);
/// Splits and joins lists: "a,b" and "c" become a, b, c.
std::vector<std::string> names_in(std::initializer_list<std::string> lists);

// Hardware.
/// --backend with several names.
void add_backends(CLI::App& app, std::vector<std::string>& backends);
/// Each name once, in order.
std::vector<std::string> without_repeats(const std::vector<std::string>& backends);

// Launcher and number of ranks.
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

/// --jobs: threads of a sweep.
void add_jobs(CLI::App& app, int& threads);

/// The recordings in a folder, sorted by name. Empty if it is not a folder of recordings.
std::vector<std::string> recordings_in(const std::string& folder);

// Output.
CLI::Option* add_json(CLI::App& app, bool& json);
/// --csv, which excludes --json.
void add_csv(CLI::App& app, bool& csv, CLI::Option* json);
void add_svg(CLI::App& app, std::string& file, const char* description = "plot into this file, as SVG");
/// --html
void add_html(CLI::App& app, std::string& file);
/// --trace, --capture
void add_records(CLI::App& app, RecordOptions& records);
/// --partial: accepts incomplete recordings.
void add_partial(CLI::App& app, bool& partial);
/// --check: verifies the invariants of a simulation.
void add_check(CLI::App& app, bool& check);

}  // namespace offramp::tool
