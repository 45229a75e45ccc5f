// offramp calibrate. The measuring program (measure.c) runs natively under mpirun. What it times directly
// becomes a parameter directly; latency and bandwidth are found with the host backend itself, so that its
// messages take what was measured.
#include "tools/calibrate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "lib/core/forecast.hpp"
#include "lib/core/names.hpp"
#include "lib/core/registry.hpp"
#include "tools/child.hpp"
#include "tools/launcher.hpp"
#include "tools/progress.hpp"
#include "tools/setup.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Measured {
  std::string name;
  std::size_t bytes = 0;
  double seconds = 0;
};

/// A measured time beside that of the fitted host.
struct Comparison {
  Measured measured;
  double modelled = 0;  // s
  bool fitted = false;  // to this figure

  [[nodiscard]] double error() const { return modelled / measured.seconds - 1; }
};

constexpr std::size_t kLarge = 65536;  // from here on messages tell the bandwidth

std::vector<Measured> measure(const CalibrateOptions& options, int& code) {
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
  constexpr double kFigures = 40;  // at most, each with its first turns
  const ProgressLine progress;
  progress.say("measuring with {} ranks", options.ranks);
  const ChildResult child = run_child(launch.words, 120 + 20 * kFigures * options.seconds);
  std::vector<Measured> found;
  std::istringstream lines(child.output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string word;
    Measured one;
    if (fields >> word >> one.name >> one.bytes >> one.seconds && word == "measured") found.push_back(one);
  }
  if (child.status != 0 || found.empty()) {
    complain(fmt::format("{} did not come to its end{}:\n{}", shell_word(program),
                         child.timed_out ? " in time" : "", child.output));
    code = kBroken;
    return {};
  }
  return found;
}

class Fit {
 public:
  Fit(const Registry& registry, std::vector<Measured> measured)
      : host_(*registry.find("host")),
        measured_(std::move(measured)),
        settings_(Settings::defaults(host_.parameters)) {
    direct();
    // Each depends a little on the other.
    for (int round = 0; round < 3; ++round) {
      fit_latency();
      fit_bandwidth();
    }
  }

  [[nodiscard]] std::vector<Comparison> comparisons(int ranks) const {
    std::vector<Comparison> rows;
    for (const Measured& one : measured_) {
      if (one.name == "message") rows.push_back({one, message(one.bytes), is_fitted(one)});
      const std::optional<OperationKind> kind = parse_operation(one.name);
      if (kind) rows.push_back({one, collective(*kind, one.bytes, ranks), false});
    }
    return rows;
  }

  /// The parameters that were fitted, by name, in their units.
  [[nodiscard]] std::vector<std::pair<const Parameter*, double>> values() const {
    std::vector<std::pair<const Parameter*, double>> values;
    for (const Parameter& parameter : host_.parameters) {
      const std::string name(parameter.name);
      const bool fitted = std::find(std::begin(kFitted), std::end(kFitted), name) != std::end(kFitted);
      if (fitted) values.emplace_back(&parameter, settings_.real(name));
    }
    return values;
  }

 private:
  static constexpr const char* kFitted[] = {
      "latency",        "overhead",         "gap", "bandwidth", "post", "eager_limit",
      "copy_bandwidth", "combine_bandwidth"};
  static constexpr double kNano = 1e-9;
  static constexpr double kGiga = 1e9;

  static bool is_fitted(const Measured& one) { return one.bytes == 8 || one.bytes >= kLarge; }

  [[nodiscard]] const Measured& figure(std::string_view name) const {
    const auto found = std::find_if(measured_.begin(), measured_.end(),
                                    [&](const Measured& one) { return one.name == name; });
    if (found == measured_.end()) throw Misuse{fmt::format("the measuring program told no {}", name)};
    return *found;
  }

  /// Within what the parameter takes, with four digits.
  void set(const char* name, double value) {
    const auto parameter = std::find_if(host_.parameters.begin(), host_.parameters.end(),
                                        [&](const Parameter& p) { return p.name == std::string_view(name); });
    const double digits = value > 0 ? std::pow(10, 3 - std::floor(std::log10(value))) : 1;
    const double rounded = std::round(value * digits) / digits;
    settings_.set(name, {std::clamp(rounded, parameter->minimum, parameter->maximum), {}});
  }

  static double gigabits(const Measured& one) {
    return static_cast<double>(one.bytes) * 8 / one.seconds / kGiga;
  }

  void direct() {
    const double one_way = figure("message").seconds;
    // A message is sent and received: both ends have to fit into it.
    set("overhead", std::min(figure("sending").seconds, one_way / 2) / kNano);
    set("post", figure("posting").seconds / kNano);
    set("gap", figure("rate").seconds / kNano);
    set("copy_bandwidth", gigabits(figure("copy")));
    set("combine_bandwidth", gigabits(figure("combine")));
    settings_.set("eager_limit", {static_cast<double>(figure("eager").bytes), {}});
  }

