// From how many ranks on which hardware pays: one program at several numbers of ranks, over each hardware.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/advice/advice.hpp"
#include "lib/answers/report/answer.hpp"

namespace offramp {

/// One hardware at one number of ranks.
struct CurveCell {
  const BackendDescription* backend = nullptr;
  std::optional<Time> end;  // of the run at the baseline's link, or of communication if no computing is known
  std::string why_not;      // why there is no time that counts; empty: there is one
  double carried = 1;       // the part of the baseline's time of operations that the hardware carries
  Deployment deployment = {};

  [[nodiscard]] bool counts() const { return end.has_value() && why_not.empty(); }
};

struct CurvePoint {
  int ranks = 0;
  std::string refused;           // why there is no such program; empty: there is one
  std::vector<CurveCell> cells;  // in the order of the backends; fewer where the search was cut short

  [[nodiscard]] const CurveCell* cell_of(std::string_view backend) const;
  /// The hardware's time over that of the host. Nothing: one of them has none that counts.
  [[nodiscard]] std::optional<double> ratio(std::string_view backend) const;
};

/// One thread.
class RankCurve {
 public:
  /// options: as of an advisor, whose `until` ends it where it is. Configuration and registry outlive it.
  RankCurve(const Configuration& configuration, const Registry& registry, Advisor::Options options);

  // In the order of the ranks.
  /// Replays the program over each hardware. False: time or the user has ended it, and what is known stands.
  bool add(const ReplaySource& source);
  /// There is no such program.
  void refuse(int ranks, std::string why);
  /// Whether another point may be begun. what: it is for, as progress says.
  bool may_go_on(const std::string& what);

  [[nodiscard]] const std::vector<CurvePoint>& points() const { return points_; }
  [[nodiscard]] const std::vector<const BackendDescription*>& backends() const { return options_.backends; }
  /// Times are those of the run, with the program's computing.
  [[nodiscard]] bool with_computing() const { return has_computing_; }
  [[nodiscard]] bool cut_short() const { return cut_short_; }

 private:
  /// The last cell of hardware that carried the program on fewer ranks and no longer does: more are not
  /// tried. Null: it is tried.
  [[nodiscard]] const CurveCell* outgrown(std::string_view backend) const;

  const Configuration& configuration_;
  const Registry& registry_;
  Advisor::Options options_;
  bool has_computing_ = false;
  bool cut_short_ = false;
  std::vector<CurvePoint> points_;
};

/// Numbers of ranks that follow each other in a curve, and at all of which the hardware is faster than the
/// host.
struct PayingRange {
  int from = 0;
  int to = 0;
  bool to_the_end = false;  // of what was found out of the hardware
};
std::vector<PayingRange> paying_ranges(const RankCurve& curve, std::string_view backend);

/// "halo: aie pays from 128 ranks on", and what belongs to it. Its times are those at the last number of
/// ranks.
ReportAnswer answer_of(const RankCurve& curve, const std::string& program);
/// "aie pays from 128 ranks on, not yet at 64". Empty: there is no point at which it can be compared.
std::string paying_text(const RankCurve& curve, std::string_view backend);
/// Where the hardware has no time that counts, and why. Empty: it has one everywhere.
std::string lacking_text(const RankCurve& curve, std::string_view backend);

}  // namespace offramp
