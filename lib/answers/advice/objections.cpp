// An answer about a run becomes "unknown" if a tenth of the time in calls, or of the bytes, has no model.
// Otherwise objections are ordered: a parameter whose change by a factor of 2 reverses the answer, a free
// alternative, other machines, close candidates, memory.
#include <fmt/format.h>

#include <algorithm>

#include "lib/answers/advice/answer_parts.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"

namespace offramp {

std::string algorithm_of(const Advisor& advisor) {
  if (advisor.weighing().sides.is_by_thread()) return "progress = thread";
  return advisor.algorithms().empty() ? "the fastest algorithms" : advisor.algorithms().front().best;
}

std::string price_of_thread(double share) {
  return share > 0 ? fmt::format("at {:g} cores", share) : std::string("on a spare core");
}

std::string price_of(const Weighing& all) {
  return all.sides.is_by_thread() ? price_of_thread(all.thread_share) : "free";
}

void add_unmodelled(ReportAnswer& answer, const std::optional<WholeRun>& run, const std::string& program) {
  constexpr double kMost = 0.1;
  if (!run) return;
  // Where nothing pays because of them, the first line has their share.
  if (run->share_without_model() >= kMost && answer.kind != name_of(AnswerKind::kNothing))
    answer.but = clauses_text(
        {fmt::format("{} of the run is calls without a model", share_text(run->share_without_model())),
         answer.but});
  const std::string text = unmodelled_text(*run);
  if (text.empty()) return;
  answer.but = clauses_text({text, answer.but});
  const double share = run->largest_share_unmodelled();
  if (share < kMost || answer.kind == "single") return;
  answer.answer =
      headline(program, fmt::format("unknown; {} of {} no model", share_text(share),
                                    run->is_unmodelled_by_time() ? "MPI time has" : "all bytes have"));
  answer.sure = "unknown: calls without a model last as long as they did natively";
  answer.kind = name_of(AnswerKind::kUnknown);
  answer.candidate.clear();
  answer.holds = false;
}

std::vector<std::string> objections_to(const Advisor& advisor, Time end) {
  const Weighing& all = advisor.weighing();
  const Candidate* const hardware = all.hardware;
  std::vector<std::string> texts;
  if (hardware == nullptr || all.kind == AnswerKind::kNothing) {
    add_memory(texts, all.memory);
    return texts;
  }
  const double now = ratio_of(hardware->fair().end(), all.sides.baseline);
  const bool is_algorithm = all.kind == AnswerKind::kAlgorithm;
  const bool is_mix = all.kind == AnswerKind::kMix;
  if (is_algorithm) texts.push_back(fmt::format("{} {}", hardware->backend, slower_text(now)));
  for (const Influence& one : advisor.influences()) {
    if (is_algorithm || is_mix || !one.turns_round(now)) break;
    texts.push_back(one.is_zero ? fmt::format("{} is assumed to be 0; {} would change it", one.key, one.value)
                                : fmt::format("{} at {} its {} would change it", one.key,
                                              pays(one.at_half) != pays(now) ? "half" : "twice", one.value));
  }
  const bool is_hardware = is_mix || all.kind == AnswerKind::kHardware;
  const std::optional<Time> free = all.sides.at_no_cost();
  const std::vector<std::string> backends =
      is_mix ? advisor.mix()->backends() : std::vector{hardware->backend};
  if (backends.size() > 2) texts.push_back(fmt::format("it needs all of {}", fmt::join(backends, ", ")));
  if (is_hardware && free && 1 - ratio_of(*free, all.sides.baseline) >= kWorthwhile)
    texts.push_back(fmt::format("{} alone: {} shorter, {}", algorithm_of(advisor),
                                share_text(1 - ratio_of(*free, all.sides.baseline)), price_of(all)));
  const double progressing = all.progressing ? ratio_of(*all.progressing, all.sides.baseline) : 1;
  if (progressing < 1 - kMixWorthwhile ||
      (progressing < 1 - kWorthwhile && ratio_of(*all.progressing, end) < 1 + kNear))
    texts.push_back(fmt::format("asynchronous progress by a plain NIC: {}", time_text(*all.progressing)));
  for (const Candidate& one : advisor.candidates()) {
    if (!is_hardware) break;
    if (std::ranges::find(backends, one.backend) != backends.end() &&
        one.deployment.node_bits_per_second == 0 && !one.deployment.text.empty())
      texts.push_back(fmt::format("{} runs on {}", one.backend, one.deployment.text));
    if ((is_mix || &one != hardware) && !is_baseline(one.backend) && one.counts() &&
        ratio_of(one.fair().end(), end) < 1 + kNear)
      texts.push_back(fmt::format("{} takes {}", one.backend, time_text(one.fair().end())));
  }
  add_memory(texts, all.memory);
  return texts;
}

}  // namespace offramp
