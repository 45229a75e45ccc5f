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

/// "communication alone over dpu takes 2.1 ms: ..." if the run takes less. Empty if it does not.
std::string staggered_text(const Settled& one, const std::string& over, std::string_view what) {
  if (!one.run || one.run->end >= one.modelled_time) return {};
  return fmt::format("communication alone {}takes {}: computing staggers {}", over,
                     time_text(one.modelled_time), what);
}

/// The answer from one replay: how long it takes, and what bounds a gain by other hardware.
void describe_one_replay(ReportAnswer& answer, const Settled& one, const std::optional<ProgramTimes>& program,
                         const ProgramNames& names) {
  answer.kind = "single";
  answer.end = one.end();
  if (!one.run || !program) {
    answer.answer = headline(
        names.name, fmt::format("{} {} over {}", what_text(answer), time_text(answer.end), one.backend));
    const Counters counters = one.result->total();
    std::vector<CallTime> calls;
    for (std::size_t i = 0; i < one.result->functions.size(); ++i)
      calls.emplace_back(counters.calls[i].modelled, one.result->functions[i]);
    answer.why = busiest_calls_text(std::move(calls));
  } else {
    answer.answer = headline(names.name, fmt::format("run {} over {}, {} of it in MPI", time_text(answer.end),
                                                     one.backend, share_text(one.run->share_in_calls())));
    answer.why = clauses_text(
        {fmt::format("free communication leaves {} of MPI time",
                     share_text(std::min(1.0, ratio_of(program->free.in_calls, one.run->in_calls)))),
         fmt::format("{} of communication hidden",
                     share_text(hidden_share(one.modelled_time, *one.run, program->free)))});
    answer.sure = free_gain_text(program->free.end, answer.end);
    answer.bars = {{one.backend, answer.end, {}}, {"free communication", program->free.end, {}}};
    sort_bars(answer.bars);
  }
  std::string carries = one.why_not_carried();
  if (carries.empty() && one.time.is_partial())
    carries = fmt::format("{} carries {}", one.backend, one.time.text());
  answer.but = clauses_text({std::move(carries), staggered_text(one, {}, "the messages")});
}

}  // namespace

ReportAnswer answer_of_replays(std::span<const Settled> replays, std::span<const BackendResult> refused,
                               const std::optional<ProgramTimes>& program, const Settled* tuned,
                               const ProgramNames& names, bool with_computing) {
  const Settled& base = replays.front();
  ReportAnswer answer;
  answer.baseline = base.end();
  answer.of_run = base.run.has_value() || with_computing;
  answer.next = fmt::format("offramp advise {}", names.file);
  if (replays.size() + refused.size() == 1) {
    describe_one_replay(answer, base, program, names);
    add_unmodelled(answer, base.run, names.name);
    return answer;
  }
  const Settled* hardware = nullptr;
  std::vector<std::string> reasons;  // for the bars without a time
  for (const Settled& one : replays) {
    ReportAnswerBar& bar = answer.bars.emplace_back(ReportAnswerBar{one.backend, {}, {}});
    if (one.time.is_partial()) bar.note = "carries " + one.time.text();
    if (&one != &base && !one.counts()) {
      reasons.push_back(one.why_not_carried());
      continue;
    }
    bar.end = one.end();
    if (&one != &base && (hardware == nullptr || one.end() < hardware->end())) hardware = &one;
  }
  for (const BackendResult& one : refused) answer.bars.push_back({one.backend, {}, "refused"});
  const auto ratio_to_base = [&](const Settled& one) { return ratio_of(one.end(), answer.baseline); };
  if (tuned != nullptr && ratio_to_base(*tuned) > 1 - kWorthwhile) tuned = nullptr;
  if (tuned != nullptr) answer.bars.push_back({tuned->backend, tuned->end(), {}});
  sort_bars(answer.bars);
  const bool is_free = tuned != nullptr && (hardware == nullptr ||
                                            ratio_to_base(*tuned) < ratio_to_base(*hardware) + kWorthwhile);
  const Settled* const best = is_free ? tuned : hardware;
  answer.kind = name_of(AnswerKind::kBaseline);
  if (best == nullptr) {
    answer.answer = headline(names.name, fmt::format("no hardware carries it; stay with {}", base.backend));
    answer.why = clauses_text(reasons);
    return answer;
  }
  answer.candidate = best->backend;
  answer.end = best->end();
  if (base.result->ranks.size() == 1) {
    answer.answer = headline(names.name, "one rank does not communicate; no hardware changes it");
    return answer;
  }
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
    objections.push_back(other_ground_text(best->deployment, base.deployment));
  }
  if (tuned != nullptr && !is_free)
    objections.push_back(
        fmt::format("{} saves {} and costs nothing", tuned->backend, share_text(1 - ratio_to_base(*tuned))));
  for (const Settled* one : {best, &base})
    objections.push_back(staggered_text(*one, fmt::format("over {} ", one->backend), "it"));
  answer.but = clauses_text(objections);
  add_unmodelled(answer, base.run, names.name);
  return answer;
}

}  // namespace offramp
