// The answer names the point at which a backend has its lowest ratio to the first side. The shortest time
// would be misleading: the machine itself changes along a sweep, so only times of one point are comparable.
#include <fmt/format.h>

#include <algorithm>

#include "lib/answers/advice/answer_parts.hpp"
#include "lib/base/format.hpp"

namespace offramp {
namespace {

/// A point of a sweep at which a backend is compared with the first one.
struct SweepRatio {
  const SweepSide* side = nullptr;
  std::size_t point = 0;
  double ratio = 1;
};

/// The lowest ratio of a backend's time to that of the first one. `nullopt` if no point has both times.
std::optional<SweepRatio> lowest_ratio(std::span<const SweepSide> sides) {
  std::optional<SweepRatio> lowest;
  const SweepSide& base = sides.front();
  for (const SweepSide& side : sides.subspan(1)) {
    for (std::size_t point = 0; point < side.times.size(); ++point) {
      if (!side.times[point] || !base.times[point]) continue;
      const double ratio = ratio_of(*side.times[point], *base.times[point]);
      if (!lowest || ratio < lowest->ratio) lowest = {&side, point, ratio};
    }
  }
  return lowest;
}

/// One backend: its first and last times, with a bar per point.
void describe_one_side(ReportAnswer& answer, const SweepSide& side, const std::vector<std::string>& points,
                       const std::string& name) {
  for (std::size_t point = 0; point < points.size(); ++point)
    answer.bars.push_back({points[point], side.times[point].value_or(Time()),
                           side.times[point] ? std::string() : std::string("refused")});
  const auto has_time = [](const ReportAnswerBar& bar) { return bar.end > Time(); };
  const auto first = std::ranges::find_if(answer.bars, has_time);
  if (first == answer.bars.end()) {
    answer.answer = headline(name, side.name + " has no time at any point");
    return;
  }
  const auto last = std::find_if(answer.bars.rbegin(), answer.bars.rend(), has_time);
  answer.baseline = first->end;
  answer.end = last->end;
  answer.answer = headline(
      name, fmt::format("{} {} over {}", what_text(answer), arrow_text(first->end, last->end), side.name));
  answer.why = fmt::format("from {} to {}", first->name, last->name);
}

}  // namespace

std::string crossover_text(const SweepSide& other, const SweepSide& base,
                           const std::vector<std::string>& points) {
  std::vector<std::string> changes;
  std::optional<bool> faster;
  for (std::size_t point = 0; point < points.size(); ++point) {
    if (!base.times[point] || !other.times[point]) continue;
    const bool now = *other.times[point] < *base.times[point];
    if (!faster) changes.emplace_back(now ? "faster" : "not faster");
    if (faster && now != *faster)
      changes.push_back(fmt::format("{} from {} on", now ? "faster" : "not faster", points[point]));
    faster = now;
  }
  if (changes.empty()) return {};
  if (changes.size() == 1)
    return *faster ? fmt::format("{} is faster than {} at every point", other.name, base.name)
                   : fmt::format("{} is not faster than {} at any point", other.name, base.name);
  return fmt::format("{} compared with {}: {} at first, {}", other.name, base.name, changes.front(),
                     fmt::join(changes.begin() + 1, changes.end(), ", "));
}

ReportAnswer answer_of_sweep(std::span<const SweepSide> sides, const std::vector<std::string>& points,
                             bool of_run, const std::string& name, bool crosses) {
  const SweepSide& base = sides.front();
  ReportAnswer answer;
  answer.kind = "sweep";
  answer.of_run = of_run;
  answer.next = "repeat with --details, or --csv";
  if (sides.size() == 1) {
    describe_one_side(answer, base, points, name);
    return answer;
  }
  const std::optional<SweepRatio> lowest = lowest_ratio(sides);
  if (!lowest) {
    answer.answer = headline(name, "no hardware carries it; stay with " + base.name);
    return answer;
  }
  const std::string& at = points[lowest->point];
  answer.candidate = lowest->side->name;
  answer.end = *lowest->side->times[lowest->point];
  const std::string slower = slower_text(lowest->ratio);
  answer.answer = headline(
      name,
      lowest->ratio < 0.9995
          ? fmt::format("{}, {} up to {}, at {}", answer.candidate, what_text(answer), slower, at)
          : fmt::format("stay with {}; closest: {}, {} at {}", base.name, answer.candidate, slower, at));
  std::vector<std::string> crossovers = {crossover_text(*lowest->side, base, points)};
  for (const SweepSide& side : sides) {
    if (&side != lowest->side && &side != &base) crossovers.push_back(crossover_text(side, base, points));
  }
  if (crosses) answer.why = clauses_text(crossovers);
  answer.sure = "not estimated here; offramp advise includes the models' errors";
  for (std::size_t point = 0; point < points.size(); ++point) {
    const SweepSide* fastest = nullptr;
    for (const SweepSide& side : sides) {
      if (side.times[point] && (fastest == nullptr || *side.times[point] < *fastest->times[point]))
        fastest = &side;
    }
    ReportAnswerBar& bar = answer.bars.emplace_back(ReportAnswerBar{points[point], {}, "refused"});
    if (fastest == nullptr) continue;
    bar.end = *fastest->times[point];
    bar.note = fastest->name;
    if (fastest != &base && base.times[point])
      bar.note += fmt::format(" {} of {}", ratio_text(bar.end, *base.times[point]), base.name);
  }
  return answer;
}

}  // namespace offramp
