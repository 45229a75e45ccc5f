// A program over one backend, in the figures that answers compare. Replays, sweeps, curves over ranks, and
// lanes of reports all contain it, so that a verdict reads the same figures wherever they come from.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "lib/answers/replay/replay_result.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/format.hpp"

namespace offramp {

/// The sum over all ranks.
struct CarriedTime : OperationTimes {
  /// The share of the operations' time in MPI calls that the hardware carries. `nullopt` if no operation
  /// takes time, or the times are unknown.
  [[nodiscard]] std::optional<double> share() const {
    return total() > Time() ? std::optional(carried.seconds() / total().seconds()) : std::nullopt;
  }
  /// Hardware that declines more than nine tenths of the time does not carry the program: times over it are
  /// those of the host that does, and no gain of the hardware. What routes give to other hardware is asked
  /// for.
  [[nodiscard]] bool carries_program() const {
    return total() <= Time() || (carried + routed).seconds() >= kLeast * total().seconds();
  }
  /// True if the host carries a share that is worth a note.
  [[nodiscard]] bool is_partial() const { return share().value_or(1) < kWhole; }
  [[nodiscard]] std::string text() const {
    return share() ? percent_text(carried, total()) : std::string("-");
  }

 private:
  static constexpr double kLeast = 0.1;
  static constexpr double kWhole = 0.995;

  [[nodiscard]] Time total() const { return carried + routed + declined; }
};

struct BackendResult {
  std::string backend;
  std::string problem = {};          // why there is no time; empty: there is one
  Time modelled_time = {};           // of the replay: the end of the rank that ends last
  std::optional<WholeRun> run = {};  // with the program's computing; `nullopt`: unknown, or in modelled_time
  CarriedTime time = {};             // of the operations that the hardware carries or declines
  std::string declined = {};         // the most frequent reason for declines
  Deployment deployment = {};
  std::string part = {};  // the extent of an incomplete replay; empty: it is complete

  /// The end of the run, or of the communication if no computing is known.
  [[nodiscard]] Time end() const { return run ? run->end : modelled_time; }
  /// True if its time is that of the hardware.
  [[nodiscard]] bool counts() const { return problem.empty() && time.carries_program(); }
  /// "aie does not carry this program (3.1 % of its operations' time): more than 65 ranks". Empty if it does.
  /// label: names the backend.
  [[nodiscard]] std::string why_not_carried(std::string_view label) const {
    if (time.carries_program()) return {};
    return fmt::format("{} does not carry this program ({} of its operations' time){}{}", label, time.text(),
                       declined.empty() ? "" : ": ", declined);
  }
  [[nodiscard]] std::string why_not_carried() const { return why_not_carried(backend); }
  /// Why it does not count. Empty if it does.
  [[nodiscard]] std::string why_not() const { return problem.empty() ? why_not_carried() : problem; }
};
BackendResult backend_result_of(std::string_view backend, const ReplayResult& result);

}  // namespace offramp
