// The reason for a difference is its largest part, of the runs over the baseline and over the hardware at the
// baseline's link rate:
//
//   hidden  the baseline's communication alone, times the difference of the hidden shares
//   speed   the difference of the communication alone, as far as it prolongs the run
//
// For speed, the size class with the largest difference names the cause: bandwidth for large operations;
// latency, or rounds in collectives, for small ones.
#include "lib/answers/advice/answer_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>

#include "lib/answers/report/link_loads.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

/// A program's name is cut to this length in an answer.
constexpr std::size_t kLongestName = 28;
/// Average bytes from which bandwidth dominates an operation.
constexpr double kLong = 16384;
/// Other candidates within this share of the best are named.
constexpr double kNear = 0.05;

/// "7.5 % slower", "2.2 times slower"; "19 % shorter".
std::string slower_text(double ratio) {
  if (ratio < 1) return share_text(1 - ratio) + " shorter";
  return ratio < 2 ? share_text(ratio - 1) + " slower" : fmt::format("{:.2g} times slower", ratio);
}

Time times(Time time, double factor) {
  return Time::ps(std::llround(static_cast<double>(time.count()) * factor));
}

/// The time of one size class of operations over both sides, all ranks together.
struct SizeDifference {
  std::size_t kind = 0;
  double bytes = 0;
  double calls = 0;
  double baseline = 0;  // seconds
  double hardware = 0;

  [[nodiscard]] double gain() const { return baseline - hardware; }
};

/// The size class with the largest gain, or the largest loss. `nullopt` without operations.
std::optional<SizeDifference> largest_difference(const ReplayResult& baseline, const ReplayResult& hardware,
                                                 bool gains) {
  const auto sum = [](const ReplayResult& result, std::size_t kind, std::size_t size) {
    SizeTable::Entry all;
    for (const ReplayedRank& rank : result.ranks) {
      if (rank.sizes == nullptr) continue;
      const SizeTable::Entry& one = rank.sizes->entry(kind, size);
      all.count += one.count;
      all.bytes += one.bytes;
      all.modelled += one.modelled;
    }
    return all;
  };
  std::optional<SizeDifference> largest;
  for (std::size_t kind = 0; kind < SizeTable::kKinds; ++kind) {
    for (std::size_t size = 0; size < SizeTable::kClasses; ++size) {
      const SizeTable::Entry here = sum(baseline, kind, size);
      const SizeTable::Entry there = sum(hardware, kind, size);
      if (here.count == 0) continue;
      const auto calls = static_cast<double>(here.count);
      const SizeDifference one{kind, static_cast<double>(here.bytes) / calls, calls, here.modelled.seconds(),
                               there.modelled.seconds()};
      const double sign = gains ? 1 : -1;
      if (!largest || sign * one.gain() > sign * largest->gain()) largest = one;
    }
  }
  return largest;
}

std::string speed_text(const ReplayResult& baseline, const ReplayResult& hardware, bool gains) {
  const auto one = largest_difference(baseline, hardware, gains);
  if (!one || (one->gain() > 0) != gains) return {};
  constexpr std::array kKinds = {"sends", "receives", "collectives"};
  const bool collective = one->kind == static_cast<std::size_t>(SizeTable::OperationClass::kCollective);
  const double nanoseconds = 1e9 / one->calls;
  return fmt::format("{}: {} of {} take {} instead of {}",
                     one->bytes >= kLong ? "bandwidth"
                     : collective        ? "rounds"
                                         : "latency",
                     kKinds.at(one->kind), bytes_text(std::round(one->bytes)),
                     time_text(one->hardware * nanoseconds), time_text(one->baseline * nanoseconds));
}

std::string rate_text(const Candidate& candidate) {
  return fmt::format("{:g} Gb/s",
                     static_cast<double>(candidate.result.deployment.node_bits_per_second) / 1e9);
}

