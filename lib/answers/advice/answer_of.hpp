// Phrases the results of an advisor, of replays, or of forecasts as an answer
// (lib/answers/report/answer.hpp).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/answers/advice/advice.hpp"
#include "lib/answers/report/answer.hpp"
#include "lib/answers/report/report.hpp"

namespace offramp {

/// How the answer names the program.
struct ProgramNames {
  std::string name;  // begins the answer
  std::string file;  // for commands; empty: "repeat with" further options
};

/// Call it after weigh(), and again after further searches. It includes what they have found so far.
ReportAnswer answer_of(const Advisor& advisor, const ProgramNames& program);

/// A replay as one side of a comparison. Does not own what it refers to.
struct ReplayedSide {
  std::string_view backend;
  const ReplayResult* result = nullptr;  // null: the hardware cannot replay the program
  const WholeRun* run = nullptr;         // with the program's computing; null: unknown
};

/// The answer from finished replays, each at its own link rate. The first side is the baseline; it may be the
/// only one, and then has a result. tuned: the host with its fastest algorithms, if known. Ignores the
/// errors of the models.
ReportAnswer answer_of_replays(std::span<const ReplayedSide> sides,
                               const std::optional<ProgramTimes>& program, std::optional<ReplayedSide> tuned,
                               const ProgramNames& names);

/// One operation over one backend. Does not own what it refers to.
struct ForecastSide {
  const BackendDescription* backend = nullptr;
  std::string declined;          // the reason; empty: the hardware carries the operation
  std::optional<Time> time;      // `nullopt`: declined
  std::optional<Time> shortest;  // of the operation with one element
  // With the fastest and the slowest node memory of the baseline's class; see at_end_of_band().
  std::optional<std::pair<Time, Time>> band;
  Deployment deployment;
};

/// The answer from forecasts of one operation. The baseline is the first side with a time. name: the
/// operation, at the beginning of the answer. The errors of the models count as in an advisor.
ReportAnswer answer_of_forecasts(std::span<const ForecastSide> sides, const Operation& operation,
                                 const std::string& name);

/// One backend along a sweep.
struct SweepSide {
  std::string name;
  std::vector<std::optional<Time>> times;  // by point; `nullopt`: no valid time
  std::string crossover;                   // where it becomes faster or slower than the first side
};

/// The answer from a sweep, with a bar for the fastest backend at each point. points: "latency=500ns". The
/// first side is the baseline.
ReportAnswer answer_of_sweep(std::span<const SweepSide> sides, const std::vector<std::string>& points,
                             bool of_run, const std::string& name);

/// The answer from replays of several programs at once: how much longer they take than alone. replays: with
/// results. background_nodes: the number of nodes with other traffic.
ReportAnswer answer_of_jobs(std::span<const Settled> replays, std::size_t background_nodes);

}  // namespace offramp
