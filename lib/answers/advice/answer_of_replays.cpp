#include "lib/answers/advice/answer_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/format.hpp"

namespace offramp {
namespace {

/// "MPI_Wait 55 %, MPI_Send 30 % of the time in MPI calls". Empty if no call takes time.
std::string busiest_calls_text(const ReplayResult& result) {
  constexpr std::size_t kNamed = 2;
  const Counters counters = result.total();
  std::vector<std::pair<Time, std::string_view>> calls;
  Time all;
  for (std::size_t i = 0; i < result.functions.size(); ++i) {
    const Time time = counters.calls[i].modelled;
    all += time;
    if (time > Time()) calls.emplace_back(time, result.functions[i]);
  }
  std::ranges::stable_sort(calls, [](const auto& one, const auto& other) { return one.first > other.first; });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(kNamed, calls.size()); ++i)
    texts.push_back(fmt::format("{} {}", calls[i].second, share_text(ratio_of(calls[i].first, all))));
  return texts.empty() ? std::string() : fmt::format("{} of the time in MPI calls", fmt::join(texts, ", "));
}

/// The answer from one replay: how long it takes, and what bounds a gain by other hardware.
ReportAnswer answer_of_replay(const ReplayedSide& side, const std::optional<ProgramTimes>& program,
                              const ProgramNames& names) {
  ReportAnswer answer;
  answer.kind = "single";
  answer.baseline = answer.end = end_of(side);
  answer.of_run = side.run != nullptr;
  answer.next = fmt::format("offramp advise {}", names.file);
  const std::string name = cut_text(names.name, kLongestName);
  const Time alone = side.result->modelled_time;
  if (side.run == nullptr || !program) {
    answer.answer = fmt::format("{}: {} {} over {}", name, answer.of_run ? "run" : "communication",
                                time_text(answer.end), side.backend);
    answer.why = busiest_calls_text(*side.result);
  } else {
    answer.answer = fmt::format("{}: run {} over {}, {} of it in MPI", name, time_text(answer.end),
                                side.backend, share_text(side.run->share_in_calls()));
    answer.why = clauses_text(
        {fmt::format("{} of MPI time is waiting for computing",
                     share_text(std::min(1.0, ratio_of(program->free.in_calls, side.run->in_calls)))),
         fmt::format("{} of communication hidden",
                     share_text(hidden_share(alone, *side.run, program->free)))});
    answer.sure = free_gain_text(program->free.end, answer.end);
    answer.bars = {{std::string(side.backend), answer.end, {}},
                   {"free communication", program->free.end, {}}};
    sort_bars(answer.bars);
  }
  const Counters counters = side.result->total();
  const CarriedTime carried{counters.times};
  std::vector<std::string> objections;
  if (!carried.carries_program()) {
    objections.push_back(why_not_carried(side.backend, counters));
  } else if (carried.share().value_or(1) < 0.995) {
    objections.push_back(fmt::format("{} carries {}", side.backend, carried.text()));
  }
  if (side.run != nullptr && side.run->end < alone)
    objections.push_back(
        fmt::format("communication alone takes {}: computing staggers the messages", time_text(alone)));
  answer.but = clauses_text(objections);
  return answer;
}

}  // namespace

ReportAnswer answer_of_replays(std::span<const ReplayedSide> sides,
                               const std::optional<ProgramTimes>& program, std::optional<Time> tuned,
                               const ProgramNames& names) {
  const ReplayedSide& base = sides.front();
  if (sides.size() == 1) return answer_of_replay(base, program, names);
  ReportAnswer answer;
  answer.baseline = end_of(base);
  answer.of_run = base.run != nullptr;
  answer.next = fmt::format("offramp advise {}", names.file);
  const ReplayedSide* best = nullptr;
  std::vector<std::string> reasons;  // for the bars without a time
  for (const ReplayedSide& side : sides) {
    ReportAnswerBar& bar = answer.bars.emplace_back(ReportAnswerBar{std::string(side.backend), {}, "refused"});
    if (side.result == nullptr) continue;
    const Counters counters = side.result->total();
    const CarriedTime carried{counters.times};
    bar.note = carried.share().value_or(1) < 0.995 ? "carries " + carried.text() : std::string();
    if (&side != &base && !carried.carries_program()) {
      reasons.push_back(why_not_carried(side.backend, counters));
      continue;
    }
    bar.end = end_of(side);
    if (&side != &base && (best == nullptr || end_of(side) < end_of(*best))) best = &side;
  }
  sort_bars(answer.bars);
  const std::string name = cut_text(names.name, kLongestName);
  answer.kind = name_of(AnswerKind::kBaseline);
  if (best == nullptr) {
    answer.answer = fmt::format("{}: no hardware carries it; stay with {}", name, base.backend);
    answer.why = clauses_text(reasons);
    return answer;
  }
  answer.candidate = best->backend;
  answer.end = end_of(*best);
  const double ratio = ratio_of(answer.end, answer.baseline);
  if (ratio < 0.9995) {
    answer.kind = name_of(AnswerKind::kHardware);
    answer.answer =
        fmt::format("{}: {}, {} {} ({})", name, best->backend, answer.of_run ? "run" : "communication",
                    slower_text(ratio), ends_text(answer.end, answer.baseline));
  } else {
    answer.answer = fmt::format("{}: stay with {}; {}, the closest, is {}", name, base.backend, best->backend,
                                ratio < 1.0005 ? std::string("as fast") : slower_text(ratio));
  }
  answer.why = clauses_text(reasons_of(base, *best, program));
  answer.sure = "not estimated here; offramp advise includes the models' errors";
  std::vector<std::string> objections;
  if (is_baseline(base.backend))
    objections.push_back(other_ground_text(best->result->deployment, base.result->deployment));
  if (tuned && ratio_of(*tuned, base.result->modelled_time) < 1 - kWorthwhile)
    objections.push_back(fmt::format("{} with its fastest algorithms: communication {}", baseline_name(),
                                     slower_text(ratio_of(*tuned, base.result->modelled_time))));
  for (const ReplayedSide* side : {best, &base}) {
    if (side->run != nullptr && side->run->end < side->result->modelled_time)
      objections.push_back(fmt::format("communication alone over {} takes {}: computing staggers it",
                                       side->backend, time_text(side->result->modelled_time)));
  }
  answer.but = clauses_text(objections);
  return answer;
}

}  // namespace offramp
