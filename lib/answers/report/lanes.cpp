// A lane has two origins: a rank's counters while it ran (lane_of_run()), or a world's ranks
// (settled_lane()), whose counts of calls and bytes stay the run's own, while times and what was offloaded
// are the world's (keep_program()). Sums over ranks are by add_lane() in either case.
#include "lib/answers/report/lanes.hpp"

#include <fmt/format.h>

#include <map>

#include "lib/base/certificate.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

constexpr const char* kSizeKinds[] = {"send", "receive", "collective", "access"};
static_assert(std::size(kSizeKinds) == SizeTable::kKinds);

/// name(i): of the function that the counters number i.
std::vector<ReportCall> calls_of(const std::vector<CallCounter>& counters, auto name) {
  std::vector<ReportCall> calls;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    if (counters[i].count > 0) calls.push_back({counters[i], std::string(name(i))});
  }
  return calls;
}

std::vector<ReportCall> calls_of(const ReplayResult& result, const Counters& counters) {
  return calls_of(counters.calls, [&](std::size_t i) -> const std::string& { return result.functions[i]; });
}

std::vector<ReportSize> sizes_of(const SizeTable& table) {
  std::vector<ReportSize> sizes;
  for (std::size_t kind = 0; kind < SizeTable::kKinds; ++kind) {
    for (std::size_t i = 0; i < SizeTable::kClasses; ++i) {
      const SizeTable::Entry& entry = table.entry(kind, i);
      if (entry.count == 0) continue;
      // The class of i bits ends before 2^i; 63 bits are more than any message has.
      const std::uint64_t least = i == 0 ? 0 : std::uint64_t{1} << (i - 1);
      sizes.push_back({kSizeKinds[kind], least, least + (i < 2 ? 0 : least - 1), entry.count, entry.bytes,
                       entry.modelled});
    }
  }
  return sizes;
}

/// One rank's.
ReportLane lane_of(std::string backend, std::size_t rank, Time clock, const Counters& counters,
                   std::vector<ReportCall> calls) {
  ReportLane lane;
  lane.backend = std::move(backend);
  lane.modelled_time = clock;
  lane.time = {counters.times};
  lane.given_up = counters.given_up;
  for (const auto& [what, count] : counters.declines)
    lane.declines.push_back({what.first, what.second, count});
  lane.ranks.push_back({rank, clock, {}, counters.arrival_order_dependences(), {}, {}});
  lane.calls = std::move(calls);
  return lane;
}

/// Once the calls are known.
void finish(ReportLane& lane) {
  for (const ReportCall& call : lane.calls) lane.communication += call.modelled;
  lane.ranks.front().communication = lane.communication;
  lane.ranks.front().calls = lane.calls;
}

ReportLane lane_of(const Settled& settled, std::size_t rank) {
  const ReplayedRank& one = settled.result->ranks[rank];
  ReportLane lane =
      lane_of(settled.backend, rank, one.clock, one.counters, calls_of(*settled.result, one.counters));
  if (one.sizes != nullptr) lane.sizes = sizes_of(*one.sizes);
  if (one.units != nullptr) {
    for (const UnitTimes::Unit& unit : one.units->units())
      lane.units.push_back({std::string(unit.name), unit.spans, unit.busy, unit.in_use.total()});
  }
  lane.ranks.front().certificate = certificate_text(one.certificate);
  return lane;
}

/// The program's are of the run itself, and the rest is the world's.
void keep_program(ReportLane& lane, const ReportLane& live) {
  std::vector<ReportCall> calls = live.calls;
  for (ReportCall& call : calls) {
    const auto settled = std::find_if(lane.calls.begin(), lane.calls.end(),
                                      [&](const ReportCall& other) { return other.name == call.name; });
    const CallCounter none;
    const CallCounter& world = settled != lane.calls.end() ? *settled : none;
    call.offloaded = world.offloaded;
    call.declined = world.declined;
    call.routed = world.routed;
    call.modelled = world.modelled;
  }
  lane.calls = std::move(calls);
  lane.ranks.front().arrival_order_dependences = live.ranks.front().arrival_order_dependences;
}

/// What is shared, of all places together.
std::vector<ReportResource> resources_of(const ReplayResult& result) {
  std::map<std::string, ReportResource> sums;
  for (const ReplayResource& use : result.resources) {
    ReportResource& sum = sums[use.name];
    sum.name = use.name;
    if (sum.count++ == 0 || sum.busiest < use.busy) {
      sum.busiest = use.busy;
      sum.busiest_first_rank = static_cast<std::uint64_t>(use.first_rank);
    }
    sum.busy += use.busy;
    sum.waited += use.waited;
    sum.bytes += use.bytes;
  }
  std::vector<ReportResource> resources;
  for (auto& [name, sum] : sums) resources.push_back(std::move(sum));
  return resources;
}