/// The end of the run, or of communication if no computing is known.
Time end_of(const ReplayedSide& side) {
  return side.run != nullptr ? side.run->end : side.result->modelled_time;
}

/// Why the hardware takes less time than the baseline, or more. Both must have results.
std::vector<std::string> reasons_of(const ReplayedSide& baseline, const ReplayedSide& hardware,
                                    const std::optional<ProgramTimes>& program) {
  struct Contribution {
    double seconds;  // saved by the hardware
    std::string text;
  };
  const bool gains = end_of(hardware) < end_of(baseline);
  const Time own = baseline.result->modelled_time;
  const Time other = hardware.result->modelled_time;
  double hidden = 0;
  double speed = (own - other).seconds();
  std::string overlap;
  if (program && baseline.run != nullptr && hardware.run != nullptr) {
    const double here = hidden_share(own, *baseline.run, program->free);
    const double there = hidden_share(other, *hardware.run, program->free);
    hidden = own.seconds() * (there - here);
    speed *= 1 - there;
    overlap = fmt::format("{} of communication is hidden ({}: {})", share_text(there), baseline.backend,
                          share_text(here));
  }
  std::vector<Contribution> parts = {{hidden, overlap},
                                     {speed, speed_text(*baseline.result, *hardware.result, gains)}};
  const double sign = gains ? 1 : -1;
  std::stable_sort(parts.begin(), parts.end(), [sign](const Contribution& a, const Contribution& b) {
    return sign * a.seconds > sign * b.seconds;
  });
  std::vector<std::string> texts;
  for (const Contribution& part : parts) {
    if (sign * part.seconds > 0) texts.push_back(part.text);
  }
  return texts;
}

/// Compares at the baseline's link rate, and adds the effect of the hardware's own link.
std::vector<std::string> reasons_of(const Candidate& baseline, const Candidate& hardware,
                                    const std::optional<ProgramTimes>& program) {
  const auto side = [](const Candidate& one, std::optional<WholeRun>& run) {
    run = one.run;
    if (run) run->end = one.fair_end();
    return ReplayedSide{one.backend->name, &one.fair_result(), run ? &*run : nullptr};
  };
  std::optional<WholeRun> first;
  std::optional<WholeRun> second;
  std::vector<std::string> texts = reasons_of(side(baseline, first), side(hardware, second), program);
  if (hardware.at_equal_link)
    texts.push_back(
        fmt::format("at {} {}", rate_text(hardware), slower_text(ratio_of(hardware.end(), baseline.end()))));
  return texts;
}

/// Why the errors of these models are unknown. Empty if they are known.
std::string unknown_errors_text(const BackendDescription& side, const BackendDescription& base) {
  for (const BackendDescription* backend : {&side, &base}) {
    const OperationErrors errors = operation_errors(*backend);
    if (errors.compared > 0) continue;
    return errors.measured == 0
               ? fmt::format("not known: no operation was ever measured on {}", backend->name)
               : fmt::format("not known: {} is fitted to all {} operations measured on it", backend->name,
                             errors.measured);
  }
  return {};
}

/// "the answer holds: 0.75 to 0.86 if dpu is off by 12 % and host by 30 %"
std::string range_text(const RatioRange& range, bool holds, const BackendDescription& side,
                       const BackendDescription& base) {
  const auto error = [](const BackendDescription& backend) {
    return percent_text(operation_errors(backend).nine_tenths, 1, 0);
  };
  const std::string errors = &side == &base ? fmt::format("{} is off by {}", base.name, error(base))
                                            : fmt::format("{} is off by {} and {} by {}", side.name,
                                                          error(side), base.name, error(base));
  return fmt::format("{}: {:.2f} to {:.2f} if {}", holds ? "the answer holds" : "open", range.low, range.high,
                     errors);
}

