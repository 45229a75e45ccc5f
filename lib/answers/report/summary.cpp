// The few lines that a run prints, and its details.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "lib/answers/report/answer.hpp"
#include "lib/answers/report/link_loads.hpp"
#include "lib/answers/report/report.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "offramp/model/parameter.hpp"

namespace offramp {
namespace {

/// Calls and operations are not the same number: which functions make more than one of each, or none.
std::string why_not_one_each(const std::vector<ReportCall>& calls) {
  std::vector<std::string> several;
  std::vector<std::string> none;
  for (const ReportCall& call : calls) {
    if (call.operations() > call.count) several.push_back(call.name);
    if (call.operations() == 0) none.push_back(call.name);
  }
  std::vector<std::string> parts;
  const auto add = [&parts](const std::vector<std::string>& names, const char* how_many) {
    if (names.empty()) return;
    const bool one = names.size() == 1;
    parts.push_back(fmt::format("{}{} {} {}", names.front(), one ? "" : " and others",
                                one ? "counts as" : "count as", how_many));
  };
  add(several, "several");
  add(none, "none");
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

std::string overview(const RunReport& report) {
  const ReportLane& lane = report.lanes.front();
  CallCounter sum;
  for (const ReportCall& call : lane.calls) sum += call;
  std::string out = fmt::format(
      "offramp: {}, {}; {}{}: {} carried by {}, {} declined, {}{} native{}\n", counted(sum.count, "MPI call"),
      bytes_text(sum.bytes), counted(sum.operations(), "operation"),
      sum.operations() == sum.count ? "" : why_not_one_each(lane.calls), sum.offloaded, lane.backend,
      sum.declined, sum.routed > 0 ? fmt::format("{} routed to others, ", sum.routed) : "", sum.native,
      lane.time.share() ? fmt::format("; {} of their time carried by it", lane.time.text()) : "");
  if (!lane.counts()) out += fmt::format("offramp: {}\n", lane.why_not_carried());
  return out;
}

/// What the hardware declined: all reasons, or the most frequent ones and the number of the others.
std::string declines_text(const ReportLane& lane, bool all) {
  constexpr std::size_t kShown = 3;
  std::vector<ReportDecline> declines = lane.declines;
  std::ranges::stable_sort(declines, std::ranges::greater(), &ReportDecline::count);
  const std::size_t shown = all ? declines.size() : std::min(kShown, declines.size());
  std::string out;
  for (const ReportDecline& decline : std::span(declines).first(shown))
    out += fmt::format("offramp: declined {} x {}: {}\n", decline.count, decline.operation, decline.reason);
  if (shown < declines.size())
    out += fmt::format("offramp: declined for {} more\n", counted(declines.size() - shown, "reason"));
  return out;
}

/// How evenly the ranks spend the time.
std::string time_spent(const ReportLane& lane) {
  Time first = lane.modelled_time;
  for (const ReportRank& rank : lane.ranks) first = earlier(first, rank.modelled_time);
  return fmt::format("offramp: the first rank ends after {}\n", time_text(first));
}

/// The run with the program's computing. Empty if it is unknown.
std::string whole_run_text(const RunReport& report) {
  const ReportLane& lane = report.lanes.front();
  if (!report.computing || !lane.run) return {};
  const ReportComputing& computing = *report.computing;
  const double ranks = std::max(1.0, static_cast<double>(report.ranks));
  std::string out = fmt::format(
      "offramp: with the program's computing ({} per rank, imbalance {}), the run takes {}; {}\n",
      time_text(in_nanoseconds(computing.sum) / ranks),
      ratio_text(in_nanoseconds(computing.largest) * ranks, in_nanoseconds(computing.sum)),
      time_text(lane.run->end),
      share_in_calls_text(lane.backend, lane.run->in_calls, lane.run->sum, computing.free.in_calls));
  if (!computing.gaps.empty()) out += fmt::format("offramp: {}\n", computing.gaps);
  return out;
}

std::string phases_text(const ReportLane& lane) {
  constexpr std::size_t kNamed = 8;
  std::string out;
  for (std::size_t i = 0; i < std::min(kNamed, lane.phases.size()); ++i)
    out += fmt::format("offramp: phase {}: {} on its slowest rank\n", printable(lane.phases[i].name),
                       time_text(lane.phases[i].longest()));
  if (lane.phases.size() > kNamed)
    out += fmt::format("offramp: {} more\n", counted(lane.phases.size() - kNamed, "phase"));
  return out;
}

std::string links_text(const ReportLane& lane) {
  constexpr std::size_t kNamed = 3;
  if (lane.links.empty()) return {};
  std::string out =
      fmt::format("offramp: {} of the network used; messages waited {} in total for other messages\n",
                  counted(lane.links.size(), "link"), time_text(waited_for(lane.links)));
  for (const LinkUse* link : busiest(lane.links, kNamed))
    out += fmt::format("offramp: link {}: busy {} of the run; messages waited {} for it\n",
                       printable(link->name), percent_text(link->busy, lane.modelled_time),
                       time_text(link->waited));
  return out;
}

std::string stragglers_text(const ReportLane& lane) {
  if (!lane.stragglers) return {};
  const Time run = lane.modelled_time;
  const Time without = lane.stragglers->undisturbed;
  const Time cost = later(run, without) - earlier(run, without);
  return fmt::format("offramp: stragglers made the run {} {}, {} of it; longest delay of one processor {}\n",
                     time_text(cost), run < without ? "shorter" : "longer", percent_text(cost, run),
                     time_text(lane.stragglers->longest));
}

/// The machines behind the bars, and why hardware does not carry the program.
std::string notes_on_comparison(const RunReport& report) {
  if (report.lanes.size() < 2) return {};
  Deployment ground;
  for (const ReportLane& lane : report.lanes) {
    if (is_baseline(lane.backend)) ground = lane.deployment;
  }
  std::string notes;
  for (std::size_t i = 1; i < report.lanes.size(); ++i) {
    const ReportLane& lane = report.lanes[i];
    if (!lane.counts()) {
      notes += fmt::format("offramp: {}\n", lane.why_not_carried());
    } else if (const std::string other = other_ground_text(lane.deployment, ground); !other.empty()) {
      notes += fmt::format("offramp: {}: {}\n", lane.backend, other);
    }
  }
  if (!ground.text.empty()) notes += fmt::format("offramp: host runs on {}\n", ground.text);
  return notes;
}

std::string places_text(const RunReport& report) {
  if (report.arrival_order_dependences == 0) return {};
  std::string out = fmt::format(
      "offramp: the modelled time depends on arrival order or polling at {} of the program, {}{}:\n",
      counted(report.place_count, "place"), counted(report.arrival_order_dependences, "time"),
      report.places.size() > kShownPlaces ? "; those with the most" : "");
  for (std::size_t i = 0; i < std::min(kShownPlaces, report.places.size()); ++i) {
    const ReportPlace& place = report.places[i];
    out += fmt::format("offramp: {}\n", place_text(place.times, place.call, printable(place.communicator),
                                                   printable(to_string(place.site))));
  }
  return out;
}

/// The backends, the fastest first. Those that do not carry the program follow without a time.
std::vector<ReportAnswerBar> bars_of(const RunReport& report) {
  std::vector<ReportAnswerBar> bars;
  for (const ReportLane& lane : report.lanes) {
    ReportAnswerBar& bar = bars.emplace_back(ReportAnswerBar{lane.backend, {}, {}});
    if (lane.time.is_partial()) bar.note = "carries " + lane.time.text();
    if (is_baseline(lane.backend) || lane.counts()) bar.end = lane.end();
  }
  sort_bars(bars);
  return bars;
}

ReportAnswer answer_of_run(const RunReport& report) {
  const ReportLane& lane = report.lanes.front();
  ReportAnswer answer;
  const bool is_communication = report.compute.empty() || report.compute == "none";
  answer.answer = fmt::format(
      "{}, {}: {}", lane.backend, counted(report.ranks, "rank"),
      !report.settled
          ? "modelled time not known"
          : fmt::format("{} {}", is_communication ? "communication" : "run", time_text(lane.modelled_time)));
  if (const auto share = lane.time.share(); share && !is_baseline(lane.backend))
    answer.answer += fmt::format(", {} carried", share_text(*share));
  std::vector<CallTime> calls;
  for (const ReportCall& call : lane.calls) calls.emplace_back(call.modelled, call.name);
  std::vector<std::string> reasons = {busiest_calls_text(std::move(calls))};
  if (lane.run && lane.run->sum > Time()) {
    answer.answer += fmt::format("; run {}", time_text(lane.run->end));
    reasons.push_back(fmt::format("MPI calls are {} of the run", share_text(lane.run->share_in_calls())));
    if (report.computing) answer.sure = free_gain_text(report.computing->free.end, lane.run->end);
  }
  answer.why = clauses_text(reasons);
  std::vector<std::string> objections;
  if (lane.run) objections.push_back(unmodelled_text(*lane.run));
  objections.push_back(lane.why_not_carried());
  if (report.arrival_order_dependences > 0)
    objections.push_back(
        fmt::format("it depends on arrival order at {}", counted(report.place_count, "place")));
  answer.but = clauses_text(objections);
  answer.next = "repeat with --details, or OFFRAMP_DETAILS=true";
  if (report.lanes.size() < 2) return answer;
  answer.bars = bars_of(report);
  for (const ReportLane& one : report.lanes) {
    if (is_baseline(one.backend)) answer.baseline = one.end();
  }
  return answer;
}

/// The lines of an answer, as a run prints them.
std::string with_prefix(const std::string& lines) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    text += "offramp: " + lines.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string summary(const RunReport& report, bool details) {
  const ReportLane& lane = report.lanes.front();
  std::string out = with_prefix(answer_text(answer_of_run(report)));
  if (details) out += overview(report);
  out += declines_text(lane, details);
  if (details)
    out += time_spent(lane) + whole_run_text(report) + phases_text(lane) + links_text(lane) +
           stragglers_text(lane) + notes_on_comparison(report) + places_text(report);
  if (lane.wire.rerouted > 0)
    out += fmt::format("offramp: {} rerouted around failed hardware\n",
                       counted(lane.wire.rerouted, "operation"));
  for (const std::string& warning : report.warnings) out += fmt::format("offramp: {}\n", warning);
  return out;
}

}  // namespace offramp