std::vector<ReportJob> jobs_of(const Settled& settled) {
  const ReplayResult& result = *settled.result;
  std::vector<ReportJob> jobs;
  for (const SettledJob& job : settled.jobs) {
    ReportJob& one = jobs.emplace_back();
    one.program = job.program;
    one.first_rank = static_cast<std::uint64_t>(job.ranks.first);
    one.ranks = static_cast<std::uint64_t>(job.ranks.ranks);
    one.nodes = text_of_nodes(job.nodes);
    one.modelled_time = result.end(job.ranks);
    one.alone = job.alone;
    one.run = job.run;
    if (job.times) one.computing = computing_of(*job.times);
    one.stragglers = result.disturbance(job.ranks);
    one.calls = calls_of(result, result.total(job.ranks));
  }
  return jobs;
}

}  // namespace

std::string text_of_nodes(const std::vector<int>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size();) {
    std::size_t end = i + 1;
    while (end < nodes.size() && nodes[end] == nodes[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", nodes[i]);
    if (end - i > 1) text += fmt::format("-{}", nodes[end - 1]);
    i = end;
  }
  return text;
}

std::string certificate_text(std::uint64_t certificate) {
  return certificate == 0 ? std::string() : fmt::format("{:016x}", certificate);
}

std::string certificate_of_all(const std::string& certificates) {
  if (certificates.empty()) return {};
  return fmt::format("{:016x}", Certificate::digest(std::as_bytes(std::span(certificates))));
}

ReportComputing computing_of(const ProgramTimes& program) {
  const Computing& computing = program.computing;
  return {computing.sum, computing.largest, computing.brief_gaps, computing.longer_gaps, {}, program.free};
}

void add_efficiencies(RunReport& report) {
  if (!report.computing) return;
  const Computing computing{report.computing->sum, report.computing->largest, static_cast<int>(report.ranks)};
  for (ReportLane& lane : report.lanes) {
    if (lane.run) lane.efficiencies = efficiencies_of(computing, *lane.run, report.computing->free);
  }
}

std::string reason_of_most(const std::vector<ReportDecline>& declines) {
  const auto most = std::ranges::max_element(declines, {}, &ReportDecline::count);
  return most == declines.end() ? std::string() : most->reason;
}

BackendResult backend_result_of(std::string_view backend, const ReplayResult& result) {
  const Counters counters = result.total();
  std::vector<ReportDecline> declines;
  for (const auto& [what, count] : counters.declines)
    declines.push_back({what.first, printable(what.second), count});
  return {.backend = std::string(backend),
          .modelled_time = result.modelled_time,
          .time = {counters.times},
          .declined = reason_of_most(declines),
          .deployment = result.deployment};
}

ReportLane lane_of_run(std::string backend, std::size_t rank, const Counters& counters,
                       const char* const* names) {
  ReportLane own = lane_of(std::move(backend), rank, {}, counters,
                           calls_of(counters.calls, [names](std::size_t i) { return names[i]; }));
  finish(own);
  return own;
}

ReportLane settled_lane(const Settled& settled, std::span<const RunReport> parts, std::size_t ranks) {
  const ReplayResult& result = *settled.result;
  ReportLane lane;
  const auto add = [&lane](ReportLane one) {
    finish(one);
    add_lane(lane, one);
  };
  for (const RunReport& part : parts) {
    const ReportLane& live = part.lanes.front();
    ReportLane one = lane_of(settled, static_cast<std::size_t>(live.ranks.front().rank));
    keep_program(one, live);
    add(std::move(one));
  }
  for (std::size_t rank = 0; parts.empty() && rank < ranks; ++rank) add(lane_of(settled, rank));
  lane.backend = settled.backend;
  lane.wire = result.wire;
  std::string certificates;
  for (const ReportRank& rank : lane.ranks) certificates += rank.certificate;
  lane.certificate = certificate_of_all(certificates);
  lane.declined = reason_of_most(lane.declines);
  lane.deployment = result.deployment;
  lane.path = result.path;
  lane.accounts = settled.accounts;
  lane.run = settled.run;
  lane.phases = result.phases;
  lane.resources = resources_of(result);
  lane.links = result.links;
  lane.stragglers = result.disturbance();
  lane.jobs = jobs_of(settled);
  return lane;
}

void add_lane(ReportLane& sum, const ReportLane& part) {
  sum.backend = part.backend;
  sum.modelled_time = later(sum.modelled_time, part.modelled_time);
  sum.communication = later(sum.communication, part.communication);
  sum.time += part.time;
  sum.given_up += part.given_up;
  sum.wire += part.wire;
  add_rows(sum.calls, part.calls);
  add_rows(sum.declines, part.declines);
  add_rows(sum.sizes, part.sizes);
  add_rows(sum.units, part.units);
  sum.ranks.insert(sum.ranks.end(), part.ranks.begin(), part.ranks.end());
}

}  // namespace offramp