/// The certainty of the answer, as far as it is known.
std::string sure_text(const Advisor& advisor) {
  const Weighing& all = advisor.weighing();
  if (all.kind == AnswerKind::kUnknown) return {};
  if (all.kind == AnswerKind::kNothing)
    return "the answer holds: " + free_gain_text(*all.sides.free, all.sides.baseline);
  if (all.model == nullptr) return {};
  const BackendDescription& base = *advisor.baseline()->backend;
  const BackendDescription& side = *all.model;
  if (!all.range) {
    if (std::string text = unknown_errors_text(side, base); !text.empty()) return text;
    return advisor.cut_short() ? "not computed (time limit)" : "not known: the models' errors give no result";
  }
  return range_text(*all.range, all.holds, side, base);
}

/// Adds the ratio's range over the nodes' memory if two digits show it; first if the answer differs.
void add_memory(std::vector<std::string>& texts, const std::optional<RatioRange>& memory) {
  if (!memory) return;
  const std::string low = fmt::format("{:.2f}", memory->low);
  const std::string high = fmt::format("{:.2f}", memory->high);
  const auto gains = [](double ratio) { return ratio < 1 - kWorthwhile; };
  if (low != high)
    texts.insert(gains(memory->low) == gains(memory->high) ? texts.end() : texts.begin(),
                 fmt::format("{} to {} by the range of the nodes' memory", low, high));
}

/// The best free change of the baseline: the algorithm with the largest gain, all algorithms, or the thread.
std::string algorithm_of(const Advisor& advisor) {
  if (advisor.weighing().sides.is_by_thread()) return "progress = thread";
  return advisor.algorithms().empty() ? "the fastest algorithms" : advisor.algorithms().front().best;
}

/// Arguments against the answer, and alternatives, the most important first.
std::vector<std::string> objections_to(const Advisor& advisor) {
  const Weighing& all = advisor.weighing();
  const Candidate* const hardware = all.hardware;
  std::vector<std::string> texts;
  if (hardware == nullptr || all.kind == AnswerKind::kNothing) {
    add_memory(texts, all.memory);
    return texts;
  }
  const double now = ratio_of(hardware->fair_end(), all.sides.baseline);
  const bool is_algorithm = all.kind == AnswerKind::kAlgorithm;
  const bool is_mix = all.kind == AnswerKind::kMix;
  if (is_algorithm)
    texts.push_back(fmt::format("{} {}{}", hardware->backend->name, slower_text(now),
                                hardware->at_equal_link
                                    ? fmt::format(", at {} {}", rate_text(*hardware),
                                                  slower_text(ratio_of(hardware->end(), all.sides.baseline)))
                                    : std::string()));
  for (const Influence& one : advisor.influences()) {
    if (is_algorithm || is_mix || !one.turns_round(now)) break;
    texts.push_back(one.at_half == now
                        ? fmt::format("{} is assumed to be 0; {} would change it", one.key, one.value)
                        : fmt::format("{} at {} its {} would change it", one.key,
                                      (one.at_half < 1) != (now < 1) ? "half" : "twice", one.value));
  }
  const bool is_hardware = is_mix || all.kind == AnswerKind::kHardware;
  const std::optional<Time> free = all.sides.at_no_cost();
  const Time end = is_algorithm  ? *free
                   : is_mix      ? *all.sides.mix
                   : is_hardware ? hardware->fair_end()
                                 : all.sides.baseline;
  const std::vector<std::string> backends =
      is_mix ? advisor.mix()->backends() : std::vector{std::string(hardware->backend->name)};
  if (backends.size() > 2) texts.push_back(fmt::format("it needs all of {}", fmt::join(backends, ", ")));
  if (is_hardware && free && 1 - ratio_of(*free, all.sides.baseline) >= kWorthwhile)
    texts.push_back(fmt::format("{} alone saves {} and costs nothing", algorithm_of(advisor),
                                share_text(1 - ratio_of(*free, all.sides.baseline))));
  if (all.progressing && ratio_of(*all.progressing, all.sides.baseline) < 1 - kWorthwhile &&
      ratio_of(*all.progressing, end) < 1 + kNear)
    texts.push_back(
        fmt::format("a plain NIC that makes progress by itself: {}", time_text(*all.progressing)));
  for (const Candidate& one : advisor.candidates()) {
    if (is_hardware && (is_mix || &one != hardware) && !is_baseline(one.backend->name) && one.counts() &&
        ratio_of(one.fair_end(), end) < 1 + kNear)
      texts.push_back(fmt::format("{} takes {}", one.backend->name, time_text(one.fair_end())));
  }
  for (const Candidate& one : advisor.candidates()) {
    const Deployment& deployment = one.result.deployment;
    if (is_hardware && std::ranges::find(backends, one.backend->name) != backends.end() &&
        deployment.node_bits_per_second == 0 && !deployment.text.empty())
      texts.push_back(fmt::format("{} runs on {}", one.backend->name, deployment.text));
  }
  add_memory(texts, all.memory);
  return texts;
}

