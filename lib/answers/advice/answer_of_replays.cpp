// With one side, the answer describes that replay. With several, it names the fastest side that carries the
// program. Free algorithms of the baseline are preferred to hardware: they have to save kWorthwhile, and the
// hardware has to be faster by that share. `offramp advise` searches for further candidates; this file
// compares the given ones only.
#include <fmt/format.h>

#include <algorithm>

#include "lib/answers/advice/answer_parts.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"

namespace offramp {
namespace {

/// The answer from one replay: how long it takes, and what bounds a gain by other hardware.
ReportAnswer answer_of_replay(const ReplayedSide& side, const std::optional<ProgramTimes>& program,
                              const ProgramNames& names) {
  ReportAnswer answer;
  answer.kind = "single";
  answer.baseline = answer.end = end_of(side);
  answer.of_run = side.run != nullptr;
  answer.next = fmt::format("offramp advise {}", names.file);
  const Time alone = side.result->modelled_time;
  const Counters counters = side.result->total();
  if (side.run == nullptr || !program) {
    answer.answer = headline(
        names.name, fmt::format("{} {} over {}", what_text(answer), time_text(answer.end), side.backend));
    std::vector<CallTime> calls;
    for (std::size_t i = 0; i < side.result->functions.size(); ++i)
      calls.emplace_back(counters.calls[i].modelled, side.result->functions[i]);
    answer.why = busiest_calls_text(std::move(calls));
  } else {
    answer.answer = headline(names.name, fmt::format("run {} over {}, {} of it in MPI", time_text(answer.end),
                                                     side.backend, share_text(side.run->share_in_calls())));
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
  add_unmodelled(answer, side.run, names.name);
  return answer;
}

}  // namespace

ReportAnswer answer_of_replays(std::span<const ReplayedSide> sides,
                               const std::optional<ProgramTimes>& program, std::optional<ReplayedSide> tuned,
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
    ReportAnswerBar& bar =
        answer.bars.emplace_back(ReportAnswerBar{std::string(side.backend), {}, "refused"});
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
  const auto ratio_to_base = [&](const ReplayedSide& side) {
    return ratio_of(end_of(side), answer.baseline);
  };
  if (tuned && ratio_to_base(*tuned) > 1 - kWorthwhile) tuned.reset();
  if (tuned) answer.bars.push_back({std::string(tuned->backend), end_of(*tuned), {}});
  sort_bars(answer.bars);
  const ReplayedSide* const hardware = best;
  const bool is_free =
      tuned && (best == nullptr || ratio_to_base(*tuned) < ratio_to_base(*best) + kWorthwhile);
  if (is_free) best = &*tuned;
  answer.kind = name_of(AnswerKind::kBaseline);
  if (best == nullptr) {
    answer.answer = headline(names.name, fmt::format("no hardware carries it; stay with {}", base.backend));
    answer.why = clauses_text(reasons);
    return answer;
  }
  answer.candidate = best->backend;
  answer.end = end_of(*best);
  const double ratio = ratio_to_base(*best);
  const std::string slower = slower_text(ratio);
  if (is_free) {
    answer.kind = name_of(AnswerKind::kAlgorithm);
    answer.answer = headline(names.name, fmt::format("{} with the fastest algorithms, {} {}, free",
                                                     base.backend, what_text(answer), slower));
    answer.next += " --tuning rules.conf";
  } else if (ratio < 0.9995) {
    answer.kind = name_of(AnswerKind::kHardware);
    answer.answer = headline(names.name, fmt::format("{}, {} {}", best->backend, what_text(answer), slower),
                             fmt::format(" ({})", ends_text(answer.end, answer.baseline)));
  } else {
    answer.answer = headline(
        names.name, fmt::format("stay with {}; {}, the closest, is {}", base.backend, best->backend, slower));
  }
  answer.why = clauses_text(reasons_of(base, *best, program));
  answer.sure = "not estimated here; offramp advise includes the models' errors";
  std::vector<std::string> objections;
  if (is_free && hardware != nullptr) {
    objections.push_back(fmt::format("{} {}", hardware->backend, slower_text(ratio_to_base(*hardware))));
  } else if (is_baseline(base.backend)) {
    objections.push_back(other_ground_text(best->result->deployment, base.result->deployment));
  }
  if (tuned && !is_free)
    objections.push_back(
        fmt::format("{} saves {} and costs nothing", tuned->backend, share_text(1 - ratio_to_base(*tuned))));
  for (const ReplayedSide* side : {best, &base}) {
    if (side->run != nullptr && side->run->end < side->result->modelled_time)
      objections.push_back(fmt::format("communication alone over {} takes {}: computing staggers it",
                                       side->backend, time_text(side->result->modelled_time)));
  }
  answer.but = clauses_text(objections);
  add_unmodelled(answer, base.run, names.name);
  return answer;
}

}  // namespace offramp
