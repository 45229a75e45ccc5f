// The interval is Welch's, with degrees of freedom after Satterthwaite. Student's t at 97.5 % comes from a
// table for whole degrees, rounded down, which widens the interval. Beyond 30 degrees it is 1.96 + 2.5 /
// degrees. Communication is modelled and needs no interval unless it contains recorded waiting or an order of
// arrival (why_not).
#include "lib/answers/report/change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

#include "lib/base/format.hpp"

namespace offramp {
namespace {

/// The longest name of a version at the beginning of an answer.
constexpr std::size_t kLongestName = 24;
/// Smaller differences of communication, as shares of it, are none: they are a few calls more that asked.
constexpr double kSame = 0.001;
/// The smallest difference of communication that is an answer, as a share of the run.
constexpr double kNotable = 0.005;
/// Differences of the imbalance of computing that are named.
constexpr double kImbalance = 0.05;

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// The square of the standard error of the mean.
double error_of(std::span<const double> values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto count = static_cast<double>(values.size());
  return squares / (count - 1) / count;
}

/// Student's t at 97.5 % for whole degrees of freedom.
double student(double degrees) {
  constexpr std::array kTable = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                 2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                 2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees >= static_cast<double>(kTable.size() + 1)) return 1.96 + 2.5 / degrees;
  return kTable[static_cast<std::size_t>(std::max(1.0, degrees)) - 1];
}

Time time_of(double seconds) {
  return Time::ps(std::llround(std::max(0.0, seconds) * 1e12));
}

/// "19 % shorter", "7.5 % longer", "2.2 times as long", "as long"
std::string length_text(double ratio) {
  if (std::abs(ratio - 1) < 0.0005) return "as long";
  if (ratio < 1) return share_text(1 - ratio) + " shorter";
  return ratio < 2 ? share_text(ratio - 1) + " longer" : fmt::format("{:.2g} times as long", ratio);
}

/// One quantity of all recordings, in seconds.
struct Quantity {
  std::vector<double> before;
  std::vector<double> after;

  [[nodiscard]] Time first() const { return time_of(mean_of(before)); }
  [[nodiscard]] Time second() const { return time_of(mean_of(after)); }
  [[nodiscard]] double difference() const { return mean_of(after) - mean_of(before); }
  [[nodiscard]] double ratio() const {
    const double base = mean_of(before);
    return base > 0 ? mean_of(after) / base : 1;
  }
  /// Noise alone does not explain the difference.
  [[nodiscard]] bool is_shown() const {
    const auto interval = difference_of_means(before, after);
    return interval && !interval->contains(0);
  }
};

/// of(replay): a Time.
Quantity quantity(const ProgramVersion& before, const ProgramVersion& after, auto of) {
  const auto all = [&](const ProgramVersion& version) {
    std::vector<double> values;
    for (const VersionReplay& replay : version.replays) values.push_back(of(replay).seconds());
    return values;
  };
  return {all(before), all(after)};
}

double imbalance_of(const ProgramVersion& version) {
  double sum = 0;
  for (const VersionReplay& replay : version.replays) {
    const ReportComputing& computing = *replay.report->computing;
    sum += Computing{computing.sum, computing.largest, static_cast<int>(replay.report->ranks)}.imbalance();
  }
  return sum / static_cast<double>(version.replays.size());
}

/// "MPI_Send: 3 calls fewer, 1.2 ms less"
std::string call_text(const CallChange& change) {
  const std::uint64_t before = change.before.count;
  const std::uint64_t after = change.after.count;
  const std::string calls =
      before == after
          ? std::string()
          : fmt::format("{} {}, ", counted(std::max(before, after) - std::min(before, after), "call"),
                        after < before ? "fewer" : "more");
  return fmt::format("{}, all ranks: {}{} {}", change.name, calls, time_text(change.difference()),
                     change.after.modelled < change.before.modelled ? "less" : "more");
}

/// The differences of machine and program that the reader has to know.
std::vector<std::string> objections(const ProgramVersion& before, const ProgramVersion& after, bool runs) {
  const RunReport& first = *before.replays.front().report;
  const RunReport& second = *after.replays.front().report;
  std::vector<std::string> texts;
  if (first.ranks != second.ranks)
    texts.push_back(fmt::format("{} instead of {}", counted(second.ranks, "rank"), first.ranks));
  if (!runs) return texts;
  const double was = imbalance_of(before);
  const double is = imbalance_of(after);
  if (std::abs(is - was) > kImbalance)
    texts.push_back(fmt::format("imbalance of computing {:.2f} instead of {:.2f}", is, was));
  return texts;
}

/// Both versions, and what their calls and their communication have in common.
struct Comparison {
  const ProgramVersion& before;
  const ProgramVersion& after;
  std::vector<CallChange> calls;
  Quantity communication;
  bool same = false;         // the same calls and the same communication
  bool runs = false;         // the computing is known
  std::string why_not = {};  // communication is more than modelled; empty: it is