void add_bars(ReportAnswer& answer, const Advisor& advisor) {
  const Candidate* const base = advisor.baseline();
  for (const Candidate& one : advisor.candidates()) {
    ReportAnswerBar& bar = answer.bars.emplace_back();
    bar.name = one.backend->name;
    if (one.counts()) bar.end = one.end();
    if (!one.refused.empty()) {
      bar.note = one.refused;
    } else if (!one.why_not.empty()) {
      bar.note = fmt::format("carries {} of {}'s time in operations", one.carried.text(), baseline_name());
    } else if (one.at_equal_link && base != nullptr) {
      const std::string ratio = ratio_text(*one.at_equal_link, base->end());
      if (ratio != ratio_text(one.end(), base->end()))
        bar.note = fmt::format("at {} {}", rate_text(*base), ratio);
    }
  }
  const Sides& sides = advisor.weighing().sides;
  const auto add_own = [&](std::string name, const std::optional<Time>& end) {
    if (!end || 1 - ratio_of(*end, sides.baseline) < kWorthwhile) return;
    const auto place = std::find_if(answer.bars.begin(), answer.bars.end(), [&](const ReportAnswerBar& bar) {
      return bar.end <= Time() || bar.end > *end;
    });
    answer.bars.insert(place, {std::move(name), *end, ""});
  };
  add_own(fmt::format("{} tuned", baseline_name()), sides.tuned);
  add_own(fmt::format("{} thread", baseline_name()), sides.threaded);
  if (advisor.weighing().kind == AnswerKind::kMix) add_own("mix", sides.mix);
  for (const BackendDescription* backend : advisor.untried())
    answer.bars.push_back({std::string(backend->name), Time(), "not tried (time limit)"});
}

std::string_view name_of(AnswerKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"unknown",   "nothing",  "baseline", "link",
                                                      "algorithm", "hardware", "mix"};
  return kNames.at(static_cast<std::size_t>(kind));
}

