// The answer of an advisor: lib/report/answer.hpp has its shape.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lib/answers/advice/advice.hpp"
#include "lib/answers/report/answer.hpp"

namespace offramp {

/// How the answer names the program.
struct ProgramNames {
  std::string name;  // at the beginning
  std::string file;  // in commands; empty: they are those of before with more options
};

/// Call it after weigh(), and again after the searches, which it includes as far as they have come.
ReportAnswer answer_of(const Advisor& advisor, const ProgramNames& program);

/// A replay as one side of a comparison. It owns nothing.
struct ReplayedSide {
  std::string_view backend;
  const ReplayResult* result = nullptr;  // null: the hardware refused the program
  const WholeRun* run = nullptr;         // with the program's computing; null: not known
};

/// The answer of replays as they are, each at its own link. The first side is the baseline. tuned: its
/// communication with the fastest algorithms, if that is known. Errors of the models are not weighed.
ReportAnswer answer_of_replays(std::span<const ReplayedSide> sides,
                               const std::optional<ProgramTimes>& program, std::optional<Time> tuned,
                               const ProgramNames& names);

/// One operation over one backend. It owns nothing.
struct ForecastSide {
  const BackendDescription* backend = nullptr;
  std::string declined;          // why; empty: the hardware carries the operation
  std::optional<Time> time;      // `nullopt`: it declines
  std::optional<Time> shortest;  // of the same operation of one element
  // With the fastest and the slowest node memory of the baseline's class; see at_end_of_band().
  std::optional<std::pair<Time, Time>> band;
  Deployment deployment;
};

/// The answer of forecasts of one operation. The baseline is the first side that has a time. name: of the
/// operation, at the beginning of the answer. The models' errors are weighed as an advisor weighs them.
ReportAnswer answer_of_forecasts(std::span<const ForecastSide> sides, const Operation& operation,
                                 const std::string& name);

}  // namespace offramp