  Comparison(const ProgramVersion& before_, const ProgramVersion& after_)
      : before(before_),
        after(after_),
        calls(changes_between(*before.replays.front().lane, *after.replays.front().lane)),
        communication(
            quantity(before, after, [](const VersionReplay& one) { return one.lane->communication; })),
        runs(all_of([](const VersionReplay& one) { return one.lane->run && one.report->computing; })) {
    same = std::abs(communication.ratio() - 1) < kSame &&
           std::all_of(calls.begin(), calls.end(), [](const CallChange& change) {
             return change.before.count == change.after.count && change.before.bytes == change.after.bytes;
           });
    if (!all_of([](const VersionReplay& one) { return one.report->compute == "none"; })) {
      why_not = "communication contains waiting for recorded computing";
    } else if (!all_of([](const VersionReplay& one) { return one.report->arrival_order_dependences == 0; })) {
      why_not = "the order of arrival, as recorded, decides the communication";
    }
  }
  [[nodiscard]] bool all_of(auto of) const {
    return std::all_of(before.replays.begin(), before.replays.end(), of) &&
           std::all_of(after.replays.begin(), after.replays.end(), of);
  }
  [[nodiscard]] std::string name() const { return cut_text(after.name, kLongestName); }
  [[nodiscard]] std::string calls_text() const {
    if (same || calls.empty() || calls.front().difference() <= Time()) return same ? "the same calls" : "";
    return call_text(calls.front());
  }
  [[nodiscard]] ReportAnswer answer_in(const Quantity& times, bool is_change) const {
    ReportAnswer answer;
    answer.kind = is_change ? "change" : "none";
    answer.candidate = after.name;
    answer.but = clauses_text(objections(before, after, runs));
    answer.baseline = times.first();
    answer.end = times.second();
    answer.bars = {{before.name, times.first(), ""}, {after.name, times.second(), ""}};
    return answer;
  }
};

/// The run in two parts: computing, with the waiting for other ranks' computing, and what communication adds.
struct RunParts {
  Quantity run;
  Quantity computing;
  Quantity added;

  explicit RunParts(const Comparison& both)
      : run(quantity(both.before, both.after, [](const VersionReplay& one) { return one.lane->run->end; })),
        computing(quantity(both.before, both.after,
                           [](const VersionReplay& one) { return one.report->computing->free.end; })),
        added(quantity(both.before, both.after, [](const VersionReplay& one) {
          return later(one.lane->run->end, one.report->computing->free.end) - one.report->computing->free.end;
        })) {}

