// How much of a program hardware carries, and whether that is enough to say what it gains.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/report/words.hpp"

namespace offramp {

/// What OperationTimes says, of all ranks together, in any unit.
struct CarriedTime {
  double carried = 0;
  double routed = 0;
  double declined = 0;

  /// Of the time that operations take in MPI calls, the part of those that the hardware carries. Nothing: no
  /// operation takes any, or the times are not known.
  [[nodiscard]] std::optional<double> share() const {
    return all() > 0 ? std::optional(carried / all()) : std::nullopt;
  }
  /// Hardware that declines more than nine tenths of the time does not carry the program: times over it are
  /// those of the host that does, and no gain of the hardware. What routes give to other hardware is asked
  /// for.
  [[nodiscard]] bool carries_program() const { return all() <= 0 || carried + routed >= kLeast * all(); }
  [[nodiscard]] std::string text() const { return share() ? percent_text(carried, all()) : std::string("-"); }

  static constexpr double kLeast = 0.1;

 private:
  [[nodiscard]] double all() const { return carried + routed + declined; }
};

/// The reason of most of the declines, which are of any type; empty without any. count, reason: of one of
/// them.
template <typename Declines, typename Count, typename Reason>
std::string main_reason(const Declines& declines, Count count, Reason reason) {
  std::uint64_t most = 0;
  std::string found;
  for (const auto& decline : declines) {
    if (count(decline) <= most) continue;
    most = count(decline);
    found = reason(decline);
  }
  return found;
}

/// "aie does not carry this program (3.1 % of the time in its operations): more than 65 ranks"; reason:
/// empty, or why it declines most.
inline std::string not_carried_text(std::string_view backend, const CarriedTime& time,
                                    std::string_view reason) {
  return fmt::format("{} does not carry this program ({} of the time of its operations){}{}", backend,
                     time.text(), reason.empty() ? "" : ": ", reason);
}

}  // namespace offramp
