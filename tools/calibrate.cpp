// offramp calibrate. The measuring program (measure.c) runs natively under mpirun. What it times directly
// becomes a parameter directly; latencies and bandwidths are found with the host backend itself, so that its
// messages take what was measured. Messages between two ranks of a node say nothing of the NIC: they become
// the parameters of memory, and only messages between nodes become those of the NIC.
// offramp calibrate: measures the MPI library of this machine and writes a section [host] fitted to it.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "lib/configuration/names.hpp"
#include "lib/configuration/registry.hpp"
#include "lib/replay/forecast.hpp"
#include "lib/report/words.hpp"
#include "tools/child.hpp"
#include "tools/command.hpp"
#include "tools/launcher.hpp"
#include "tools/options.hpp"
#include "tools/progress.hpp"
#include "tools/setup.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {
namespace {

struct CalibrateOptions {
  int ranks = 2;
  double seconds = 0.05;  // for each figure
  std::string output;     // a file for the section; empty: standard output, after the tables
  bool json = false;
  std::string mpirun;  // as RunOptions
  std::vector<std::string> mpirun_arguments;
};

using Json = nlohmann::ordered_json;

struct Measured {
  std::string place;  // as measure.c says it
  std::string name;
  std::size_t bytes = 0;
  double seconds = 0;
};

struct Measurement {
  std::vector<Measured> figures;
  int ranks = 0;
  int nodes = 0;
  int ranks_per_node = 0;  // 0: not placed as the model places them

  [[nodiscard]] bool has(std::string_view place) const {
    return std::any_of(figures.begin(), figures.end(),
                       [&](const Measured& one) { return one.place == place; });
  }
};

/// A measured time beside that of the fitted host.
struct Comparison {
  Measured measured;
  double modelled = 0;  // s
  bool fitted = false;  // to this figure

  [[nodiscard]] double error() const { return modelled / measured.seconds - 1; }
};

constexpr std::size_t kLarge = 65536;  // from here on messages tell the bandwidth

Measurement measure(const CalibrateOptions& options, int& code) {
  const auto launcher = find_launcher(options.mpirun, kMpiFamily);
  if (!launcher) {
    complain(launcher.error());
    code = kNotFound;
    return {};
  }
  const std::string program = helper_path("offramp-measure");
  if (program.empty()) {
    complain("cannot find offramp-measure beside this installation");
    code = kBroken;
    return {};
  }
  const bool too_many = options.ranks > core_count() && options.mpirun_arguments.empty();
  const LaunchedCommand launch = launch_line(*launcher, options.ranks, too_many, {}, options.mpirun_arguments,
                                             {program, fmt::format("{}", options.seconds)});
  for (const auto& [name, value] : launch.environment) setenv(name.c_str(), value.c_str(), 1);
  constexpr double kFigures = 60;  // at most, each with its first turns
  const ProgressLine progress;
  progress.say("measuring with {} ranks", options.ranks);
  const ChildResult child = run_child(launch.words, 120 + 20 * kFigures * options.seconds);
  Measurement found{{}, options.ranks};
  std::istringstream lines(child.output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string word;
    Measured one;
    fields >> word;
    if (word == "placed") fields >> found.nodes >> found.ranks_per_node;
    if (word == "measured" && fields >> one.place >> one.name >> one.bytes >> one.seconds)
      found.figures.push_back(one);
  }
  if (child.status != 0 || found.figures.empty()) {
    complain(fmt::format("{} did not come to its end{}:\n{}", shell_word(program),
                         child.timed_out ? " in time" : "", child.output));
    code = kBroken;
    return {};
  }
  return found;
}

/// The parameters that one kind of message tells, between nodes or within one.
struct MessageKeys {
  const char* place;
  const char* latency;
  const char* overhead;
  const char* bandwidth;
  const char* eager_limit;
  int ranks_per_node;  // of two ranks that exchange such messages
};
constexpr MessageKeys kNode = {"node",           "memory_latency",     "memory_overhead",
                               "copy_bandwidth", "memory_eager_limit", 2};
constexpr MessageKeys kNetwork = {"network", "latency", "overhead", "bandwidth", "eager_limit", 1};

/// A parameter that was found, and from what.
struct Found {
  const Parameter* parameter = nullptr;
  double value = 0;
  std::string basis;
};

class Fit {
 public:
  Fit(const Registry& registry, Measurement measured)
      : host_(*registry.find("host")),
        measured_(std::move(measured)),
        settings_(Settings::defaults(host_.parameters)) {
    directly("combine_bandwidth", gigabits(figure("rank", "combine")));
    directly("copy_bandwidth", gigabits(figure("rank", "copy")));
    if (measured_.has(kNode.place)) {
      directly("memory_bandwidth", gigabits(figure("node", "copies")));
      fit(kNode);
    }
    if (measured_.has(kNetwork.place)) {
      directly("gap", figure("network", "rate").seconds / kNano);
      fit(kNetwork);
    }
  }