  [[nodiscard]] double seconds(const Operation& operation) const {
    Result<Forecast> result = forecast({host_, settings_, {}}, operation);
    if (!result) throw Misuse{result.error()};
    return result->time.nanoseconds() * kNano;
  }

  [[nodiscard]] double message(std::size_t bytes) const {
    Operation operation;
    operation.kind = OperationKind::kSend;
    operation.ranks = 2;
    operation.bytes = bytes;
    operation.elements = bytes;
    return seconds(operation);
  }

  [[nodiscard]] double collective(OperationKind kind, std::size_t bytes, int ranks) const {
    Operation operation;
    operation.kind = kind;
    operation.ranks = ranks;
    operation.bytes = bytes;
    operation.element = reduces(kind) ? ElementType::kFloat64 : ElementType::kByte;
    operation.elements = bytes / element_bytes(operation.element);
    if (reduces(kind)) operation.function = ReduceFunction::kSum;
    return seconds(operation);
  }

  void fit_latency() {
    constexpr double kNone = 1e-3;  // of a nanosecond; 0 is the NIC's
    settings_.set("latency", {kNone, {}});
    const Measured& smallest = figure("message");
    set("latency", std::max(kNone, (smallest.seconds - message(smallest.bytes)) / kNano));
  }

  /// The mean error of large messages is none then, in logarithms: none of them counts more than another.
  void fit_bandwidth() {
    double slow = 1e-3;  // Gb/s
    double fast = 1e5;
    constexpr int kSteps = 40;
    for (int step = 0; step < kSteps; ++step) {
      const double middle = std::sqrt(slow * fast);
      settings_.set("bandwidth", {middle, {}});
      double error = 0;
      for (const Measured& one : measured_) {
        if (one.name == "message" && one.bytes >= kLarge) error += std::log(message(one.bytes) / one.seconds);
      }
      (error > 0 ? slow : fast) = middle;
    }
    set("bandwidth", std::sqrt(slow * fast));
  }

  const BackendDescription& host_;
  std::vector<Measured> measured_;
  Settings settings_;
};

std::string section(const Fit& fit, int ranks) {
  std::string text = fmt::format(
      "# Fitted to this machine's MPI library by offramp calibrate with {} ranks.\n[host]\n", ranks);
  for (const auto& [parameter, value] : fit.values())
    text += fmt::format("{} = {:g}  # {}\n", parameter->name, value, parameter->unit);
  return text;
}

void print_table(const std::vector<Comparison>& rows) {
  fmt::print("# {:<10} {:>9} {:>14} {:>14} {:>8}\n", "operation", "bytes", "measured (us)", "host (us)",
             "error");
  for (const Comparison& row : rows)
    fmt::print("# {:<10} {:>9} {:>14.3f} {:>14.3f} {:>+7.1f}%{}\n", row.measured.name, row.measured.bytes,
               row.measured.seconds * 1e6, row.modelled * 1e6, row.error() * 100,
               row.fitted ? " fitted" : "");
}

void print_json(const Fit& fit, const std::vector<Comparison>& rows, int ranks) {
  Json json = {{"ranks", ranks}};
  for (const auto& [parameter, value] : fit.values()) json["host"][std::string(parameter->name)] = value;
  for (const Comparison& row : rows)
    json["comparisons"].push_back({{"operation", row.measured.name},
                                   {"bytes", row.measured.bytes},
                                   {"measured_ns", row.measured.seconds * 1e9},
                                   {"modelled_ns", row.modelled * 1e9},
                                   {"error", row.error()},
                                   {"fitted", row.fitted}});
  fmt::print("{}\n", json.dump(2));
}

}  // namespace

int calibrate(const CalibrateOptions& options) {
  if (const std::string problem = options.output.empty() ? "" : option_problem("--output", options.output);
      !problem.empty()) {
    complain(problem);
    return kUsage;
  }
  int code = kDone;
  std::vector<Measured> measured = measure(options, code);
  if (code != kDone) return code;
  try {
    const Registry registry(built_in_backends());
    const Fit fit(registry, std::move(measured));
    const std::vector<Comparison> rows = fit.comparisons(options.ranks);
    options.json ? print_json(fit, rows, options.ranks) : print_table(rows);
    if (!options.output.empty()) return write_file(options.output, section(fit, options.ranks));
    if (!options.json) fmt::print("\n{}", section(fit, options.ranks));
    return kDone;
  } catch (const Misuse& problem) {
    complain(problem.text);
    return kBroken;
  }
}

}  // namespace offramp::tool