/// The answer behind the program's name, and its reasons.
struct Sentence {
  std::string text;
  std::vector<std::string> why;
  std::string next = "--details";  // options of the next command
  std::string more = {};           // added if it fits
};

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
  Sentence sentence{fmt::format("{}{}, {} {}", all.holds ? "" : "perhaps ", mix_text(mix), what,
                                slower_text(ratio_of(mix.end, all.sides.baseline))),
                    {},
                    "--routes offramp.toml",
                    fmt::format(" ({})", ends_text(mix.end, all.sides.baseline))};
  if (all.hardware != nullptr)
    sentence.why.push_back(fmt::format("{} alone is {}", all.hardware->backend->name,
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
  const std::string free_gain = sides.free ? free_gain_text(*sides.free, sides.baseline) : std::string();
  if (all.kind == AnswerKind::kNothing) {
    const WholeRun& run = *base->run;
    const double waiting = std::min(1.0, ratio_of(advisor.program()->free.in_calls, run.in_calls));
    const std::string share = fmt::format("MPI calls are {} of the run", share_text(run.share_in_calls()));
    if (run.share_in_calls() < 2 * kWorthwhile) return {"none is worth it; " + share, {free_gain}};
    return {fmt::format("none is worth it; {} of MPI time is waiting", share_text(waiting)),
            {"ranks wait for other ranks' computing", free_gain, share},
            "--html advice.html"};
  }
  if (all.kind == AnswerKind::kMix) return mix_sentence(advisor, what);
  if (all.kind == AnswerKind::kAlgorithm) {
    const double gain = 1 - ratio_of(*sides.at_no_cost(), sides.baseline);
    const bool hardware = all.hardware != nullptr && sides.hardware && *sides.hardware < sides.baseline;
    Sentence sentence{fmt::format("{}{} with {}, {} {} shorter, free", all.holds ? "" : "perhaps ",
                                  baseline_name(), algorithm_of(advisor), what, share_text(gain)),
                      {},
                      sides.is_by_thread() ? "--set host.progress=thread" : "--tuning rules.conf"};
    if (hardware)
      sentence.more = fmt::format("; {} {}", all.hardware->backend->name,
                                  share_text(1 - ratio_of(*sides.hardware, sides.baseline)));
    if (sides.is_by_thread()) {
      sentence.why.push_back("the host's operations progress during computing, at the cost of core time");
    } else if (!advisor.algorithms().empty()) {
      const AlgorithmChoice& one = advisor.algorithms().front();
      sentence.why.push_back(fmt::format("{} of {} on {} ranks: {} a call", to_string(one.kind),
                                         bytes_text(static_cast<std::uint64_t>(one.bytes)), one.ranks,
                                         ends_text(one.fastest, one.usual)));
      if (advisor.algorithms().size() > 1)
        sentence.why.push_back(and_more_text(advisor.algorithms().size() - 1));
    }
    return sentence;
  }
  if (advisor.candidates().size() == 1 && advisor.untried().empty())
    return {fmt::format("only {} was given, so nothing is compared", baseline_name()), {}};
  if (all.hardware == nullptr)
    return {fmt::format("no hardware carries it; stay with {}", baseline_name()), {}};
  const std::string_view name = all.hardware->backend->name;
  const double ratio = ratio_of(*sides.hardware, sides.baseline);
  std::vector<std::string> why = reasons_of(*base, *all.hardware, advisor.program());
  if (all.kind == AnswerKind::kHardware)
    return {fmt::format("{}{}, {} {}", all.holds ? "" : "perhaps ", name, what, slower_text(ratio)),
            std::move(why), "--html advice.html",
            fmt::format(" ({})", ends_text(*sides.hardware, sides.baseline))};
  if (all.kind == AnswerKind::kLink)
    return {fmt::format("stay with {}; the gain of {} is its faster link", baseline_name(), name),
            {fmt::format("{} at {}, as {} has: {}", name, rate_text(*base), baseline_name(),
                         std::abs(ratio - 1) < 0.0005 ? std::string("the same time") : slower_text(ratio)),
             fmt::format("at {} {}", rate_text(*all.hardware),
                         slower_text(ratio_of(all.hardware->end(), sides.baseline)))}};
  why.push_back(free_gain);
  if (ratio < 1)
    return {fmt::format("none is worth it; {}, the best, saves {}", name, share_text(1 - ratio)),
            std::move(why)};
  // The bar shows the time at its own link rate.
  const std::string link = all.hardware->at_equal_link ? " at " + rate_text(*base) : std::string();
  return {
      fmt::format("stay with {}; {}{} is {}{}", baseline_name(), name, link.empty() ? ", the closest," : "",
                  ratio < 1.0005 ? std::string("as fast") : slower_text(ratio), link),
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
  answer.answer = answer.complete ? fmt::format("{}: {}", cut_text(program.name, kLongestName), sentence.text)
                                  : fmt::format("best so far, {} of {} tried: {}", tried,
                                                tried + advisor.untried().size(), sentence.text);
  constexpr std::size_t kColumns = 80;
  if (answer.answer.size() + sentence.more.size() <= kColumns) answer.answer += sentence.more;
  answer.why = clauses_text(sentence.why);
  answer.sure = sure_text(advisor);
  answer.but = clauses_text(objections_to(advisor));
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
    answer.candidate = all.hardware->backend->name;
    answer.end = all.hardware->fair_end();
  }
  if (all.range) {
    answer.earliest = times(answer.baseline, all.range->low);
    answer.latest = times(answer.baseline, all.range->high);
  }
  add_bars(answer, advisor);
  return answer;
}

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
    std::ranges::stable_sort(answer.bars, {}, &ReportAnswerBar::end);
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
  std::vector<ReportAnswerBar> without;  // without a valid time
  std::vector<std::string> reasons;      // for the bars without a time
  for (const ReplayedSide& side : sides) {
    ReportAnswerBar bar{std::string(side.backend), {}, "refused"};
    if (side.result == nullptr) {
      without.push_back(std::move(bar));
      continue;
    }
    const Counters counters = side.result->total();
    const CarriedTime carried{counters.times};
    bar.note = carried.share().value_or(1) < 0.995 ? "carries " + carried.text() : std::string();
    if (&side != &base && !carried.carries_program()) {
      reasons.push_back(why_not_carried(side.backend, counters));
      without.push_back(std::move(bar));
      continue;
    }
    bar.end = end_of(side);
    answer.bars.push_back(std::move(bar));
    if (&side != &base && (best == nullptr || end_of(side) < end_of(*best))) best = &side;
  }
  std::stable_sort(
      answer.bars.begin(), answer.bars.end(),
      [](const ReportAnswerBar& one, const ReportAnswerBar& other) { return one.end < other.end; });
  answer.bars.insert(answer.bars.end(), without.begin(), without.end());
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

namespace {

/// Why the operation takes less time over `hardware` than over `baseline`, or more: the time of one element,
/// and the time of its other bytes.
std::vector<std::string> reasons_of(const ForecastSide& baseline, const ForecastSide& hardware,
                                    const Operation& operation) {
  if (!baseline.shortest || !hardware.shortest) return {};
  const std::string_view steps =
      operation.kind != OperationKind::kSend && operation.ranks > 2 ? "rounds" : "latency";
  if (operation.bytes <= element_bytes(operation.element))
    return {fmt::format("{}; bandwidth plays no part at this size", steps)};
  struct Contribution {
    double seconds;  // saved by the hardware
    std::string text;
  };
  const auto rest = [](const ForecastSide& side) { return *side.time - earlier(*side.time, *side.shortest); };
  const auto gain = [](Time one, Time other) { return one.seconds() - other.seconds(); };
  std::vector<Contribution> parts = {
      {gain(*baseline.shortest, *hardware.shortest),
       fmt::format("{}: one element takes {}", steps, ends_text(*hardware.shortest, *baseline.shortest))},
      {gain(rest(baseline), rest(hardware)),
       fmt::format("bandwidth: the other bytes take {}", ends_text(rest(hardware), rest(baseline)))}};
  const double sign = *hardware.time < *baseline.time ? 1 : -1;
  std::ranges::stable_sort(parts, [sign](const Contribution& a, const Contribution& b) {
    return sign * a.seconds > sign * b.seconds;
  });
  std::vector<std::string> texts;
  for (const Contribution& part : parts) {
    if (sign * part.seconds > 0) texts.push_back(part.text);
  }
  return texts;
}

/// Like Weighing::range, for one operation. `nullopt` if the errors are unknown.
std::optional<RatioRange> range_of(const ForecastSide& baseline, const ForecastSide& hardware) {
  const OperationErrors of_side = operation_errors(*hardware.backend);
  const OperationErrors of_base = operation_errors(*baseline.backend);
  if (of_side.compared == 0 || of_base.compared == 0) return std::nullopt;
  const double ratio = ratio_of(*hardware.time, *baseline.time);
  const double error = std::min(of_side.nine_tenths, kLargestError);
  const double base_error = std::min(of_base.nine_tenths, kLargestError);
  return RatioRange{ratio * (1 - error) / (1 + base_error), ratio * (1 + error) / (1 - base_error)};
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
  std::vector<ReportAnswerBar> declining;
  for (const ForecastSide& side : sides) {
    if (!side.time) {
      declining.push_back({std::string(side.backend->name), {}, "declined: " + side.declined});
      continue;
    }
    answer.bars.push_back({std::string(side.backend->name), *side.time, {}});
    if (base == nullptr) {
      base = &side;
    } else if (best == nullptr || *side.time < *best->time) {
      best = &side;
    }
  }
  std::ranges::stable_sort(answer.bars, {}, &ReportAnswerBar::end);
  answer.bars.insert(answer.bars.end(), declining.begin(), declining.end());
  answer.kind = name_of(AnswerKind::kBaseline);
  if (base == nullptr) {
    answer.answer = fmt::format("{}: declined by all", name);
    return answer;
  }
  answer.baseline = *base->time;
  if (best == nullptr) {
    answer.answer =
        fmt::format("{}: only {} carries it, {}", name, base->backend->name, time_text(*base->time));
    return answer;
  }
  answer.candidate = best->backend->name;
  answer.end = *best->time;
  const double ratio = ratio_of(answer.end, answer.baseline);
  const bool gains = ratio < 0.9995;
  if (gains) {
    answer.kind = name_of(AnswerKind::kHardware);
    answer.answer = fmt::format("{}: {}, {}", name, best->backend->name, slower_text(ratio));
  } else {
    answer.answer = fmt::format("{}: {}; {} {}", name, base->backend->name, best->backend->name,
                                ratio < 1.0005 ? std::string("as fast") : slower_text(ratio));
  }
  answer.why = clauses_text(reasons_of(*base, *best, operation));
  answer.sure = unknown_errors_text(*best->backend, *base->backend);
  const std::optional<RatioRange> memory = memory_range_of(*base, *best);
  if (const auto range = range_of(*base, *best)) {
    answer.holds = gains ? range->high < 1 - kWorthwhile : range->low > 1 - kWorthwhile;
    answer.earliest = times(answer.baseline, range->low);
    answer.latest = times(answer.baseline, range->high);
    if (memory)
      answer.holds = answer.holds && (gains ? memory->high < 1 - kWorthwhile : memory->low > 1 - kWorthwhile);
    answer.sure = range_text(*range, answer.holds, *best->backend, *base->backend);
  }
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
                       std::string_view what) {
  for (std::size_t point = 0; point < points.size(); ++point)
    answer.bars.push_back({points[point], side.times[point].value_or(Time()),
                           side.times[point] ? std::string() : std::string("refused")});
  const auto has_time = [](const ReportAnswerBar& bar) { return bar.end > Time(); };
  const auto first = std::ranges::find_if(answer.bars, has_time);
  if (first == answer.bars.end()) {
    answer.answer += fmt::format("{} has no time at any point", side.name);
    return;
  }
  const auto last = std::find_if(answer.bars.rbegin(), answer.bars.rend(), has_time);
  answer.baseline = first->end;
  answer.end = last->end;
  answer.answer += fmt::format("{} {} over {}", what, arrow_text(first->end, last->end), side.name);
  answer.why = fmt::format("from {} to {}", first->name, last->name);
}

}  // namespace

ReportAnswer answer_of_sweep(std::span<const SweepSide> sides, const std::vector<std::string>& points,
                             bool of_run, const std::string& name) {
  const SweepSide& base = sides.front();
  const std::string_view what = of_run ? "run" : "communication";
  ReportAnswer answer;
  answer.kind = "sweep";
  answer.of_run = of_run;
  answer.answer = cut_text(name, kLongestName) + ": ";
  answer.next = "repeat with --details, or --csv";
  if (sides.size() == 1) {
    describe_one_side(answer, base, points, what);
    return answer;
  }
  const std::optional<SweepRatio> lowest = lowest_ratio(sides);
  if (!lowest) {
    answer.answer += fmt::format("no hardware carries it; stay with {}", base.name);
    return answer;
  }
  const std::string& at = points[lowest->point];
  answer.candidate = lowest->side->name;

  answer.end = *lowest->side->times[lowest->point];
  answer.answer +=
      lowest->ratio < 0.9995
          ? fmt::format("{}, {} up to {}, at {}", answer.candidate, what, slower_text(lowest->ratio), at)
          : fmt::format("stay with {}; closest: {}, {} at {}", base.name, answer.candidate,
                        lowest->ratio < 1.0005 ? std::string("as fast") : slower_text(lowest->ratio), at);
  std::vector<std::string> crossovers = {lowest->side->crossover};
  for (const SweepSide& side : sides) {
    if (&side != lowest->side) crossovers.push_back(side.crossover);
  }
  answer.why = clauses_text(crossovers);
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

ReportAnswer answer_of_jobs(std::span<const Settled> replays, std::size_t background_nodes) {
  ReportAnswer answer;
  answer.kind = "jobs";
  answer.next = "repeat with --details";
  const Settled* slowest_over = nullptr;
  const SettledJob* slowest = nullptr;
  const auto name_of = [](const SettledJob& job) {
    return std::filesystem::path(job.program).filename().string();
  };
  const auto slowdown = [](const Settled& replay, const SettledJob& job) {
    return job.slowdown(*replay.result);
  };
  for (const Settled& replay : replays) {
    for (const SettledJob& job : replay.jobs) {
      const std::size_t number = static_cast<std::size_t>(&job - replay.jobs.data()) + 1;
      const Time end = replay.result->end(job.ranks);
      answer.bars.push_back({fmt::format("{}{} {}", replays.size() > 1 ? replay.backend + " " : std::string(),
                                         number, cut_text(name_of(job), 14)),
                             end, fmt::format("{} of alone", ratio_text(end, job.alone))});
      if (slowest == nullptr || slowdown(replay, job) > slowdown(*slowest_over, *slowest)) {
        slowest = &job;
        slowest_over = &replay;
      }
    }
  }
  if (slowest == nullptr) return answer;
  answer.end = slowest_over->result->end(slowest->ranks);
  answer.candidate = slowest_over->backend;
  const double ratio = slowdown(*slowest_over, *slowest);
  const std::string count =
      slowest_over->jobs.size() == 1 ? "1 program" : fmt::format("{} programs", slowest_over->jobs.size());
  answer.answer = ratio < 1.0005 ? fmt::format("{} at once: none takes longer than alone", count)
                                 : fmt::format("{} at once: {} {} than alone, over {}", count,
                                               cut_text(name_of(*slowest), kLongestName), slower_text(ratio),
                                               slowest_over->backend);
  const ReplayResult& result = *slowest_over->result;
  const std::vector<const LinkUse*> links = busiest(result.links, 1);
  const double waited = waited_for(result.links);
  if (!links.empty())
    answer.why =
        clauses_text({waited > 0 ? fmt::format("messages wait {} for shared links", time_text(waited))
                                 : "no message waits for a shared link",
                      fmt::format("the busiest is in use {}",
                                  share_text(ratio_of(links.front()->busy, result.modelled_time)))});
  else
    answer.why = "the programs share no link";
  if (background_nodes > 0) answer.but = fmt::format("with traffic between {} other nodes", background_nodes);
  return answer;
}

}  // namespace offramp
