// From parts to a report, in one order for runs and replays (finished()): facts, lanes, places,
// certificates, warnings. A rank's part is itself a report with one lane (own_contribution()); parts are
// added field by field. A rank whose part cannot be read gets a warning.
#include "lib/answers/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/answers/report/lanes.hpp"
#include "lib/answers/report/read_report.hpp"
#include "lib/answers/report/report_timeline.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"
#include "offramp/version.hpp"

namespace offramp {
namespace {

constexpr std::size_t kMostPlaces = 64;  // in a report

/// Those with the most first, and no more of them than a report has.
void sort_places(RunReport& report) {
  std::vector<ReportPlace>& places = report.places;
  report.place_count = places.size();
  std::sort(places.begin(), places.end(), [](const ReportPlace& a, const ReportPlace& b) {
    return a.times != b.times ? a.times > b.times : a.key() < b.key();
  });
  for (std::size_t i = kMostPlaces; i < places.size(); ++i) report.elsewhere += places[i].times;
  places.resize(std::min(places.size(), kMostPlaces));
}

/// The ranks' parts, as far as they can be read, and a report with what they add up to.
struct Gathered {
  RunReport report;
  std::vector<RunReport> parts;
  std::string data;  // certificates

  void add(std::size_t number, const std::string& bytes) {
    Result<RunReport> part = decode_report(bytes);
    const bool is_part = part && part->lanes.front().ranks.size() == 1;
    if (!is_part) {
      report.warnings.push_back(fmt::format("the contribution of rank {} is not readable: {}", number,
                                            part ? "it does not belong to a single rank" : part.error()));
      return;
    }
    part->lanes.front().ranks.front().rank = number;
    add(std::move(*part));
  }

