// Configuration: the user's settings, read once and checked completely before anything else happens.
//
// Later sources win: built-in defaults, offramp.toml, OFFRAMP_* variables, overrides from a command line. The
// table in configuration_keys has all general keys; the backends' parameter tables add theirs. Unknown keys
// and invalid values are errors, because silently ignoring a setting would falsify the measurement.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "offramp/model/backend.hpp"
#include "simulators/network/make_network.hpp"
#include "simulators/world/routing.hpp"
#include "simulators/world/stragglers.hpp"

namespace offramp {

/// The result of MPI_Wtime: wall-clock time, or the modelled time of an earlier run of the program.
enum class Clock : std::uint8_t { kWall, kSettled };
/// As in the file.
constexpr std::string_view to_string(Clock clock) {
  return clock == Clock::kSettled ? "settled" : "wall";
}

/// The meaning of CPU time between failed polls (recording::Gaps): work of the program, waiting, or waiting
/// if the gap is brief.
enum class Polling : std::uint8_t { kThreshold, kWork, kWait };
constexpr std::string_view to_string(Polling polling) {
  return polling == Polling::kThreshold ? "threshold" : polling == Polling::kWork ? "work" : "wait";
}

/// The effect of recorded times on the host clock: none, as measured, or scaled. See recording::Times.
struct Compute {
  /// kFactor: CPU time is multiplied by `factor`.
  enum class Mode : std::uint8_t { kNone, kMeasured, kFactor };
  Mode kind = Mode::kNone;
  double factor = 1;   // of CPU time
  double blocked = 1;  // of blocked time
  double native = 1;   // of calls without a model
  Polling polling = Polling::kThreshold;
};

/// The algorithm that computes reduction results. Modelled time is the hardware's in either case.
enum class Reductions : std::uint8_t { kHardware, kNative };

/// One [[route]]; the first match wins. Limits are inclusive; sizes are in bytes as in Operation.
struct Route {
  std::optional<OperationKind> operation;  // nullopt: any
  std::size_t min_bytes = 0;
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
  int min_ranks = 0;
  int max_ranks = std::numeric_limits<int>::max();
  std::string backend;
  std::string origin;  // place of its first line: "offramp.toml:7"

  /// index: the position of `backend` among the backends of the run.
  [[nodiscard]] RouteRule rule(std::uint8_t index) const {
    return {.operation = operation.value_or(OperationKind::kCount),
            .min_bytes = min_bytes,
            .max_bytes = max_bytes,
            .min_ranks = min_ranks,
            .max_ranks = max_ranks,
            .backend = index};
  }
};

/// A range of a rank's call numbers, inclusive, from 1. Empty if first is 0.
struct CallRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  [[nodiscard]] bool any() const { return first != 0; }
  /// call: counted per rank from 1.
  [[nodiscard]] bool contains(std::uint64_t call) const { return any() && call >= first && call <= last; }
};

/// Parses "none", "all", a call ("127"), or a range ("100-200"). nullopt for other texts.
std::optional<CallRange> parse_calls(std::string_view text);

/// [machine]: the nodes used by every backend whose hardware has nodes.
struct MachineOptions {
  int nodes = 0;           // 0: as many as the ranks need
  int ranks_per_node = 0;  // 0: derived from `nodes`, or 1
  int sockets_per_node = 1;
  int cards_per_node = 1;
  int links_per_card = 1;

  /// ranks: of the program.
  [[nodiscard]] MachineLayout layout(int ranks) const;
  /// Fails if the machine has too few nodes for this number of ranks.
  [[nodiscard]] Result<void> fits(int ranks) const;
};

/// Immutable once loaded, so any thread may read it.
struct Configuration {
  /// Not a backend: the MPI library carries everything.
  static constexpr std::string_view kOff = "off";

  std::string backend{baseline_name()};  // a name in the registry, or "off"
  std::vector<std::string> compared;     // backends that are settled, too; see settled_backends()
  Clock clock = Clock::kWall;
  Compute compute;
  Reductions reductions = Reductions::kHardware;
  std::vector<Route> routes;
  NetworkOptions network;
  StragglerOptions stragglers;
  FaultRates faults;
  std::string fault_script;  // text of the script, possibly read from a file
  std::string fault_record;  // a path; empty: none
  MachineOptions machine;
  double hang_timeout = 0;  // seconds; 0: never
  std::string report;       // paths; empty: none
  std::string record;
  bool joins_parts = true;  // join the parts of a recording into one file
  std::string trace;
  std::string capture;
  std::string times;  // with clock = settled: file with the results of MPI_Wtime
  CallRange receipts;
  std::string plugin_path;
  bool summary = true;
  bool certificate = false;  // hash calls, times, and data
  bool details = false;      // units and critical path, for the report
  /// A run of at most this many events over all ranks is settled at MPI_Finalize: a world computes its
  /// modelled times. A longer run leaves its recording beside the report.
  std::uint64_t settle_limit = 20'000'000;

