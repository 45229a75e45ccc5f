// The reason is the largest part of the difference between the runs over the baseline and over the hardware,
// both at the baseline's link:
//
//   hidden  the baseline's communication alone, times the difference of the shares that do not make the runs
//           longer
//   speed   the difference of the communication alone, as far as it makes the run longer
//
// For speed, the sizes of operations name what is faster: long ones bandwidth, short ones latency or, of
// collectives, rounds.
#include "lib/answers/advice/answer_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

/// The longest name of a program at the beginning of an answer.
constexpr std::size_t kLongestName = 28;
/// From here on the bandwidth decides what an operation takes.
constexpr double kLong = 16384;
/// A second candidate is named if it is that near to the first.
constexpr double kNear = 0.05;
/// A mix of hardware is named if it saves that much.
constexpr double kMixWorthwhile = 0.03;

std::string percent(double part) {
  return percent_text(part, 1, part < 0.0995 ? 1 : 0);
}

/// "7.5 % slower", "2.2 times slower"; "19 % shorter".
std::string slower_text(double ratio) {
  if (ratio < 1) return percent(1 - ratio) + " shorter";
  return ratio < 2 ? percent(ratio - 1) + " slower" : fmt::format("{:.2g} times slower", ratio);
}

/// "37.7 instead of 46.5 ms"
std::string ends_text(Time end, Time instead_of) {
  const std::string longer = time_text(instead_of);
  const std::string_view unit = std::string_view(longer).substr(longer.find(' ') + 1);
  const double scale = unit == "s" ? 1 : unit == "ms" ? 1e3 : unit == "us" ? 1e6 : 1e9;
  return fmt::format("{:.3g} instead of {:.3g} {}", scale * end.seconds(), scale * instead_of.seconds(),
                     unit);
}

/// What one size class of operations takes over both sides, all ranks together.
struct SizeDifference {
  std::size_t kind = 0;
  double bytes = 0;
  double calls = 0;
  double baseline = 0;  // seconds
  double hardware = 0;

  [[nodiscard]] double gain() const { return baseline - hardware; }
};

/// The size class with the largest gain, or the largest loss. `nullopt`: there are no operations.
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

std::string speed_text(const Candidate& baseline, const Candidate& hardware, bool gains) {
  const auto one = largest_difference(baseline.result, hardware.fair_result(), gains);
  if (!one || (one->gain() > 0) != gains) return {};
  constexpr std::array kKinds = {"sends", "receives", "collectives"};
  const bool collective = one->kind == static_cast<std::size_t>(SizeTable::Kind::kCollective);
  const double nanoseconds = 1e9 / one->calls;
  return fmt::format("{}: {} of {} take {} instead of {}",
                     one->bytes >= kLong ? "bandwidth"
                     : collective        ? "rounds"
                                         : "latency",
                     kKinds.at(one->kind), bytes_text(std::round(one->bytes)),
                     time_text(one->hardware * nanoseconds), time_text(one->baseline * nanoseconds));
}

std::string rate_text(const Candidate& candidate) {
  return fmt::format("{:g} Gb/s", static_cast<double>(candidate.result.footing.node_bits_per_second) / 1e9);
}

/// Why the hardware takes less than the baseline, or more.
std::vector<std::string> reasons_of(const Candidate& baseline, const Candidate& hardware,
                                    const std::optional<ProgramTimes>& program) {
  struct Part {
    double seconds;  // that the run is shorter
    std::string text;
  };
  const bool gains = hardware.fair_end() < baseline.end();
  const Time own = baseline.result.modelled_time;
  const Time other = hardware.fair_result().modelled_time;
  double hidden = 0;
  double speed = (own - other).seconds();
  std::string overlap;
  if (program && baseline.run && hardware.run) {
    WholeRun run = *hardware.run;
    run.end = hardware.fair_end();
    const double here = hidden_share(own, *baseline.run, program->free);
    const double there = hidden_share(other, run, program->free);
    hidden = own.seconds() * (there - here);
    speed *= 1 - there;
    overlap = fmt::format("{} of communication is hidden, over {} {}", percent(there), baseline.backend->name,
                          percent(here));
  }
  std::vector<Part> parts = {{hidden, overlap}, {speed, speed_text(baseline, hardware, gains)}};
  const double sign = gains ? 1 : -1;
  std::stable_sort(parts.begin(), parts.end(),
                   [sign](const Part& a, const Part& b) { return sign * a.seconds > sign * b.seconds; });
  std::vector<std::string> texts;
  for (const Part& part : parts) {
    if (sign * part.seconds > 0) texts.push_back(part.text);
  }
  if (hardware.at_equal_link)
    texts.push_back(
        fmt::format("at {} {}", rate_text(hardware), slower_text(ratio_of(hardware.end(), baseline.end()))));
  return texts;
}

