// What the answers have in common: short texts, reasons, and certainty.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/advice/answer_of.hpp"

namespace offramp {

/// A program's name is cut to this length in an answer.
inline constexpr std::size_t kLongestName = 28;
/// Other candidates within this share of the best are named.
inline constexpr double kNear = 0.05;

/// As in ReportAnswer::kind.
std::string_view name_of(AnswerKind kind);
/// "7.5 % slower", "2.2 times slower"; "19 % shorter".
std::string slower_text(double ratio);
/// "100 Gb/s": of a node's links.
std::string rate_text(const Candidate& candidate);
/// "NAME: TEXT", with `more` if it fits.
std::string headline(std::string_view name, const std::string& text, const std::string& more = {});

/// The end of the run, or of communication if no computing is known.
inline Time end_of(const ReplayedSide& side) {
  return side.run != nullptr ? side.run->end : side.result->modelled_time;
}

/// Why the hardware takes less time than the baseline, or more, the largest part first. Both must have
/// results.
std::vector<std::string> reasons_of(const ReplayedSide& baseline, const ReplayedSide& hardware,
                                    const std::optional<ProgramTimes>& program);
std::vector<std::string> reasons_of(const ForecastSide& baseline, const ForecastSide& hardware,
                                    const Operation& operation);

/// "not known: no operation was ever measured on zrlmpi". Empty if the errors of both models are known.
std::string unknown_errors_text(const BackendDescription& side, const BackendDescription& base);
/// Sets the range of the candidate's time, and says how certain the answer is.
void add_range(ReportAnswer& answer, const RatioRange& range, const BackendDescription& side,
               const BackendDescription& base);
/// Adds the ratio's range over the nodes' memory if two digits show it; first if the answer differs.
void add_memory(std::vector<std::string>& texts, const std::optional<RatioRange>& memory);

/// The best free change of the baseline: the algorithm with the largest gain, all algorithms, or the thread.
std::string algorithm_of(const Advisor& advisor);
/// Arguments against the answer, and alternatives, the most important first.
/// end: of the recommended side.
std::vector<std::string> objections_to(const Advisor& advisor, Time end);

}  // namespace offramp