  [[nodiscard]] const Measurement& measured() const { return measured_; }

  [[nodiscard]] std::vector<Comparison> comparisons() const {
    std::vector<Comparison> rows;
    for (const Measured& one : measured_.figures) {
      if (one.name == "message") rows.push_back(compared(one));
      const std::optional<OperationKind> kind = parse_operation(one.name);
      if (kind && measured_.ranks_per_node > 0) rows.push_back({one, collective(*kind, one.bytes), false});
    }
    return rows;
  }

  /// In the order of the host's parameters.
  [[nodiscard]] std::vector<Found> values() const {
    std::vector<Found> values;
    for (const Parameter& parameter : host_.parameters) {
      const auto basis = bases_.find(parameter.name);
      if (basis == bases_.end()) continue;
      values.push_back({&parameter, settings_.real(std::string(parameter.name)), basis->second});
    }
    return values;
  }

 private:
  static constexpr double kNano = 1e-9;
  static constexpr double kGiga = 1e9;

  static bool tells_bandwidth(const Measured& one) { return one.name == "message" && one.bytes >= kLarge; }

  [[nodiscard]] const Measured& figure(std::string_view place, std::string_view name) const {
    const auto found =
        std::find_if(measured_.figures.begin(), measured_.figures.end(),
                     [&](const Measured& one) { return one.place == place && one.name == name; });
    if (found == measured_.figures.end())
      throw Misuse{fmt::format("the measuring program told no {} ({})", name, place)};
    return *found;
  }

  /// Within what the parameter takes, with four digits.
  void set(std::string_view name, double value) {
    const auto parameter = std::find_if(host_.parameters.begin(), host_.parameters.end(),
                                        [&](const Parameter& p) { return p.name == name; });
    const double digits = value > 0 ? std::pow(10, 3 - std::floor(std::log10(value))) : 1;
    const double rounded = std::round(value * digits) / digits;
    settings_.set(std::string(name), {std::clamp(rounded, parameter->minimum, parameter->maximum), {}});
  }

  void directly(const char* name, double value) {
    set(name, value);
    bases_[name] = "measured directly";
  }

  static double gigabits(const Measured& one) {
    return static_cast<double>(one.bytes) * 8 / one.seconds / kGiga;
  }

  void fit(const MessageKeys& keys) {
    const double one_way = figure(keys.place, "message").seconds;
    // A message is sent and received: both ends have to fit into it.
    directly(keys.overhead, std::min(figure(keys.place, "sending").seconds, one_way / 2) / kNano);
    directly("post", figure(keys.place, "posting").seconds / kNano);
    settings_.set(keys.eager_limit, {static_cast<double>(figure(keys.place, "eager").bytes), {}});
    bases_[keys.eager_limit] = "measured directly";
    // Each depends a little on the other.
    for (int round = 0; round < 3; ++round) {
      fit_latency(keys);
      fit_bandwidth(keys);
    }
    bases_[keys.latency] = fmt::format("fitted to messages of {}: {:+.1f} %",
                                       bytes_text(static_cast<double>(figure(keys.place, "message").bytes)),
                                       100 * compared(figure(keys.place, "message")).error());
    double least = 0;
    double most = 0;
    std::size_t largest = 0;
    for (const Measured& one : measured_.figures) {
      if (one.place != keys.place || !tells_bandwidth(one)) continue;
      const double error = compared(one).error();
      least = largest == 0 ? error : std::min(least, error);
      most = largest == 0 ? error : std::max(most, error);
      largest = std::max(largest, one.bytes);
    }
    bases_[keys.bandwidth] =
        fmt::format("fitted to messages of {} to {}: {:+.1f} to {:+.1f} %", bytes_text(kLarge),
                    bytes_text(static_cast<double>(largest)), 100 * least, 100 * most);
  }