  /// The larger difference comes first. noise: what is said of computing.
  [[nodiscard]] std::vector<std::string> texts(std::string_view noise) const {
    std::vector<std::string> parts = {
        fmt::format("communication adds {}", arrow_text(added.first(), added.second())),
        fmt::format("computing {}{}", arrow_text(computing.first(), computing.second()), noise)};
    if (std::abs(computing.difference()) > std::abs(added.difference())) std::swap(parts[0], parts[1]);
    return parts;
  }
};

/// One recording with two settings, so both runs have the same computing.
ReportAnswer of_one_recording(const Comparison& both) {
  const RunParts parts(both);
  const double ratio = parts.run.ratio();
  ReportAnswer answer = both.answer_in(parts.run, std::abs(ratio - 1) >= kNotable);
  answer.of_run = answer.holds = true;
  const bool is_same = std::abs(ratio - 1) < 0.0005;
  answer.answer = fmt::format("{}: run {}{}", both.name(), length_text(ratio),
                              is_same ? "" : fmt::format(" ({})", ends_text(answer.end, answer.baseline)));
  for (const bool gains : {true, false}) {
    const auto most = std::ranges::find_if(both.calls, [&](const CallChange& one) {
      return gains ? one.after.modelled < one.before.modelled : one.before.modelled < one.after.modelled;
    });
    if (most != both.calls.end()) answer.why = clauses_text({answer.why, call_text(*most)});
  }
  answer.sure = "the same recording, so the same computing on both sides";
  answer.next = "repeat with --details";
  return answer;
}

ReportAnswer of_communication(const Comparison& both) {
  ReportAnswer answer = both.answer_in(both.communication, !both.same);
  answer.holds = both.same || both.why_not.empty();
  answer.answer = both.same ? fmt::format("{}: the same calls and the same communication", both.name())
                            : fmt::format("{}: communication {} ({})", both.name(),
                                          length_text(both.communication.ratio()),
                                          ends_text(answer.end, answer.baseline));
  const std::string sure = both.why_not.empty() ? "communication is modelled" : both.why_not;
  if (!both.runs) {
    answer.why = both.calls_text();
    answer.sure = both.why_not.empty() ? sure + ", and the same in every recording" : sure;
    return answer;
  }
  const RunParts parts(both);
  const std::string run = length_text(parts.run.ratio());
  answer.why =
      both.same ? clauses_text(parts.texts("")) : clauses_text({both.calls_text(), parts.texts("")[0]});
  answer.sure = both.same ? fmt::format("the run is {}: recorded computing, which may be noise", run)
                          : clauses_text({sure, fmt::format("the run, {}, may be noise", run)});
  answer.next = "offramp record --repeat 5 -o FOLDER of both, offramp replay FOLDER FOLDER";
  return answer;
}

/// measured: the interval of the difference of the runs, in seconds. Computing is as recorded, and its noise
/// may hide a change of the communication. So with the same computing on both sides, the run changes by what
/// communication adds: that is the answer if only this difference is shown.
ReportAnswer of_runs(const Comparison& both, const RunParts& parts, const Interval& measured) {
  const double base = parts.run.first().seconds();
  const auto bound = [base](double seconds) { return length_text(base > 0 ? 1 + seconds / base : 1); };
  const auto range = [&](const Interval& one) {
    return fmt::format("{} to {}", bound(one.low), bound(one.high));
  };
  const bool is_measured = !measured.contains(0);
  const Interval modelled = *difference_of_means(parts.added.before, parts.added.after);
  const bool is_certain =
      !is_measured && !modelled.contains(0) && std::abs(parts.added.difference()) > kNotable * base;
  const bool shown = is_measured || is_certain;
  ReportAnswer answer = both.answer_in(parts.run, shown);
  answer.of_run = true;
  answer.holds = shown;
  if (is_certain) answer.end = answer.bars.back().end = time_of(base + parts.added.difference());
  answer.earliest = time_of(base + (is_certain ? modelled : measured).low);
  answer.latest = time_of(base + (is_certain ? modelled : measured).high);
  answer.answer = is_certain ? fmt::format("{}: run {} with the same computing", both.name(),
                                           bound(parts.added.difference()))
                  : shown    ? fmt::format("{}: run {} ({})", both.name(), length_text(parts.run.ratio()),
                                           ends_text(answer.end, answer.baseline))
                             : fmt::format("{}: no change beyond noise", both.name());
  std::vector<std::string> why = parts.texts(parts.computing.is_shown() ? "" : " (noise)");
  why.push_back(both.calls_text());
  answer.why = clauses_text(why);
  answer.sure = fmt::format("{} at 95 %, of {} and {} recordings", range(is_certain ? modelled : measured),
                            both.before.replays.size(), both.after.replays.size());
  if (is_certain) answer.sure += fmt::format("; as measured {}", range(measured));
  answer.next = shown ? "repeat with --details" : "more recordings of both: offramp record --repeat 20";
  return answer;
}

}  // namespace

std::optional<Interval> difference_of_means(std::span<const double> before, std::span<const double> after) {
  if (before.size() < 2 || after.size() < 2) return std::nullopt;
  const double first = error_of(before);
  const double second = error_of(after);
  const double difference = mean_of(after) - mean_of(before);
  const double both = first + second;
  if (both <= 0) return Interval{difference, difference};
  const double degrees = both * both /
                         (first * first / static_cast<double>(before.size() - 1) +
                          second * second / static_cast<double>(after.size() - 1));
  const double half = student(degrees) * std::sqrt(both);
  return Interval{difference - half, difference + half};
}

std::vector<CallChange> changes_between(const ReportLane& before, const ReportLane& after) {
  std::map<std::string, CallChange> changes;
  for (const ReportCall& call : before.calls) changes[call.name].before = call;
  for (const ReportCall& call : after.calls) changes[call.name].after = call;
  std::vector<CallChange> all;
  for (auto& [name, change] : changes) {
    change.name = name;
    all.push_back(std::move(change));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const CallChange& a, const CallChange& b) { return a.difference() > b.difference(); });
  return all;
}

ReportAnswer change_of(const ProgramVersion& before, const ProgramVersion& after) {
  const Comparison both(before, after);
  if (!both.runs) return of_communication(both);
  const std::string& file = before.replays.front().report->file;
  if (!file.empty() && file == after.replays.front().report->file) return of_one_recording(both);
  const RunParts parts(both);
  const std::optional<Interval> interval = difference_of_means(parts.run.before, parts.run.after);
  return interval ? of_runs(both, parts, *interval) : of_communication(both);
}

}  // namespace offramp