/// The certainty, as far as it is known.
std::string sure_text(const Advisor& advisor) {
  const Weighing& all = advisor.weighing();
  if (all.kind == AnswerKind::kUnknown) return {};
  if (all.kind == AnswerKind::kNothing)
    return fmt::format("the answer holds: free communication would save {}",
                       percent(std::max(0.0, 1 - ratio_of(*all.sides.free, all.sides.baseline))));
  if (all.kind != AnswerKind::kAlgorithm && all.hardware == nullptr) return {};
  const BackendDescription& base = *advisor.baseline()->backend;
  const BackendDescription& side = all.kind == AnswerKind::kAlgorithm ? base : *all.hardware->backend;
  if (!all.range) {
    for (const BackendDescription* backend : {&side, &base}) {
      const OperationErrors errors = operation_errors(*backend);
      if (errors.compared > 0) continue;
      return errors.measured == 0
                 ? fmt::format("not known: no operation was ever measured on {}", backend->name)
                 : fmt::format("not known: {} is fitted to all {} operations measured on it", backend->name,
                               errors.measured);
    }
    return advisor.cut_short() ? "not computed (time)" : "not known: the models' errors give no result";
  }
  const auto error = [](const BackendDescription& backend) {
    return percent_text(operation_errors(backend).nine_tenths, 1, 0);
  };
  const std::string errors = &side == &base ? fmt::format("{} is off by {}", base.name, error(base))
                                            : fmt::format("{} is off by {} and {} by {}", side.name,
                                                          error(side), base.name, error(base));
  const std::string memory =
      all.memory ? fmt::format("; {:.2f} to {:.2f} by the nodes' memory", all.memory->low, all.memory->high)
                 : std::string();
  return fmt::format("{}: {:.2f} to {:.2f} if {}{}", all.holds ? "the answer holds" : "open", all.range->low,
                     all.range->high, errors, memory);
}

/// The best of the baseline's own choices: the algorithm that gains most, all algorithms, or the thread.
std::string algorithm_of(const Advisor& advisor) {
  if (advisor.weighing().sides.is_by_thread()) return "progress = thread";
  return advisor.algorithms().empty() ? "the fastest algorithms" : advisor.algorithms().front().best;
}

/// What speaks against the answer, and what else there is, the most important first.
std::vector<std::string> objections_to(const Advisor& advisor) {
  const Weighing& all = advisor.weighing();
  const Candidate* const hardware = all.hardware;
  std::vector<std::string> texts;
  if (hardware == nullptr || all.kind == AnswerKind::kNothing) return texts;
  const double now = ratio_of(hardware->fair_end(), all.sides.baseline);
  const bool is_algorithm = all.kind == AnswerKind::kAlgorithm;
  if (is_algorithm)
    texts.push_back(fmt::format("{} {}{}", hardware->backend->name, slower_text(now),
                                hardware->at_equal_link
                                    ? fmt::format(", at {} {}", rate_text(*hardware),
                                                  slower_text(ratio_of(hardware->end(), all.sides.baseline)))
                                    : std::string()));
  for (const Influence& one : advisor.influences()) {
    if (is_algorithm || !one.turns_round(now)) break;
    texts.push_back(one.at_half == now
                        ? fmt::format("{} is assumed to be 0; {} would change it", one.key, one.value)
                        : fmt::format("{} at {} of {} would change it", one.key,
                                      (one.at_half < 1) != (now < 1) ? "half" : "twice", one.value));
  }
  const bool is_hardware = all.kind == AnswerKind::kHardware;
  const std::optional<Time> free = all.sides.at_no_cost();
  const Time end = is_algorithm ? *free : is_hardware ? hardware->fair_end() : all.sides.baseline;
  if (is_hardware && free && 1 - ratio_of(*free, all.sides.baseline) >= kWorthwhile)
    texts.push_back(fmt::format("{} alone saves {} and costs nothing", algorithm_of(advisor),
                                percent(1 - ratio_of(*free, all.sides.baseline))));
  if (all.progressing && ratio_of(*all.progressing, all.sides.baseline) < 1 - kWorthwhile &&
      ratio_of(*all.progressing, end) < 1 + kNear)
    texts.push_back(
        fmt::format("a plain NIC that makes progress by itself: {}", time_text(*all.progressing)));
  if (advisor.mix() && ratio_of(advisor.mix()->end, end) < 1 - kMixWorthwhile)
    texts.push_back(fmt::format("a mix of hardware takes {}", time_text(advisor.mix()->end)));
  for (const Candidate& one : advisor.candidates()) {
    if (is_hardware && &one != hardware && !is_baseline(one.backend->name) && one.counts() &&
        ratio_of(one.fair_end(), end) < 1 + kNear)
      texts.push_back(fmt::format("{} takes {}", one.backend->name, time_text(one.fair_end())));
  }
  if (const Footing& footing = hardware->result.footing;
      is_hardware && footing.node_bits_per_second == 0 && !footing.text.empty())
    texts.push_back(fmt::format("{} runs on {}", hardware->backend->name, footing.text));
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
      bar.note = fmt::format("at {} {}", rate_text(*base), ratio_text(*one.at_equal_link, base->end()));
    }
  }
  const Sides& sides = advisor.weighing().sides;
  const auto add_own = [&](std::string_view how, const std::optional<Time>& end) {
    if (!end || 1 - ratio_of(*end, sides.baseline) < kWorthwhile) return;
    const auto place = std::find_if(answer.bars.begin(), answer.bars.end(), [&](const ReportAnswerBar& bar) {
      return bar.end <= Time() || bar.end > *end;
    });
    answer.bars.insert(place, {fmt::format("{} {}", baseline_name(), how), *end, ""});
  };
  add_own("tuned", sides.tuned);
  add_own("thread", sides.threaded);
  for (const BackendDescription* backend : advisor.untried())
    answer.bars.push_back({std::string(backend->name), Time(), "not tried (time)"});
}