  [[nodiscard]] ForecastSetting setting(int ranks_per_node) const {
    return {host_, settings_, {}, MachineLayout{.ranks_per_node = ranks_per_node}};
  }

  [[nodiscard]] double seconds(const Operation& operation, int ranks_per_node) const {
    Result<Forecast> result = forecast(setting(ranks_per_node), operation);
    if (!result) throw Misuse{result.error()};
    return result->time.nanoseconds() * kNano;
  }

  /// Half a round trip, as the measuring program has it: in s.
  [[nodiscard]] double message(std::size_t bytes, const MessageKeys& keys) const {
    Result<Time> time = half_round_trip(setting(keys.ranks_per_node), bytes);
    if (!time) throw Misuse{time.error()};
    return time->nanoseconds() * kNano;
  }

  [[nodiscard]] Comparison compared(const Measured& one) const {
    const MessageKeys& keys = one.place == kNode.place ? kNode : kNetwork;
    return {one, message(one.bytes, keys), &one == &figure(one.place, "message") || tells_bandwidth(one)};
  }

  [[nodiscard]] double collective(OperationKind kind, std::size_t bytes) const {
    Operation operation;
    operation.kind = kind;
    operation.ranks = measured_.ranks;
    operation.bytes = bytes;
    operation.element = reduces(kind) ? ElementType::kFloat64 : ElementType::kByte;
    operation.elements = bytes / element_bytes(operation.element);
    if (reduces(kind)) operation.function = ReduceFunction::kSum;
    return seconds(operation, measured_.ranks_per_node);
  }

  void fit_latency(const MessageKeys& keys) {
    constexpr double kNone = 1e-3;  // of a nanosecond; 0 is the NIC's
    set(keys.latency, kNone);
    const Measured& smallest = figure(keys.place, "message");
    set(keys.latency, std::max(kNone, (smallest.seconds - message(smallest.bytes, keys)) / kNano));
  }

  /// The mean error of large messages is none then, in logarithms: none of them counts more than another.
  void fit_bandwidth(const MessageKeys& keys) {
    double slow = 1e-3;  // Gb/s
    double fast = 1e5;
    constexpr int kSteps = 40;
    for (int step = 0; step < kSteps; ++step) {
      const double middle = std::sqrt(slow * fast);
      settings_.set(keys.bandwidth, {middle, {}});
      double error = 0;
      for (const Measured& one : measured_.figures) {
        if (one.place == keys.place && tells_bandwidth(one))
          error += std::log(message(one.bytes, keys) / one.seconds);
      }
      (error > 0 ? slow : fast) = middle;
    }
    set(keys.bandwidth, std::sqrt(slow * fast));
  }

