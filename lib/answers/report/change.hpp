// What a change of a program does to its run: recordings of two versions over the same hardware.
//
// Communication is modelled, and the same for every recording of a version. Computing is recorded, and
// differs from recording to recording with whatever else the machine does. So one recording of each version
// gives an answer about communication alone, and several of each give an interval for the run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/answers/report/answer.hpp"
#include "lib/answers/report/run_report.hpp"

namespace offramp {

/// A recording of a version, replayed over the hardware of the comparison. Neither pointer is owned or null.
struct VersionReplay {
  const RunReport* report;
  const ReportLane* lane;  // of the report
};

/// A version of a program. It has a replay at least.
struct ProgramVersion {
  std::string name;
  std::vector<VersionReplay> replays;
};

/// The calls of one function before and after a change.
struct CallChange {
  std::string name;
  CallCounter before;
  CallCounter after;

  [[nodiscard]] Time difference() const {
    return later(before.modelled, after.modelled) - earlier(before.modelled, after.modelled);
  }
};
/// The functions that differ most come first.
std::vector<CallChange> changes_between(const ReportLane& before, const ReportLane& after);

struct Interval {
  double low = 0;
  double high = 0;

  [[nodiscard]] bool contains(double value) const { return low <= value && value <= high; }
};
/// The 95 % interval of the difference of two means, after minus before, whose variances may differ (Welch's
/// t interval). `nullopt`: one of them has fewer than two values.
std::optional<Interval> difference_of_means(std::span<const double> before, std::span<const double> after);

/// The answer's kind is "change" or "none", its candidate the later version. earliest and latest bound the
/// later version's run if both versions have several recordings. holds: the answer is not an effect of noise.
ReportAnswer change_of(const ProgramVersion& before, const ProgramVersion& after);

}  // namespace offramp
