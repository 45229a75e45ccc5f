// From how many ranks which hardware pays: one program at several numbers of ranks over each backend.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/advice/advice.hpp"
#include "lib/answers/report/answer.hpp"

namespace offramp {

struct CurvePoint {
  int ranks = 0;
  bool has_many_nodes = false;  // kManyNodes or more
  std::string refused;          // why the program does not exist at this size; empty: it does
  std::vector<BackendResult>
      cells;  // at equal link rates; in the order of the backends, fewer if it was cut short

  /// The ratios of hardware whose models have known errors, after RankCurve::find_ranges().
  std::map<std::string, RatioRange, std::less<>> ranges = {};

  [[nodiscard]] const BackendResult* cell_of(std::string_view backend) const;
  /// The hardware's time over the host's. `nullopt` if one of them has no valid time.
  [[nodiscard]] std::optional<double> ratio(std::string_view backend) const;
  /// On many nodes, over the faster of the host and the tuned host.
  [[nodiscard]] std::optional<double> fair_ratio(std::string_view backend) const;
  /// Both ends of fair_ratio(), with the errors of the models and the noise of computing.
  [[nodiscard]] std::optional<RatioRange> fair_range(std::string_view backend) const;
};

/// Use it from one thread.
class RankCurve {
 public:
  /// options: as for an advisor; `until` ends the search. Configuration and registry must outlive it.
  RankCurve(const Configuration& configuration, const Registry& registry, Advisor::Options options);

  // Add points in increasing order of ranks.
  /// Replays the program over each backend. False if the time limit or the user ended it; results so far are
  /// kept.
  bool add(const ReplaySource& source);
  /// Finds the ranges of all points. The programs of all sources must still exist. Without time, ranges are
  /// missing.
  void find_ranges();
  /// Adds a point at which the program does not exist.
  void refuse(int ranks, std::string why);
  /// True if another point may begin. what: its purpose, for the progress callback.
  bool may_go_on(const std::string& what);

  [[nodiscard]] const std::vector<CurvePoint>& points() const { return points_; }
  [[nodiscard]] const std::vector<const BackendDescription*>& backends() const { return options_.backends; }
  /// True if the times include the program's computing.
  [[nodiscard]] bool with_computing() const { return has_computing_; }
  [[nodiscard]] bool cut_short() const { return cut_short_; }

 private:
  /// Why more ranks are not tried: the hardware carried fewer and no longer does, or it is far behind. Empty:
  /// they are.
  [[nodiscard]] std::string outgrown(std::string_view backend) const;

  const Configuration& configuration_;
  const Registry& registry_;
  Advisor::Options options_;
  bool has_computing_ = false;
  bool cut_short_ = false;
  std::vector<CurvePoint> points_;
  std::map<int, ReplaySource> sources_;  // by ranks
};

/// Consecutive numbers of ranks at which the hardware saves a worthwhile share of the host's time.
struct PayingRange {
  int from = 0;
  int to = 0;
  bool to_the_end = false;  // to is the last number of ranks tried over the hardware
};
std::vector<PayingRange> paying_ranges(const RankCurve& curve, std::string_view backend);
/// The numbers of ranks from which on hardware pays at one end of its range, and at the other.
struct Thresholds {
  std::optional<int> surely = {};
  std::optional<int> perhaps = {};
};
/// `nullopt` if a range is missing.
std::optional<Thresholds> thresholds_of(const RankCurve& curve, std::string_view backend);

/// "halo: aie pays from 128 ranks on", with reasons. The times are those at the last number of ranks.
ReportAnswer answer_of(const RankCurve& curve, const std::string& program);
/// "aie pays from 128 ranks on, not yet at 64". Empty if no point allows a comparison.
std::string paying_text(const RankCurve& curve, std::string_view backend);
/// The numbers of ranks without a valid time over the hardware, and why. Empty if there are none.
std::string lacking_text(const RankCurve& curve, std::string_view backend);

}  // namespace offramp
