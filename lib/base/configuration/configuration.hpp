// Configuration: what the user asked for, read once, checked completely, before anything else happens.
//
// Later sources win: built-in defaults, offramp.toml, OFFRAMP_* variables, overrides from a command line. One
// table (configuration_keys) names every key; the backends' parameter tables add theirs. Anything that is not
// known or not allowed is an error, because a setting that is silently ignored is a wrong measurement.
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

/// What MPI_Wtime returns: the machine's time, or what a world has computed of an earlier run of the program.
enum class Clock : std::uint8_t { kWall, kSettled };
constexpr std::string_view to_string(Clock clock) {
  return clock == Clock::kSettled ? "settled" : "wall";
}

/// What the program did between questions that found nothing (recording::Gaps): it computed, it waited, or
/// it waited where the gap was brief.
enum class Polling : std::uint8_t { kThreshold, kWork, kWait };
constexpr std::string_view to_string(Polling polling) {
  return polling == Polling::kThreshold ? "threshold" : polling == Polling::kWork ? "work" : "wait";
}

/// How CPU time between MPI calls moves the host clock: not at all, as measured, or measured times a factor.
struct Compute {
  enum class Kind : std::uint8_t { kNone, kMeasured, kFactor };
  Kind kind = Kind::kNone;
  double factor = 1;
  Polling polling = Polling::kThreshold;
};

/// Whose algorithm computes the results of reductions. Modelled time is that of the hardware's either way.
enum class Reductions : std::uint8_t { kHardware, kNative };

/// One [[route]]: the first that matches wins. Limits are inclusive, sizes in bytes as in Operation.
struct Route {
  std::optional<OperationKind> operation;  // nothing: any
  std::size_t min_bytes = 0;
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
  int min_ranks = 0;
  int max_ranks = std::numeric_limits<int>::max();
  std::string backend;
  std::string origin;  // where it begins: "offramp.toml:7"

  /// index: of the backend with this name among those of the run.
  [[nodiscard]] RouteRule rule(std::uint8_t index) const {
    return {.operation = operation.value_or(OperationKind::kCount),
            .min_bytes = min_bytes,
            .max_bytes = max_bytes,
            .min_ranks = min_ranks,
            .max_ranks = max_ranks,
            .backend = index};
  }
};

/// Calls of a rank by number, from 1 on. The last one counts too; none: first is 0.
struct CallRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  [[nodiscard]] bool any() const { return first != 0; }
  [[nodiscard]] bool contains(std::uint64_t call) const { return any() && call >= first && call <= last; }
};

/// "none", "all", a call ("127"), or several ("100-200"). Nothing: it is none of these.
std::optional<CallRange> parse_calls(std::string_view text);

/// [machine]: what every backend stands on, as far as its hardware has nodes.
struct MachineOptions {
  int nodes = 0;           // 0: as many as the ranks take
  int ranks_per_node = 0;  // 0: what the nodes' number says, or 1
  int sockets_per_node = 1;
  int cards_per_node = 1;
  int links_per_card = 1;

  [[nodiscard]] MachineLayout layout(int ranks) const;
  /// A failure if the machine has too few nodes for so many ranks.
  [[nodiscard]] Result<void> fits(int ranks) const;
};

struct Configuration {
  static constexpr std::string_view kOff = "off";

  std::string backend{baseline_name()};  // a name in the registry, or "off"
  std::vector<std::string> compared;     // for which the run is settled too; see settled_backends()
  Clock clock = Clock::kWall;
  Compute compute;
  Reductions reductions = Reductions::kHardware;
  std::vector<Route> routes;
  NetworkOptions network;
  StragglerOptions stragglers;
  FaultRates faults;
  std::string fault_script;  // its text, which may have come from a file
  std::string fault_record;  // a path; empty: none
  MachineOptions machine;
  double hang_timeout = 0;  // seconds; 0: never
  std::string report;       // paths; empty: none
  std::string record;
  bool joins_parts = true;  // of a recording, into one file
  std::string trace;
  std::string capture;
  std::string times;  // with clock = settled: what MPI_Wtime says
  CallRange receipts;
  std::string plugin_path;
  bool summary = true;
  bool certificate = false;  // hash calls, times and data
  bool details = false;      // units and critical path, for the report
  /// Events of all ranks up to which a run is settled at MPI_Finalize: a world computes its modelled times. A
  /// longer one leaves its recording beside the report.
  std::uint64_t settle_limit = 20'000'000;

