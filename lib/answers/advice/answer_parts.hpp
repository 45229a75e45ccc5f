// What the answers have in common: short texts, reasons, and certainty.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/advice/answer_of.hpp"

namespace offramp {

/// Other candidates within this share of the best are named.
inline constexpr double kNear = 0.05;

/// The subject of the answer's times.
inline std::string_view what_text(const ReportAnswer& answer) {
  return answer.of_run ? "run" : "communication";
}

/// Why the hardware takes less time than the baseline, or more, the largest part first. Both must have
/// results.
std::vector<std::string> reasons_of(const Settled& baseline, const Settled& hardware,
                                    const std::optional<ProgramTimes>& program);
std::vector<std::string> reasons_of(const ForecastSide& baseline, const ForecastSide& hardware,
                                    const Operation& operation);

/// What add_range() says the candidate is compared with.
struct Reference {
  Time time;
  std::string_view name;  // empty: the answer's baseline
};
/// Says how certain the answer is, and sets the range of the candidate's time if the errors of the models are
/// known. Both ends are shown, whether it holds or not.
void add_range(ReportAnswer& answer, const std::optional<RatioRange>& range, const RatioError& error,
               const Reference& reference, const std::string& noise = {});
/// "computing within 1.2 %". Empty if it changes nothing.
std::string noise_text(const Weighing& all);
/// Adds the range over the nodes' memory if it is worth a line; first if the answer differs.
void add_memory(std::vector<std::string>& texts, const std::optional<RatioRange>& memory);

/// Says which communication has no model, if it is more than 1 % of the time in MPI calls. Above 10 % nothing
/// is known about the run.
void add_unmodelled(ReportAnswer& answer, const std::optional<WholeRun>& run, const std::string& program);

/// The best free change of the baseline: the algorithm with the largest gain, all algorithms, or the thread.
std::string algorithm_of(const Advisor& advisor);
/// "free", or what a thread takes of each rank: "at 0.5 cores", "on a spare core".
std::string price_of(const Weighing& all);
/// What a progress thread takes of each rank's core: "at 0.5 cores", "on a spare core".
std::string price_of_thread(double share);
/// Arguments against the answer, and alternatives, the most important first.
/// end: of the recommended side.
std::vector<std::string> objections_to(const Advisor& advisor, Time end);

}  // namespace offramp
