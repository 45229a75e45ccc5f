// Each AnswerKind has its own sentence and its own next command. Bars and the candidate's time are at the
// baseline's link rate (fair_end()), so a faster link alone never wins; it is a kind of its own. The
// certainty comes from certainty.cpp, the arguments against the answer from objections.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lib/answers/advice/answer_parts.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

std::string rate_text(const Candidate& candidate) {
  return fmt::format("{:g} Gb/s", static_cast<double>(candidate.deployment.node_bits_per_second) / 1e9);
}

void add_bars(ReportAnswer& answer, const Advisor& advisor) {
  const Candidate* const base = advisor.baseline();
  for (const Candidate& one : advisor.candidates()) {
    ReportAnswerBar& bar = answer.bars.emplace_back();
    bar.name = one.backend;
    if (one.counts()) bar.end = one.fair().end();
    if (!one.problem.empty()) {
      bar.note = one.problem;
    } else if (!one.counts()) {
      bar.note = fmt::format("offloads {} of the host's communication", one.time.text());
    } else if (one.at_equal_link) {
      const std::string ratio = ratio_text(one.end(), base->end());
      if (ratio != ratio_text(bar.end, base->end()))
        bar.note = fmt::format("at {} {}", rate_text(one), ratio);
    }
  }
  const Sides& sides = advisor.weighing().sides;
  const auto add_own = [&](std::string name, const std::optional<Time>& end) {
    if (end && 1 - ratio_of(*end, sides.baseline) >= kWorthwhile)
      answer.bars.push_back({std::move(name), *end, ""});
  };
  add_own(std::string(kTunedHost), sides.tuned);
  add_own(fmt::format("{} thread", baseline_name()), sides.threaded);
  if (advisor.weighing().kind == AnswerKind::kMix) add_own("mix", sides.mix);
  for (const BackendDescription* backend : advisor.untried())
    answer.bars.push_back({std::string(backend->name), Time(), "not tried (time limit)"});
  sort_bars(answer.bars);
}

/// The answer behind the program's name, and its reasons.
struct Sentence {
  std::string text;
  std::vector<std::string> why;
  std::string next = "--details";  // options of the next command
  std::string more = {};           // added if it fits
};

/// "; a self-progressing NIC is as fast", or faster: the plain host then needs no hardware. Empty if it is
/// not.
std::string rival_text(const Weighing& all, Time end) {
  if (!all.progressing || ratio_of(*all.progressing, end) > 1 + kWorthwhile) return {};
  return fmt::format("; a self-progressing NIC is {}",
                     ratio_of(*all.progressing, end) < 1 - kWorthwhile ? "faster" : "as fast");
}

/// "allreduce to 1.0 KiB over aie". Empty if the first line says it all.
std::string route_text(const Route& route, bool is_only) {
  const bool has_limit = route.max_bytes < std::numeric_limits<std::size_t>::max();
  if (is_only && route.min_bytes == 0 && !has_limit) return {};
  return fmt::format(
      "{}{}{} over {}", to_string(*route.operation),
      route.min_bytes > 0 ? fmt::format(" from {}", bytes_text(std::uint64_t{route.min_bytes}))
                          : std::string(),
      has_limit ? fmt::format(" to {}", bytes_text(std::uint64_t{route.max_bytes})) : std::string(),
      route.backend);
}

/// "host with aie for allreduce", or "a mix of host, aie, dpu" if several operations are routed.
std::string mix_text(const Mix& mix) {
  const bool is_one = mix.routes.size() == 1;
  return is_one ? fmt::format("{} with {} for {}", mix.backend, mix.routes.front().backend,
                              to_string(*mix.routes.front().operation))
                : fmt::format("a mix of {}", fmt::join(mix.backends(), ", "));
}

