// One operation has no computing, no waiting, and no mix, so the answer is a comparison of two times. It is
// certain only if the ratio stays on one side of 1 with both models' errors and with the slowest and the
// fastest node memory.
#include <fmt/format.h>

#include <algorithm>

#include "lib/answers/advice/answer_parts.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"

namespace offramp {
namespace {

/// Like Weighing::range, for one operation. `nullopt` if the errors are unknown.
std::optional<RatioRange> range_of(double ratio, const RatioError& error) {
  if (!error.is_known()) return std::nullopt;
  const auto at = [&](int sign) { return ratio * error.hardware_factor(sign) / error.host_factor(sign); };
  return RatioRange{at(-1), at(1)};
}

/// Like Weighing::memory, for one operation.
std::optional<RatioRange> memory_range_of(const ForecastSide& baseline, const ForecastSide& hardware) {
  if (!baseline.band || !hardware.band) return std::nullopt;
  const auto [low, high] = std::minmax({ratio_of(hardware.band->first, baseline.band->first),
                                        ratio_of(hardware.band->second, baseline.band->second)});
  return RatioRange{low, high};
}

}  // namespace

ReportAnswer answer_of_forecasts(std::span<const ForecastSide> sides, const Operation& operation,
                                 int ranks_per_node, std::optional<Time> tuned, const std::string& name) {
  ReportAnswer answer;
  const ForecastSide* base = nullptr;
  const ForecastSide* best = nullptr;
  for (const ForecastSide& side : sides) {
    if (!side.time()) {
      answer.bars.push_back({std::string(side.backend->name), {}, "declined: " + side.forecast.declined});
      continue;
    }
    answer.bars.push_back({std::string(side.backend->name), side.forecast.time, {}});
    if (base == nullptr) {
      base = &side;
    } else if (best == nullptr || side.forecast.time < best->forecast.time) {
      best = &side;
    }
  }
  sort_bars(answer.bars);
  answer.kind = name_of(AnswerKind::kBaseline);
  if (base == nullptr) {
    answer.answer = name + ": declined by all";
    return answer;
  }
  answer.baseline = base->forecast.time;
  if (best == nullptr) {
    answer.answer =
        fmt::format("{}: only {} carries it, {}", name, base->backend->name, time_text(base->forecast.time));
    return answer;
  }
  answer.candidate = best->backend->name;
  answer.end = best->forecast.time;
  const double ratio = ratio_of(answer.end, answer.baseline);
  const bool is_tuned = tuned && 1 - ratio_of(*tuned, answer.baseline) >= kWorthwhile;
  const Reference reference = is_tuned ? Reference{*tuned, kTunedHost} : Reference{answer.baseline, {}};
  if (is_tuned) answer.bars.push_back({std::string(kTunedHost), reference.time, {}});
  sort_bars(answer.bars);
  const double fair = ratio_of(answer.end, reference.time);
  const bool gains = fair < 0.9995;
  if (gains) {
    answer.kind = name_of(AnswerKind::kHardware);
    answer.answer = fmt::format("{}: {}, {}", name, best->backend->name, slower_text(ratio));
  } else {
    answer.answer = fmt::format("{}: {}; {} {}", name, is_tuned ? kTunedHost : base->backend->name,
                                best->backend->name, slower_text(fair));
  }
  if (gains && is_tuned) answer.answer += fmt::format("; {} than {}", slower_text(fair), kTunedHost);
  answer.why = clauses_text(reasons_of(*base, *best, operation));
  const std::optional<RatioRange> memory = memory_range_of(*base, *best);
  const RatioError error = ratio_error(best->backend->name, base->backend->name,
                                       {operation.kind, operation.bytes, operation.ranks, ranks_per_node});
  const std::optional<RatioRange> range = range_of(fair, error);
  const bool is_worthwhile = pays(fair);
  answer.holds = range && range->agrees(is_worthwhile) && (!memory || memory->agrees(is_worthwhile));
  add_range(answer, range, error, reference);
  std::vector<std::string> objections;
  if (is_baseline(base->backend->name))
    objections.push_back(other_ground_text(best->deployment, base->deployment));
  for (const ReportAnswerBar& bar : answer.bars) {
    if (gains && bar.end > Time() && bar.name != answer.candidate &&
        ratio_of(bar.end, answer.end) < 1 + kNear)
      objections.push_back(fmt::format("{} takes {}", bar.name, time_text(bar.end)));
  }
  add_memory(objections, memory);
  answer.but = clauses_text(objections);
  return answer;
}

}  // namespace offramp