  const BackendDescription& host_;
  Measurement measured_;
  Settings settings_;
  std::map<std::string, std::string, std::less<>> bases_;
};

/// What the figures do not say.
std::vector<std::string> gaps(const Measurement& measured) {
  std::vector<std::string> notes;
  if (!measured.has(kNetwork.place))
    notes.emplace_back(
        "All ranks were on one node: nothing was measured of the NIC, whose keys stay as they are. Ranks on "
        "two "
        "nodes or more tell them.");
  if (!measured.has(kNode.place))
    notes.emplace_back(
        "Each rank was on a node of its own: nothing was measured within a node, whose keys stay as they "
        "are.");
  if (measured.ranks_per_node == 0)
    notes.emplace_back(
        "The nodes do not have equal blocks of neighbouring ranks: collectives are not compared.");
  return notes;
}

std::string table_of(const std::vector<Comparison>& rows) {
  std::string text = fmt::format("# {:<10} {:<8} {:>9} {:>14} {:>14} {:>8}\n", "operation", "between",
                                 "bytes", "measured (us)", "host (us)", "error");
  for (const Comparison& row : rows)
    text += fmt::format("# {:<10} {:<8} {:>9} {:>14.3f} {:>14.3f} {:>+7.1f}%{}\n", row.measured.name,
                        row.measured.place == kNode.place      ? "a node"
                        : row.measured.place == kNetwork.place ? "nodes"
                                                               : "all",
                        row.measured.bytes, row.measured.seconds * 1e6, row.modelled * 1e6, row.error() * 100,
                        row.fitted ? " fitted" : "");
  return text;
}

std::string section(const Fit& fit, const std::vector<Comparison>& rows) {
  const Measurement& measured = fit.measured();
  std::string text = fmt::format("# Fitted to this machine's MPI library by offramp calibrate: {} on {}.\n",
                                 counted(static_cast<std::uint64_t>(measured.ranks), "rank"),
                                 counted(static_cast<std::uint64_t>(measured.nodes), "node"));
  for (const std::string& note : gaps(measured)) text += "# " + note + "\n";
  text += table_of(rows) + "[host]\n";
  for (const Found& found : fit.values())
    text += fmt::format("{} = {:g}  # {}; {}\n", found.parameter->name, found.value, found.parameter->unit,
                        found.basis);
  return text;
}

void print_json(const Fit& fit, const std::vector<Comparison>& rows) {
  const Measurement& measured = fit.measured();
  Json json = {
      {"ranks", measured.ranks}, {"nodes", measured.nodes}, {"ranks_per_node", measured.ranks_per_node}};
  for (const Found& found : fit.values()) {
    json["host"][std::string(found.parameter->name)] = found.value;
    json["from"][std::string(found.parameter->name)] = found.basis;
  }
  for (const Comparison& row : rows)
    json["comparisons"].push_back({{"operation", row.measured.name},
                                   {"place", row.measured.place},
                                   {"bytes", row.measured.bytes},
                                   {"measured_ns", row.measured.seconds * 1e9},
                                   {"modelled_ns", row.modelled * 1e9},
                                   {"error", row.error()},
                                   {"fitted", row.fitted}});
  json["notes"] = gaps(measured);
  fmt::print("{}\n", json.dump(2));
}

int calibrate(const CalibrateOptions& options) {
  if (const std::string problem = options.output.empty() ? "" : option_problem("--output", options.output);
      !problem.empty()) {
    complain(problem);
    return kUsage;
  }
  int code = kDone;
  Measurement measured = measure(options, code);
  if (code != kDone) return code;
  try {
    const Registry registry(built_in_backends());
    const Fit fit(registry, std::move(measured));
    const std::vector<Comparison> rows = fit.comparisons();
    const std::string text = section(fit, rows);
    if (options.json) {
      print_json(fit, rows);
    } else {
      fmt::print("{}", text);
    }
    return options.output.empty() ? kDone : write_file(options.output, text);
  } catch (const Misuse& problem) {
    complain(problem.text);
    return kBroken;
  }
}

class CalibrateCommand final : public Command {
 public:
  explicit CalibrateCommand(CLI::App& app) : Command(app), launcher_(app) {
    add_ranks(app, options_.ranks,
              "number of processes; messages go from rank 0 to a rank of its host, and to one of another", 2)
        ->capture_default_str();
    app.add_option("--seconds", options_.seconds, "time for each figure")
        ->type_name("SECONDS")
        ->check(CLI::Range(1e-3, 60.0))
        ->capture_default_str();
    app.add_option("-o,--output", options_.output, "write the section to this file")->type_name("FILE");
    add_json(app, options_.json);
  }
  int execute(std::vector<std::string>) override {
    options_.mpirun = launcher_.launcher();
    options_.mpirun_arguments = launcher_.arguments();
    return calibrate(options_);
  }

 private:
  CalibrateOptions options_;
  LauncherOptions launcher_;
};

const Registered<CalibrateCommand> calibrate_command(
    {.name = "calibrate",
     .place = 90,
     .summary = "fit the host backend to this machine's MPI library",
     .about = "Measures messages, local copies and reductions of the MPI library alone, and prints a section "
              "[host] for offramp.toml that takes as long, each figure with where it is from; above it what "
              "messages, bcast, reduce, allreduce and gather took, and what the fitted host says. Messages "
              "between ranks of one host become the parameters of memory; those of the NIC are only written "
              "where ranks are on several hosts (--launcher-args). Let nothing else run meanwhile.",
     .exits = {{kUsage}, {kBroken}, {kNotWritten}, {kNotFound}}});

}  // namespace

}  // namespace offramp::tool
