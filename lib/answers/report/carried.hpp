// How much of a program hardware carries, and whether that is enough to say what it gains.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
  [[nodiscard]] std::string text() const {
    return share() ? percent_text(carried, total()) : std::string("-");
  }

  static constexpr double kLeast = 0.1;

 private:
  [[nodiscard]] Time total() const { return carried + routed + declined; }
};

/// "aie does not carry this program (3.1 % of the time in its operations): more than 65 ranks"; declines: of
/// which the reason of the most is named.
template <typename Declines>
std::string not_carried_text(std::string_view backend, const CarriedTime& time, const Declines& declines) {
  std::uint64_t most = 0;
  std::string_view reason;
  for (const auto& decline : declines) {
    if (decline.count <= most) continue;
    most = decline.count;
    reason = decline.reason;
  }
  return fmt::format("{} does not carry this program ({} of its operations' time){}{}", backend, time.text(),
                     reason.empty() ? "" : ": ", reason);
}

}  // namespace offramp