  void add(RunReport part) {
    report.arrival_order_dependences += part.arrival_order_dependences;
    add_fields(report.dependences, part.dependences, kDependenceFields);
    add_rows(report.places, part.places);
    report.elsewhere += part.elsewhere;
    data += part.data_certificate;
    add_rows(report.hosts, part.hosts);
    report.warnings.insert(report.warnings.end(), part.warnings.begin(), part.warnings.end());
    parts.push_back(std::move(part));
  }
};

/// What the reader of a comparison has to know.
void add_comparison_warnings(RunReport& report) {
  if (report.arrival_order_dependences > 0)
    report.warnings.push_back(
        fmt::format("at {} it depended {} on arrival order or a poll; all backends get the same answer, but "
                    "a run over other hardware may get another",
                    counted(report.place_count, "place") + " of the program",
                    counted(report.arrival_order_dependences, "time")));
}

/// For a replay of part of a run.
void add_untimely_end(RunReport& report, const RunFacts& facts) {
  if (report.ended.empty()) return;
  report.complete = false;
  std::sort(report.ended.begin(), report.ended.end(),
            [](const ReportEnd& a, const ReportEnd& b) { return a.reason < b.reason; });
  std::string text = "incomplete: " + facts.replayed_part;
  for (const ReportEnd& end : report.ended)
    text += fmt::format("; {}: {}", ranks_text(end.ranks), end.reason);
  report.warnings.insert(report.warnings.begin(), text);
}

std::string compute_text(const Configuration& configuration, bool is_replay) {
  switch (configuration.compute.kind) {
    case Compute::Mode::kNone:
      return "none";
    case Compute::Mode::kMeasured:
      return is_replay ? "recorded" : "measured";
    case Compute::Mode::kFactor:
      break;
  }
  return fmt::format("{}", configuration.compute.factor);
}

std::string unsettled_text(const std::vector<Settled>& settled) {
  return fmt::format("the report has no modelled times: {}",
                     settled.empty() ? "the run was not simulated as a whole" : settled.front().problem);
}

void add_facts(RunReport& report, std::size_t ranks, const RunFacts& facts,
               const Configuration& configuration, const std::optional<ProgramTimes>& program) {
  report.version = OFFRAMP_VERSION;
  report.command = fmt::format("{}", fmt::join(facts.command, " "));
  if (!facts.command.empty()) {
    report.program = facts.command.front();
    report.arguments.assign(facts.command.begin() + 1, facts.command.end());
  }
  report.date = facts.date;
  report.mpi = facts.mpi;
  report.ucx = facts.ucx;
  report.recordings = facts.recordings;
  report.objects = facts.objects;
  report.settings = facts.settings;
  report.ranks = ranks;
  report.clock = to_string(configuration.clock);
  report.compute = compute_text(configuration, facts.is_replay);
  if (!program) return;
  report.computing = computing_of(*program);
  const Computing& computing = program->computing;
  if (computing.is_ambiguous())
    report.computing->gaps =
        gaps_text(computing.brief_gaps, computing.longer_gaps, to_string(configuration.compute.polling));
}

/// The lane of the backend that carried the run, and those that are compared with it.
void add_lanes(Gathered& gathered, const std::vector<Settled>& settled) {
  RunReport& report = gathered.report;
  report.settled = !settled.empty() && settled.front().result;
  if (report.settled) {
    report.lanes.push_back(settled_lane(settled.front(), gathered.parts, report.ranks));
  } else {
    report.lanes.emplace_back();
    for (const RunReport& part : gathered.parts) add_lane(report.lanes.front(), part.lanes.front());
    report.warnings.push_back(unsettled_text(settled));
  }
  for (std::size_t i = 1; i < settled.size(); ++i) {
    const Settled& other = settled[i];
    if (!other.result) {
      if (report.settled || other.problem != settled.front().problem)
        report.warnings.push_back(fmt::format("{} is not compared: {}", other.backend, other.problem));
      continue;
    }
    report.lanes.push_back(settled_lane(other, gathered.parts, report.ranks));
    if (const std::uint64_t lost = report.lanes.back().given_up; lost > 0)
      report.warnings.push_back(
          fmt::format("{} could not recover from the faults of {}: a run over it would end with an error",
                      other.backend, counted(lost, "operation")));
  }
}

RunReport finished(Gathered& gathered, std::size_t ranks, const RunFacts& facts,
                   const Configuration& configuration, const std::vector<Settled>& settled,
                   const std::optional<ProgramTimes>& program) {
  RunReport& report = gathered.report;
  add_facts(report, ranks, facts, configuration, program);
  add_lanes(gathered, settled);
  add_efficiencies(report);
  keep_drawn_timelines(report);
  sort_places(report);
  report.data_certificate = certificate_of_all(gathered.data);
  if (report.lanes.size() > 1) add_comparison_warnings(report);
  add_untimely_end(report, facts);
  if (!settled.empty()) report.receipts = settled.front().receipts;
  return std::move(report);
}

}  // namespace

ReportDependences dependences_of(const Counters& counters) {
  ReportDependences dependences;
  for (std::size_t i = 0; i < counters.dependences.size(); ++i)
    dependences.*kDependenceFields[i].value = counters.dependences[i];
  return dependences;
}

RunReport run_report(const std::vector<std::string>& ranks, const RunFacts& facts,
                     const Configuration& configuration, const std::vector<Settled>& settled,
                     const std::optional<ProgramTimes>& program) {
  Gathered gathered;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) gathered.add(rank, ranks[rank]);
  return finished(gathered, ranks.size(), facts, configuration, settled, program);
}

RunReport replay_report(int ranks, const RunFacts& facts, const Configuration& configuration,
                        const std::vector<Settled>& settled, const std::optional<ProgramTimes>& program) {
  Gathered gathered;
  RunReport& report = gathered.report;
  if (!settled.empty() && settled.front().result) {
    const ReplayResult& result = *settled.front().result;
    const Counters counters = result.total({0, ranks});
    report.arrival_order_dependences = counters.arrival_order_dependences();
    report.dependences = dependences_of(counters);
    for (const UnfinishedRank& rank : result.unfinished) {
      if (rank.rank < ranks)
        add_rows(report.ended, {{{static_cast<std::uint64_t>(rank.rank)}, rank.reason()}});
    }
  }
  report.hosts.push_back({look_at_host(), 0});
  return finished(gathered, static_cast<std::size_t>(ranks), facts, configuration, settled, program);
}

}  // namespace offramp