  std::string file;                         // configuration file; empty: none
  std::size_t file_keys = 0;                // number of keys that it sets
  std::vector<std::string> variables;       // environment variables that were used
  std::vector<std::string> notes;           // remarks for the user about a valid configuration
  std::map<std::string, Section> sections;  // by backend
  Section written;                          // general keys set by any source, by path

  /// The MPI library carries everything, and nothing is modelled.
  [[nodiscard]] bool off() const { return backend == kOff; }
  /// True if the MPI library carries all operations and the program is recorded.
  [[nodiscard]] bool records_only() const { return off() && !record.empty(); }

  /// The backends with modelled times, starting with the one that carries the data. If others are compared,
  /// the host is always included.
  [[nodiscard]] std::vector<std::string> settled_backends() const;
  /// The settled backends and those of routes, without duplicates.
  [[nodiscard]] std::vector<std::string> backends_in_use() const;

  /// The values of a backend's parameters. Always succeeds for a registered backend after
  /// load_configuration().
  Result<Settings> settings_for(const BackendDescription& description) const;
};

/// A setting from a command line. key: as in the file ("clock", "zrlmpi.preset"). origin: for messages.
/// backends: those on the command line; each of them that has a parameter named `key` gets the value. The key
/// "route" has a whole route as its value: "bcast:0-64KiB=tinsel".
struct Override {
  std::string key;
  std::string value;
  std::string origin;
  std::vector<std::string> backends = {};
};

/// The full keys of an override. If the name is both a general key and a parameter of exactly one of the
/// backends ("clock"), it is the parameter if the value is valid for that. in_use: the backends to search if
/// the override names none.
std::vector<std::string> resolved_keys(const Override& override, const Registry& registry,
                                       const std::vector<std::string>& in_use);

/// The inputs of load_configuration(), so that tests are independent of the process.
struct ConfigSources {
  std::map<std::string, std::string> environment;  // only names that begin with OFFRAMP_ are used
  std::string directory = ".";                     // folder of offramp.toml
  std::vector<Override> overrides;
  bool privileged = false;  // setuid or setgid: ignore all settings

  /// The environment of this process. Also decides whether it is privileged.
  static ConfigSources of_process();
};

/// Reads and checks everything, and loads the configured plugins into the registry. A file in the directory
/// is used if it belongs to the user or root and is not writable by everybody; otherwise a note explains why
/// not. A privileged program gets backend "off". Call once, from one thread.
Result<Configuration> load_configuration(const ConfigSources& config_sources, Registry& registry);

/// An effective value and its source: "default", "offramp.toml:3", "OFFRAMP_CLOCK", or "option
/// (OFFRAMP_CLOCK)" for an option of offramp run.
struct SettingInForce {
  std::string key;    // "clock", "cclo.link", "route 1"
  std::string value;  // with its unit
  std::string source;
  /// True if no source has set the value.
  [[nodiscard]] bool is_default() const { return source == "default"; }
};

/// All general keys, routes, and the parameters of every backend that is settled or routed to.
std::vector<SettingInForce> settings_in_force(const Configuration& configuration, const Registry& registry);

/// The sources of settings besides defaults and options: "settings: offramp.toml (3 keys), OFFRAMP_CLOCK".
/// Empty if there are none.
std::string settings_read(const Configuration& configuration);

/// The settings that must be equal on all ranks, as one text: keys marked so in the table, routes, and the
/// sections of the backends.
std::string agreed_settings(const Configuration& configuration);

/// The user's parameters with little or no effect, each with the actual limit.
std::vector<std::string> settings_without_effect(const Configuration& configuration,
                                                 const BackendDescription& description);
/// As above, for general keys: those of a network and of stragglers that other keys override.
std::vector<std::string> settings_without_effect(const Configuration& configuration);
/// As above, for --set parameters of hardware that is neither in `names` nor in a route.
std::vector<std::string> settings_of_others(const Configuration& configuration,
                                            const std::vector<std::string>& names);

/// One row of the table of keys. A key without a variable can be set in a file only, a key without a path in
/// the environment only. default_text and allowed are for display. quoted: the file needs quotes around the
/// value.
struct Key {
  std::string_view path;  // "clock", "faults.loss", "route.operation"
  std::string_view variable;
  std::string_view default_text;
  bool quoted;
  std::string_view allowed;
  std::string_view description;
  std::string_view unit = {};  // assumed for a number without a unit
};
/// In the order in which they are listed to users. Valid until the process ends.
std::span<const Key> configuration_keys();

/// The allowed values of a key, including the names of the registered backends.
std::string allowed_text(const Key& key, const Registry& registry);

/// Every key that has an environment variable, with that variable: general keys and all backends' parameters.
std::map<std::string, std::string> variables_by_key(const Registry& registry);

}  // namespace offramp
