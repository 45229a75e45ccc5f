// offramp calibrate: runs the measuring program (measure.c) natively under mpirun, or reads outputs of other
// benchmarks, and fits the host backend to the times of messages (fit.cpp).

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "lib/base/format.hpp"
#include "lib/base/registry/registry.hpp"
#include "lib/base/text_format.hpp"
#include "tools/calibrate/fit.hpp"
#include "tools/calibrate/measurement.hpp"
#include "tools/command_line/command.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/launch/child.hpp"
#include "tools/launch/launcher.hpp"
#include "tools/text/progress.hpp"

namespace offramp::tool {
namespace {

struct CalibrateOptions {
  int ranks = 2;
  int ranks_per_node = 0;              // of the collectives in the outputs; 0: unknown
  std::vector<std::string> from;       // outputs of benchmarks; empty: measure here
  std::vector<std::string> from_node;  // outputs of messages within a node
  std::vector<Override> known;         // keys of the host with given values
  double seconds = 0.05;               // per figure
  std::string output;                  // file for the section; empty: standard output, after the tables
  bool json = false;
  std::string mpirun;  // see RunOptions
  std::vector<std::string> mpirun_arguments;
};

using Json = nlohmann::ordered_json;

constexpr std::string_view kNode = "node";  // a place of measurement
constexpr std::string_view kNetwork = "network";

Measurement measure(const CalibrateOptions& options, int& code) {
  const auto launcher = find_launcher(options.mpirun, kMpiFamily);
  if (!launcher) {
    warn(launcher.error());
    code = kNotFound;
    return {};
  }
  const std::string program = helper_path("offramp-measure");
  if (program.empty()) {
    warn("cannot find offramp-measure beside this installation");
    code = kBroken;
    return {};
  }
  const bool too_many = options.ranks > core_count() && options.mpirun_arguments.empty();
  const LaunchedCommand launch = launch_line(*launcher, options.ranks, too_many, {}, options.mpirun_arguments,
                                             {program, fmt::format("{}", options.seconds)});
  for (const auto& [name, value] : launch.environment) setenv(name.c_str(), value.c_str(), 1);
  constexpr double kFigures = 60;  // at most, each with its warm-up
  const ProgressLine progress;
  progress.show("measuring with {} ranks", options.ranks);
  const ChildResult child = run_child(launch.words, 120 + 20 * kFigures * options.seconds);
  Measurement found;
  found.ranks = options.ranks;
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
    warn(fmt::format("{} did not finish{}:\n{}", shell_word(program), child.timed_out ? " in time" : "",
                     child.output));
    code = kBroken;
    return {};
  }
  for (Measured& one : found.figures) {
    if (one.place != "all") continue;  // messages are measured between one pair
    one.ranks = found.ranks;
    one.ranks_per_node = found.ranks_per_node;
  }
  found.from = fmt::format("this machine's MPI library, {} on {}",
                           counted(static_cast<std::uint64_t>(found.ranks), "rank"),
                           counted(static_cast<std::uint64_t>(found.nodes), "node"));
  if (found.ranks_per_node == 0)
    found.notes.emplace_back(
        "Collectives are not compared: the nodes do not hold equal blocks of consecutive ranks.");
  return found;
}

/// Expands a quoted wildcard. Returns the name itself if it has none, or if nothing matches.
std::vector<std::string> matching_files(const std::string& name) {
  glob_t found{};
  std::vector<std::string> files;
  if (!std::filesystem::exists(name) && glob(name.c_str(), GLOB_ERR, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (files.empty()) files.push_back(name);
  return files;
}

/// Reads the outputs of benchmarks. An unreadable file loses its own figures and sets the exit code.
Measurement measured_elsewhere(const CalibrateOptions& options, int& code) {
  Measurement found;
  std::vector<std::string> names;
  std::vector<std::string> problems;
  const auto read = [&](const std::vector<std::string>& files, bool within_node) {
    const Placement placement{within_node, options.ranks_per_node > 0 ? options.ranks : 0,
                              options.ranks_per_node};
    std::vector<std::string> all;
    for (const std::string& name : files) {
      const std::vector<std::string> matching = matching_files(name);
      all.insert(all.end(), matching.begin(), matching.end());
    }
    for (const std::string& file : all) {
      const std::size_t before = found.figures.size();
      if (const auto result = read_benchmarks(file, placement, found); !result) {
        found.figures.resize(before);
        problems.push_back(result.error());
      } else {
        names.push_back(printable(file));
      }
    }
  };
  read(options.from, false);
  read(options.from_node, true);
  if (names.empty()) throw Misuse{fmt::format("{}", fmt::join(problems, "; "))};
  for (const std::string& problem : problems) warn(problem + "; its results are left out");
  if (!problems.empty()) code = kUsage;
  const auto lacks = [&](std::string_view place) {
    return found.has(place) && found.find(place, "message") == nullptr;
  };
  if (lacks(kNode) || lacks(kNetwork) || (!found.has(kNode) && !found.has(kNetwork)))
    throw Misuse{fmt::format(
        "{}: ping-pong results (osu_latency) are missing, and the fit starts from them{}",
        fmt::join(names, ", "), found.notes.empty() ? std::string() : "; " + found.notes.front())};
  found.from = fmt::format("{}", fmt::join(names, ", "));
  return found;
}

/// The host's values before the fit: its defaults and the user's values.
Settings known_settings(const BackendDescription& host, const CalibrateOptions& options, Fit::Keys& known) {
  Section section;
  for (const Override& one : options.known) {
    const std::string prefix = fmt::format("{}.", host.name);
    const std::string key = one.key.starts_with(prefix) ? one.key.substr(prefix.size()) : one.key;
    section[key] = {one.value, RawValue::Type::kText, one.origin};
    known.insert(key);
  }
  Result<Settings> settings = read_settings(host, section);
  if (!settings) throw Misuse{settings.error()};
  return *settings;
}

/// Notes on what the figures do not determine.
std::vector<std::string> notes_on(const Fit& fit) {
  std::vector<std::string> notes = fit.measured().notes;
  if (!fit.measured().has(kNetwork))
    notes.emplace_back(
        "The NIC's keys keep their values, because nothing was measured between nodes. Ranks on two or more "
        "nodes determine them.");
  if (!fit.measured().has(kNode))
    notes.emplace_back(
        "The keys of the nodes' memory keep their values, because nothing was measured within a node.");
  if (fit.measured().has(kNetwork) && !fit.has_rate_of_pairs(kNetwork))
    notes.emplace_back(
        "The NIC's rate is that of one pair of ranks. If several pairs reach more, add osu_mbw_mr of long "
        "messages.");
  if (const auto names = fit.undetermined(); !names.empty())
    notes.push_back(
        fmt::format("Not determined by these results, and unchanged: {}.", fmt::join(names, ", ")));
  return notes;
}

std::string_view words_for(std::string_view place) {
  if (place == kNode) return "a node";
  return place == kNetwork ? "nodes" : "all";
}

/// The errors of the model for one operation to which it is not fitted.
struct Spread {
  std::string operation;
  std::vector<double> errors;  // absolute values, ascending

  [[nodiscard]] double median() const {
    const std::size_t half = errors.size() / 2;
    return errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
  }
  [[nodiscard]] double worst() const { return errors.back(); }
};

std::vector<Spread> spreads_of(const std::vector<Comparison>& rows) {
  std::vector<Spread> spreads;
  for (const Comparison& row : rows) {
    if (row.fitted || !parse_operation(row.measured.name)) continue;
    auto found = std::find_if(spreads.begin(), spreads.end(),
                              [&](const Spread& one) { return one.operation == row.measured.name; });
    if (found == spreads.end()) found = spreads.insert(found, {row.measured.name, {}});
    found->errors.push_back(std::abs(row.error()));
  }
  for (Spread& spread : spreads) std::sort(spread.errors.begin(), spread.errors.end());
  return spreads;
}

std::string_view mark_of(const Comparison& row) {
  return row.cause.empty() ? "" : " !";
}

/// The causes of marked rows, each with its operations.
std::string causes_text(const std::vector<Comparison>& rows, const Fit& fit) {
  std::map<std::string, std::set<std::string>> operations;
  for (const Comparison& row : rows) {
    if (!row.cause.empty()) operations[row.cause].insert(row.measured.name);
  }
  std::string text;
  if (!operations.empty())
    text += fmt::format(
        "# !: further off than nine tenths of the model's known errors ({:.0f} %). Likely causes:\n",
        fit.expected_error() * 100);
  for (const auto& [cause, names] : operations)
    text += fmt::format("# {}: {}\n", fmt::join(names, ", "), cause);
  return text;
}

std::string table_of(const std::vector<Comparison>& rows) {
  std::string text = fmt::format("# {:<10} {:<8} {:>9} {:>14} {:>14} {:>8}\n", "operation", "between",
                                 "bytes", "measured (us)", "host (us)", "error");
  for (const Comparison& row : rows)
    text += fmt::format("# {:<10} {:<8} {:>9} {:>14.3f} {:>14.3f} {:>+7.1f}%{}\n", row.measured.name,
                        words_for(row.measured.place), row.measured.bytes, row.measured.seconds * 1e6,
                        row.modelled * 1e6, row.error() * 100, row.fitted ? " fitted" : mark_of(row));
  for (const Spread& spread : spreads_of(rows))
    text += fmt::format("# {}: median error {:.1f} % over {}, worst error {:.1f} %\n", spread.operation,
                        spread.median() * 100, counted(spread.errors.size(), "size"), spread.worst() * 100);
  return text;
}

std::string section(const Fit& fit, const std::vector<Comparison>& rows) {
  std::string text = fmt::format("# Fitted by offramp calibrate to {}.\n", fit.measured().from);
  for (const std::string& note : notes_on(fit)) text += "# " + note + "\n";
  text += table_of(rows) + causes_text(rows, fit) + "[host]\n";
  for (const Found& found : fit.values()) {
    const std::string_view unit = found.parameter->unit;
    text += fmt::format("{} = {}  # {}{}{}\n", found.parameter->name, found.text, unit,
                        unit.empty() ? "" : "; ", found.basis);
  }
  return text;
}

void print_json(const Fit& fit, const std::vector<Comparison>& rows) {
  const Measurement& measured = fit.measured();
  Json json = {{"source", measured.from}};
  if (measured.ranks > 0) {
    json["ranks"] = measured.ranks;
    json["nodes"] = measured.nodes;
    json["ranks_per_node"] = measured.ranks_per_node;
  }
  for (const Found& found : fit.values()) {
    json[std::string(baseline_name())][std::string(found.parameter->name)] = Json::parse(found.text);
    json["from"][std::string(found.parameter->name)] = found.basis;
  }
  for (const Comparison& row : rows) {
    Json one = {{"operation", row.measured.name},
                {"place", row.measured.place},
                {"bytes", row.measured.bytes},
                {"measured_ns", row.measured.seconds * 1e9},
                {"modelled_ns", row.modelled * 1e9},
                {"error", row.error()},
                {"fitted", row.fitted}};
    if (!row.cause.empty()) one["cause"] = row.cause;
    const bool is_of_pairs = row.measured.ranks > 2 && !parse_operation(row.measured.name);
    if (is_of_pairs) one["pairs"] = row.measured.ranks / 2;
    if (parse_operation(row.measured.name)) {
      one["ranks"] = row.measured.ranks;
      one["ranks_per_node"] = row.measured.ranks_per_node;
    }
    json["comparisons"].push_back(std::move(one));
  }
  if (std::ranges::any_of(rows, [](const Comparison& row) { return !row.cause.empty(); }))
    json["expected_error"] = fit.expected_error();
  json["undetermined"] = fit.undetermined();
  json["notes"] = notes_on(fit);
  fmt::print("{}\n", json.dump(2));
}

int calibrate(const CalibrateOptions& options) {
  check_file_of("--output", options.output);
  const Registry registry(built_in_backends());
  const BackendDescription& host = registry.baseline();
  Fit::Keys known;
  Settings settings = known_settings(host, options, known);
  int code = kDone;
  const bool reads = !options.from.empty() || !options.from_node.empty();
  const Measurement measured = reads ? measured_elsewhere(options, code) : measure(options, code);
  if (measured.figures.empty()) return code;
  const Fit fit(host, measured, std::move(settings), std::move(known));
  const std::vector<Comparison> rows = fit.comparisons();
  const std::string text = section(fit, rows);
  if (options.json) {
    print_json(fit, rows);
  } else {
    fmt::print("{}", text);
  }
  const int written = options.output.empty() ? kDone : write_file(options.output, text);
  return written != kDone ? written : code;
}

class CalibrateCommand final : public Command {
 public:
  explicit CalibrateCommand(CLI::App& app) : Command(app), launcher_(app) {
    add_ranks(app, options_.ranks,
              "number of ranks; messages go from rank 0 to a rank on its host and to one on another host", 2)
        ->capture_default_str();
    add_value(app, "--ranks-per-node", options_.ranks_per_node, "N",
              "with --from: ranks per node of the measurements of a whole job: collectives, and IMB with "
              "waiting ranks")
        ->check(whole_number(1, 1 << 20));
    add_value(
        app, "--from", options_.from, "FILE",
        "read outputs of OSU's benchmarks (osu_latency, osu_bw, osu_bibw, osu_mbw_mr, osu_multi_lat between "
        "two nodes; collectives) and of Intel's (IMB PingPong, Uniband, Biband, Sendrecv, collectives), or a "
        "table with the columns benchmark, nodes, ranks_per_node, bytes, value; several files may follow");
    add_value(app, "--from-node", options_.from_node, "FILE",
              "read outputs of the same benchmarks within one node; osu_multi_lat and osu_mbw_mr measure "
              "a full node");
    add_value(app, "--set", settings_, "KEY=VALUE",
              "a parameter of the host that is known and is not fitted; may be repeated")
        ->allow_extra_args(false);
    add_value(app, "--seconds-each", options_.seconds, "SECONDS", "duration of each measurement")
        ->check(plain_number(1e-3, 60.0))
        ->capture_default_str();
    add_value(app, "-o,--output", options_.output, "FILE", "write the section to this file");
    add_json(app, options_.json);
  }
  int execute(std::vector<std::string>) override {
    options_.mpirun = launcher_.launcher();
    options_.mpirun_arguments = launcher_.arguments();
    if (const std::string problem = add_settings(settings_, {std::string(baseline_name())}, options_.known);
        !problem.empty())
      return refuse(problem);
    return calibrate(options_);
  }

 private:
  CalibrateOptions options_;
  LauncherOptions launcher_;
  std::vector<std::string> settings_;
};

const Registered<CalibrateCommand> calibrate_command(
    {.name = "calibrate",
     .place = 90,
     .summary = "fit the host backend to the MPI library of this machine",
     .about =
         "Measures messages, local copies, and reductions of the MPI library, and prints a section "
         "[host] for offramp.toml that reproduces their times, each value with its origin. Above it, a "
         "table compares the measured times of messages, bcast, reduce, allreduce, and gather with "
         "those of the fitted host. Messages between ranks of one host determine the parameters of "
         "memory; those of the NIC need ranks on several hosts (--launcher-args). Run nothing else "
         "at the same time. With --from, nothing is measured: the results come from another machine, and the "
         "table compares its collectives with those of the fitted host.",
     .often = {"-h", "-n", "--from", "--from-node", "-o", "--launcher", "--launcher-args", "--json"},
     .exits = {{kUsage}, {kBroken}, {kNotWritten}, {kNotFound}}});

}  // namespace

}  // namespace offramp::tool