  std::string file;                         // the file that was read; empty: none
  std::size_t file_keys = 0;                // that it sets
  std::vector<std::string> variables;       // of the environment that were read
  std::vector<std::string> notes;           // what the user should know although nothing is wrong
  std::map<std::string, Section> sections;  // by backend
  Section written;                          // the general keys that a source has set, by path

  [[nodiscard]] bool off() const { return backend == kOff; }
  /// The program is recorded, and the MPI library carries all that it does.
  [[nodiscard]] bool records_only() const { return off() && !record.empty(); }

  /// The backends whose modelled times the run has: first the one that carries the data. When others are
  /// compared, the host is always among them.
  [[nodiscard]] std::vector<std::string> settled_backends() const;
  /// They and those that routes name, each once.
  [[nodiscard]] std::vector<std::string> backends_in_use() const;

  /// The values of a backend's parameters. Cannot fail for a registered backend once load_configuration
  /// succeeded.
  Result<Settings> settings_for(const BackendDescription& description) const;
};

/// A setting from a command line; key as in the file ("clock", "zrlmpi.preset"), origin for messages.
/// backends: those that the command line names, whose parameters may be named alone ("preset"); all that have
/// one of that name get it. The key "route" has a whole route for value: "bcast:0-64KiB=tinsel".
struct Override {
  std::string key;
  std::string value;
  std::string origin;
  std::vector<std::string> backends = {};
};

/// The whole keys that an override means. A name that is a general key and a parameter of the one backend
/// that has it ("clock") is the parameter's if its value fits that. in_use: the backends to which a parameter
/// belongs if the override names none.
std::vector<std::string> resolved_keys(const Override& override, const Registry& registry,
                                       const std::vector<std::string>& in_use);

/// What load_configuration looks at, so that tests need not touch the process.
struct Surroundings {
  std::map<std::string, std::string> environment;  // only names that begin with OFFRAMP_ matter
  std::string directory = ".";                     // where offramp.toml is looked for
  std::vector<Override> overrides;
  bool privileged = false;  // setuid or setgid: ignore everything and stay out of the way

  static Surroundings of_process();
};

/// Reads and checks everything, loading the plugins that the configuration asks for into the registry. A file
/// found in the directory is used when it belongs to the user or root and not everybody may write it;
/// otherwise a note says so. A privileged program gets backend "off". Call once, from one thread.
Result<Configuration> load_configuration(const Surroundings& surroundings, Registry& registry);

/// A value in force and where it comes from: "default", "offramp.toml:3", "OFFRAMP_CLOCK", or "option
/// (OFFRAMP_CLOCK)" for what offramp run was told.
struct SettingInForce {
  std::string key;    // "clock", "cclo.link", "route 1"
  std::string value;  // with its unit
  std::string source;
  [[nodiscard]] bool is_default() const { return source == "default"; }
};

/// All general keys, routes, and the parameters of every backend that is settled or routed to.
std::vector<SettingInForce> settings_in_force(const Configuration& configuration, const Registry& registry);

/// Where settings come from besides defaults and options: "settings: offramp.toml (3 keys), OFFRAMP_CLOCK";
/// empty: nowhere.
std::string settings_read(const Configuration& configuration);

/// What all ranks must have alike, as one text to compare: the values of the keys that the table says so of,
/// the routes, and what is written in the sections of the backends.
std::string agreed_settings(const Configuration& configuration);

/// Parameters that the user has set and that have no effect or next to none, each with what limits or decides
/// instead.
std::vector<std::string> settings_without_effect(const Configuration& configuration,
                                                 const BackendDescription& description);
/// The same of general keys: those of a network and of stragglers that other keys decide.
std::vector<std::string> settings_without_effect(const Configuration& configuration);
/// The same of parameters that --set has given to hardware other than that named and what routes name.
std::vector<std::string> settings_of_others(const Configuration& configuration,
                                            const std::vector<std::string>& names);

/// One row of the table of keys. A key without a variable can only stand in a file, one without a path only
/// in the environment. default_text and allowed are for people; quoted says whether the file wants the value
/// in quotes.
struct Key {
  std::string_view path;  // "clock", "faults.loss", "route.operation"
  std::string_view variable;
  std::string_view default_text;
  bool quoted;
  std::string_view allowed;
  std::string_view description;
  std::string_view unit = {};  // of a number without one
};
std::span<const Key> configuration_keys();

/// What a key allows, with the names of the backends that there are.
std::string allowed_text(const Key& key, const Registry& registry);

/// Every key that can be set from outside a file, with its variable: the table's and all backends'
/// parameters.
std::map<std::string, std::string> variables_by_key(const Registry& registry);

}  // namespace offramp