Sentence mix_sentence(const Advisor& advisor, std::string_view what) {
  const Weighing& all = advisor.weighing();
  const Mix& mix = *advisor.mix();
  Sentence sentence{fmt::format("{}{}, {} {}{}", all.holds ? "" : "perhaps ", mix_text(mix), what,
                                slower_text(ratio_of(mix.end, all.sides.baseline)), rival_text(all, mix.end)),
                    {},
                    "--routes offramp.toml",
                    fmt::format(" ({})", ends_text(mix.end, all.sides.baseline))};
  if (all.hardware != nullptr)
    sentence.why.push_back(fmt::format("{} alone is {}", all.hardware->backend,
                                       slower_text(ratio_of(*all.sides.hardware, all.sides.baseline))));
  for (const Route& route : mix.routes) sentence.why.push_back(route_text(route, mix.routes.size() == 1));
  const auto faster = [](const Candidate& one) { return one.at_equal_link.has_value(); };
  if (std::ranges::any_of(advisor.candidates(), faster))
    sentence.why.push_back(fmt::format("all links at {}", rate_text(*advisor.baseline())));
  return sentence;
}

Sentence sentence_of(const Advisor& advisor) {
  const Weighing& all = advisor.weighing();
  const Candidate* const base = advisor.baseline();
  const Sides& sides = all.sides;
  const std::string_view what = base != nullptr && base->run ? "run" : "communication";
  if (all.kind == AnswerKind::kUnknown)
    return {fmt::format("no comparison is possible: {} has no result", baseline_name()), {}};
  if (base->result->ranks.size() == 1) return {"one rank does not communicate; no hardware changes it", {}};
  const std::string free_gain = sides.free ? free_gain_text(*sides.free, sides.baseline) : std::string();
  if (all.kind == AnswerKind::kNothing) {
    const WholeRun& run = *base->run;
    const double waiting = std::min(1.0, ratio_of(advisor.program()->free.in_calls, run.in_calls));
    const std::string share = fmt::format("MPI calls are {} of the run", share_text(run.share_in_calls()));
    const double without_model = run.share_without_model();
    if (without_model > std::max(run.share_in_calls(), kWorthwhile))
      return {fmt::format("none is worth it; {} is calls without a model", share_text(without_model)),
              {"they last as long as natively", free_gain}};
    // Most of it may be waiting for the receiver of a large message, which free communication does not need.
    constexpr double kMostly = 0.5;
    if (run.share_in_calls() < 2 * kWorthwhile || waiting < kMostly)
      return {"none is worth it; " + share, {free_gain}};
    return {fmt::format("none is worth it; {} of MPI time is waiting", share_text(waiting)),
            {"ranks wait for other ranks' computing", free_gain, share},
            "--html advice.html"};
  }
  if (all.kind == AnswerKind::kMix) return mix_sentence(advisor, what);
  if (all.kind == AnswerKind::kAlgorithm) {
    const double gain = 1 - ratio_of(*sides.at_no_cost(), sides.baseline);
    const bool hardware = all.hardware != nullptr && sides.hardware && *sides.hardware < sides.baseline;
    Sentence sentence{
        fmt::format("{}{} with {}, {} {} shorter, {}", all.holds ? "" : "perhaps ", baseline_name(),
                    algorithm_of(advisor), what, share_text(gain), price_of(all)),
        {},
        sides.is_by_thread() ? "--set host.progress=thread" : "--tuning rules.conf"};
    if (hardware)
      sentence.more = fmt::format("; {} {}", all.hardware->backend,
                                  share_text(1 - ratio_of(*sides.hardware, sides.baseline)));
    if (sides.is_by_thread()) {
      sentence.why.push_back("the host's operations progress during computing, at the cost of core time");
    } else if (!advisor.algorithms().empty()) {
      const AlgorithmChoice& one = advisor.algorithms().front();
      const std::string segments =
          one.segment > 0 ? fmt::format(", {} segments", bytes_text(static_cast<std::uint64_t>(one.segment)))
                          : "";
      sentence.why.push_back(fmt::format("{} of {} on {} ranks{}: {} a call", to_string(one.kind),
                                         bytes_text(static_cast<std::uint64_t>(one.bytes)), one.ranks,
                                         segments, ends_text(one.fastest, one.usual)));
      if (advisor.algorithms().size() > 1)
        sentence.why.push_back(and_more_text(advisor.algorithms().size() - 1));
    }
    return sentence;
  }
  if (advisor.candidates().size() == 1 && advisor.untried().empty())
    return {fmt::format("only {} was given, so nothing is compared", baseline_name()), {}};
  if (all.hardware == nullptr && !advisor.untried().empty()) {
    std::vector<std::string_view> names;
    for (const BackendDescription* backend : advisor.untried()) names.push_back(backend->name);
    return {"no answer yet", {fmt::format("not tried: {}", fmt::join(names, ", "))}};
  }
  if (all.hardware == nullptr)
    return {fmt::format("no hardware carries it; stay with {}", baseline_name()), {}};
  const std::string_view name = all.hardware->backend;
  const double ratio = ratio_of(*sides.hardware, sides.baseline);
  std::vector<std::string> why = reasons_of(*base, all.hardware->fair(), advisor.program());
  if (all.kind == AnswerKind::kHardware)
    return {
        fmt::format("{}{}, {} {}{}", all.holds ? "" : "perhaps ", name, what, slower_text(ratio),
                    all.than.empty()
                        ? rival_text(all, *sides.hardware)
                        : fmt::format("; {} against {}",
                                      share_text(1 - ratio_of(*sides.hardware, all.reference)), all.than)),
        std::move(why), "--html advice.html",
        fmt::format(" ({})", ends_text(*sides.hardware, sides.baseline))};
  if (all.kind == AnswerKind::kLink)
    return {
        fmt::format("stay with {}; the gain of {} is its faster link", baseline_name(), name),
        {fmt::format("{} at {}, as {} has: {}", name, rate_text(*base), baseline_name(), slower_text(ratio)),
         fmt::format("at {} {}", rate_text(*all.hardware),
                     slower_text(ratio_of(all.hardware->end(), sides.baseline)))}};
  why.push_back(free_gain);
  if (ratio < 1)
    return {fmt::format("none is worth it; {}, the best, saves {}", name, share_text(1 - ratio)),
            std::move(why)};
  const std::string link = all.hardware->at_equal_link ? " at " + rate_text(*base) : std::string();
  return {fmt::format("stay with {}; {}{} is {}{}", baseline_name(), name,
                      link.empty() ? ", the closest," : "", slower_text(ratio), link),
          std::move(why)};
}

}  // namespace