std::string_view name_of(AnswerKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"unknown", "nothing",   "baseline",
                                                      "link",    "algorithm", "hardware"};
  return kNames.at(static_cast<std::size_t>(kind));
}

/// The first line behind the program's name, and the reasons.
struct Sentence {
  std::string text;
  std::vector<std::string> why;
  std::string next = "--details";  // options of the next command
  std::string more = {};           // behind the text, if there is room
};

Sentence sentence_of(const Advisor& advisor) {
  const Weighing& all = advisor.weighing();
  const Candidate* const base = advisor.baseline();
  const Sides& sides = all.sides;
  const std::string_view what = base != nullptr && base->run ? "run" : "communication";
  if (all.kind == AnswerKind::kUnknown)
    return {fmt::format("nothing can be compared, {} has no result", baseline_name()), {}};
  const std::string free_gain =
      sides.free ? fmt::format("communication that takes no time would save {}",
                               percent(std::max(0.0, 1 - ratio_of(*sides.free, sides.baseline))))
                 : std::string();
  if (all.kind == AnswerKind::kNothing) {
    const WholeRun& run = *base->run;
    const double waiting = std::min(1.0, ratio_of(advisor.program()->free.in_calls, run.in_calls));
    const std::string share = fmt::format("MPI calls are {} of the run", percent(run.share_in_calls()));
    if (run.share_in_calls() < 2 * kWorthwhile) return {"none is worth it; " + share, {free_gain}};
    return {fmt::format("none is worth it; {} of MPI time is waiting", percent(waiting)),
            {"ranks wait for other ranks' computing", free_gain, share},
            "--html advice.html"};
  }
  if (all.kind == AnswerKind::kAlgorithm) {
    const double gain = 1 - ratio_of(*sides.at_no_cost(), sides.baseline);
    const bool hardware = all.hardware != nullptr && sides.hardware && *sides.hardware < sides.baseline;
    Sentence sentence{fmt::format("{}{} with {}, {} {} shorter, free", all.holds ? "" : "perhaps ",
                                  baseline_name(), algorithm_of(advisor), what, percent(gain)),
                      {},
                      sides.is_by_thread() ? "--set host.progress=thread" : "--tuning rules.conf"};
    if (hardware)
      sentence.more = fmt::format("; {} {}", all.hardware->backend->name,
                                  percent(1 - ratio_of(*sides.hardware, sides.baseline)));
    if (sides.is_by_thread()) {
      sentence.why.push_back("operations of the host go on while the program computes, on a core's time");
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
    return {fmt::format("none is worth it; {}, the best, saves {}", name, percent(1 - ratio)),
            std::move(why)};
  // Its bar is that of its own link.
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
      "{} {}", program.file.empty() ? "the same with" : fmt::format("offramp advise {}", program.file),
      answer.complete ? sentence.next : std::string("--seconds 600"));
  answer.kind = name_of(all.kind);
  answer.of_run = base != nullptr && base->run.has_value();
  answer.holds = all.holds;
  answer.baseline = all.sides.baseline;
  if (all.kind == AnswerKind::kAlgorithm) {
    answer.candidate = algorithm_of(advisor);
    answer.end = *all.sides.at_no_cost();
  } else if (all.hardware != nullptr) {
    answer.candidate = all.hardware->backend->name;
    answer.end = all.hardware->fair_end();
  }
  if (all.range) {
    const auto times = [&](double ratio) {
      return Time::ps(std::llround(static_cast<double>(answer.baseline.count()) * ratio));
    };
    answer.earliest = times(all.range->low);
    answer.latest = times(all.range->high);
  }
  add_bars(answer, advisor);
  return answer;
}

}  // namespace offramp
