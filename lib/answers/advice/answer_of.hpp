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
#include "lib/answers/replay/forecast.hpp"
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

/// The answer from finished replays, each at its own link rate. The first one is the baseline; it may be the
/// only one. refused: hardware without a result. tuned: the host with its fastest algorithms, or null.
/// with_computing: the replays include the program's computing. Ignores the errors of the models.
ReportAnswer answer_of_replays(std::span<const Settled> replays, std::span<const BackendResult> refused,
                               const std::optional<ProgramTimes>& program, const Settled* tuned,
                               const ProgramNames& names, bool with_computing);

/// One operation over one backend. Does not own what it refers to.
struct ForecastSide {
  const BackendDescription* backend = nullptr;
  Forecast forecast = {};
  Deployment deployment = {};
  // With the fastest and the slowest node memory of the baseline's class; see at_end_of_band().
  std::optional<std::pair<Time, Time>> band = {};
  std::optional<Time> shortest = {};  // of the operation with one element

  /// `nullopt`: declined.
  [[nodiscard]] std::optional<Time> time() const {
    return forecast.declined.empty() ? std::optional(forecast.time) : std::nullopt;
  }
};

/// The answer from forecasts of one operation. The baseline is the first side with a time. tuned: the
/// baseline's time with its fastest algorithm, if known. name: the operation, at the beginning of the answer.
/// The errors of the models count as in an advisor.
ReportAnswer answer_of_forecasts(std::span<const ForecastSide> sides, const Operation& operation,
                                 int ranks_per_node, std::optional<Time> tuned, const std::string& name);

/// One backend along a sweep.
struct SweepSide {
  std::string name;
  std::vector<std::optional<Time>> times;  // by point; `nullopt`: no valid time
};
/// "dpu compared with host: not faster at first, faster from 64 ranks on". Empty if no point has both times.
std::string crossover_text(const SweepSide& other, const SweepSide& base,
                           const std::vector<std::string>& points);

/// The answer from a sweep, with a bar for the fastest backend at each point. points: "latency=500ns". The
/// first side is the baseline. crosses: says where the others become faster or slower.
ReportAnswer answer_of_sweep(std::span<const SweepSide> sides, const std::vector<std::string>& points,
                             bool of_run, const std::string& name, bool crosses = true);

/// The answer from replays of several programs at once: how much longer they take than alone. replays: with
/// results. background_nodes: the number of nodes with other traffic.
ReportAnswer answer_of_jobs(std::span<const Settled> replays, std::size_t background_nodes);

}  // namespace offramp