ReportAnswer answer_of(const Advisor& advisor, const ProgramNames& program) {
  const Weighing& all = advisor.weighing();
  const Candidate* const base = advisor.baseline();
  Sentence sentence = sentence_of(advisor);
  ReportAnswer answer;
  answer.complete = advisor.untried().empty();
  const std::size_t tried = advisor.candidates().size();
  answer.answer = headline(
      answer.complete ? program.name
                      : fmt::format("best so far, {} of {} tried", tried, tried + advisor.untried().size()),
      sentence.text, sentence.more);
  answer.why = clauses_text(sentence.why);
  answer.next = fmt::format(
      "{} {}", program.file.empty() ? "repeat with" : fmt::format("offramp advise {}", program.file),
      answer.complete ? sentence.next : std::string("--seconds 600"));
  answer.kind = name_of(all.kind);
  answer.of_run = base != nullptr && base->run.has_value();
  answer.holds = all.holds;
  answer.baseline = all.sides.baseline;
  if (all.kind == AnswerKind::kAlgorithm) {
    answer.candidate = algorithm_of(advisor);
    answer.end = *all.sides.at_no_cost();
  } else if (all.kind == AnswerKind::kMix) {
    answer.candidate = "mix";
    answer.end = *all.sides.mix;
  } else if (all.hardware != nullptr) {
    answer.candidate = all.hardware->backend;
    answer.end = all.hardware->fair().end();
  }
  if (all.kind == AnswerKind::kNothing) {
    if (all.sides.free) answer.sure = "it holds: " + free_gain_text(*all.sides.free, all.sides.baseline);
  } else if (all.error) {
    add_range(answer, all.range, *all.error, {all.reference, all.than}, noise_text(all));
    if (answer.sure.empty())
      answer.sure = advisor.cut_short() ? "not computed" : "not known: the models' errors give no result";
  }
  answer.but = clauses_text(objections_to(advisor, saves_time(all.kind) ? answer.end : answer.baseline));
  add_bars(answer, advisor);
  if (base != nullptr) add_unmodelled(answer, base->run, program.name);
  if (base != nullptr && base->result->ranks.size() == 1) {
    answer.sure.clear();
    answer.bars.clear();
  }
  return answer;
}

}  // namespace offramp
