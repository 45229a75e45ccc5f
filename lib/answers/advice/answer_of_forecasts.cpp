#include <fmt/format.h>

#include <algorithm>

#include "lib/answers/advice/answer_parts.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"

namespace offramp {
namespace {

/// Like Weighing::range, for one operation. `nullopt` if the errors are unknown.
std::optional<RatioRange> range_of(const ForecastSide& baseline, const ForecastSide& hardware) {
  const auto error = operation_errors(*hardware.backend).error();
  const auto base_error = operation_errors(*baseline.backend).error();
  if (!error || !base_error) return std::nullopt;
  const double ratio = ratio_of(hardware.forecast.time, baseline.forecast.time);
  return RatioRange{ratio * (1 - *error) / (1 + *base_error), ratio * (1 + *error) / (1 - *base_error)};
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
                                 const std::string& name) {
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
  const bool gains = ratio < 0.9995;
  if (gains) {
    answer.kind = name_of(AnswerKind::kHardware);
    answer.answer = fmt::format("{}: {}, {}", name, best->backend->name, slower_text(ratio));
  } else {
    answer.answer =
        fmt::format("{}: {}; {} {}", name, base->backend->name, best->backend->name, slower_text(ratio));
  }
  answer.why = clauses_text(reasons_of(*base, *best, operation));
  const std::optional<RatioRange> memory = memory_range_of(*base, *best);
  const std::optional<RatioRange> range = range_of(*base, *best);
  answer.holds = range && range->agrees(gains) && (!memory || memory->agrees(gains));
  add_range(answer, range, *best->backend, *base->backend);
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
