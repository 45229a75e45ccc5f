// The fields of a report, each named once. describe(archive, value) hands the fields of a struct to an
// archive: the writer and the reader of the JSON (docs/report.md), in which ranks send their parts, too, and
// the rows of tables. An archive has:
//
//   kReads                whether it fills the values
//   field(name, value)    a number, a text, a truth value, a Time, or a list of such values or of structs; a
//                         third argument is how many entries a list may have, if not kMostRows. The name of
//                         a Time gets its unit: "busy" is busy_ns
//   later(name, value)    the same; missing in older reports
//   if_any(name, value)   the same, or an optional value, written only if it is not empty
//   exact(name, time)     a Time written in picoseconds, too; a third argument is its older name
//   rest(name, lanes)     a list without its first entry
//   named(name, values)   structs that have names of their own: an object in JSON
//   counters(value, fields)
//   object(name, body)    body() describes the fields of an object within this one
//   has(name, has)        whether what comes next stands there
//   derived(name, make)   what follows from other fields: written, and not read
#pragma once

#include <type_traits>

#include "lib/answers/report/call_table.hpp"
#include "lib/answers/report/lanes.hpp"
#include "offramp/model/parameter.hpp"

namespace offramp {

/// The version of the report's format. Fields may be added to a version; none changes its meaning.
inline constexpr int kReportSchema = 1;

// Bounds on what a file or a rank can make the reader keep. A report of 4096 ranks has 30 MiB.
inline constexpr std::size_t kLongestText = 1 << 16;
inline constexpr std::size_t kMostRows = 4096;
inline constexpr std::size_t kMostRanksOfReport = 1 << 20;
inline constexpr std::size_t kMostLanes = 64;
inline constexpr std::size_t kMostLinks = 1 << 20;
inline constexpr std::uint64_t kLargestNumber = std::uint64_t{1} << 62;

template <typename Archive>
inline constexpr bool is_reader = std::remove_reference_t<Archive>::kReads;
template <typename Archive, typename Value>
using Described = std::conditional_t<is_reader<Archive>, Value&, const Value&>;

// What names the structs of a list that is an object in JSON.
template <typename Value>
concept Named = std::is_same_v<std::remove_const_t<Value>, ReportCall> ||
    std::is_same_v<std::remove_const_t<Value>, SettingInForce>;
auto& name_of(Named auto& one) {
  if constexpr (requires { one.name; })
    return one.name;
  else
    return one.key;
}

/// An archive without names, to which all fields are alike: self().item(value, most) has them one after the
/// other, the structs of lists with their names in front.
template <typename Self>
class PlainArchive {
 public:
  void field(const char*, auto& value, std::size_t most = kMostRows) { self().item(value, most); }
  void later(const char*, auto& value, std::size_t most = kMostRows) { self().item(value, most); }
  void if_any(const char*, auto& value, std::size_t most = kMostRows) { self().item(value, most); }
  void exact(const char*, auto& time, const char* = nullptr) { self().item(time, 0); }
  void named(const char*, auto& values) { self().item(values, kMostRows); }
  void counters(auto& value, const auto& fields) {
    for (const auto& field : fields) self().item(value.*field.value, 0);
  }
  static void object(const char*, auto body) { body(); }
  static void derived(const char*, const auto&) {}

 protected:
  template <typename Value>
  void item_of_struct(Value& value) {
    if constexpr (Named<Value>) self().item(name_of(value), 0);
    describe(self(), value);
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

void describe(auto& a, Described<decltype(a), ReportCall> call) {
  a.counters(call, kCallFields);
  a.field("modelled", call.modelled);
}

void describe(auto& a, Described<decltype(a), ReportDecline> decline) {
  a.field("operation", decline.operation);
  a.field("reason", decline.reason);
  a.field("count", decline.count);
}

void describe(auto& a, Described<decltype(a), ReportSize> size) {
  a.field("kind", size.kind);
  a.field("min_bytes", size.min_bytes);
  a.field("max_bytes", size.max_bytes);
  a.field("count", size.count);
  a.field("bytes", size.bytes);
  a.field("modelled", size.modelled);
}

void describe(auto& a, Described<decltype(a), ReportUnit> unit) {
  a.field("unit", unit.name);
  a.field("spans", unit.spans);
  a.field("busy", unit.busy);
  if constexpr (is_reader<decltype(a)>) unit.in_use = unit.busy;
  a.later("in_use", unit.in_use);
}

void describe(auto& a, Described<decltype(a), ReportRank> rank) {
  a.field("rank", rank.rank);
  a.exact("modelled_time", rank.modelled_time);
  a.field("communication", rank.communication);
  a.later("arrival_order_dependences", rank.arrival_order_dependences);
  a.if_any("certificate", rank.certificate);
  if (a.has("calls", true)) a.named("calls", rank.calls);
}

void describe(auto& a, Described<decltype(a), ReplayPhase> phase) {
  a.field("name", phase.name);
  a.later("level", phase.level);
  a.field("count", phase.count);
  a.derived("longest_ns", [&] { return in_nanoseconds(phase.longest()); });
  a.field("per_rank", phase.per_rank, kMostRanksOfReport);
}

void describe(auto& a, Described<decltype(a), ReportResource> resource) {
  a.field("name", resource.name);
  a.field("count", resource.count);
  a.field("busy", resource.busy);
  a.field("waited", resource.waited);
  a.field("bytes", resource.bytes);
  a.field("busiest", resource.busiest);
  a.field("busiest_first_rank", resource.busiest_first_rank);
}

void describe(auto& a, Described<decltype(a), LinkUse> link) {
  a.field("name", link.name);
  a.field("busy", link.busy);
  a.field("waited", link.waited);
  a.field("longest_wait", link.longest);
  a.field("bytes", link.bytes);
}

void describe(auto& a, Described<decltype(a), CriticalPath::Step> step) {
  a.field("source", step.source);
  a.field("destination", step.destination);
  a.field("bytes", step.bytes);
  a.field("begin", step.begin);
  a.field("end", step.end);
  a.later("shared_links", step.shared);
}

void describe(auto& a, Described<decltype(a), CriticalPath> path) {
  a.field("on_ranks", path.on_ranks);
  a.field("in_messages", path.in_messages);
  a.later("shared_links", path.shared);
  a.field("messages", path.messages);
  a.field("by_rank", path.by_rank, kMostRanksOfReport);
  a.field("longest", path.longest);
}

/// What calls spend their time on: of any struct that has calls and parts.
void describe_calls(auto& a, auto& account) {
  a.field("calls", account.calls);
  for (const TimeKindName& kind : kTimeKinds) a.field(kind.field, account.parts.at(kind.kind));
}

void describe(auto& a, Described<decltype(a), ReportAccount> account) {
  a.field("function", account.function);
  describe_calls(a, account);
  a.later("has_model", account.has_model);
}

void describe(auto& a, Described<decltype(a), ReportSizeAccount> account) {
  a.field("has_size", account.has_size);
  a.field("min_bytes", account.min_bytes);
  a.field("max_bytes", account.max_bytes);
  describe_calls(a, account);
}

void describe(auto& a, Described<decltype(a), ReportPhaseAccount> account) {
  a.field("phase", account.phase);
  a.field("level", account.level);
  describe_calls(a, account);
}

void describe(auto& a, Described<decltype(a), ReportSiteAccount> account) {
  a.field("function", account.function);
  a.field("site", account.site);
  a.field("place", account.place);
  a.later("bytes", account.bytes);
  describe_calls(a, account);
  a.later("ranks", account.by_rank.ranks);
  a.later("least", account.by_rank.least);
  a.derived("mean_ns", [&] { return in_nanoseconds(account.by_rank.mean(account.parts.sum())); });
  a.later("most", account.by_rank.most);
}

void describe(auto& a, Described<decltype(a), ReportDelay> delay) {
  a.field("computing", delay.computing);
  a.field("function", delay.function);
  a.field("site", delay.site);
  a.field("place", delay.place);
  a.field("caused", delay.caused);
  a.field("rank", delay.rank);
  a.field("of_rank", delay.of_rank);
  a.if_any("saves", delay.saves);
}

void describe(auto& a, Described<decltype(a), ReportWait> wait) {
  a.field("rank", wait.rank);
  a.field("peer", wait.peer);
  a.field("waited", wait.waited);
}

void describe(auto& a, Described<decltype(a), ReportTraffic> traffic) {
  a.field("source", traffic.source);
  a.field("destination", traffic.destination);
  a.field("messages", traffic.messages);
  a.field("bytes", traffic.bytes);
}

void describe(auto& a, Described<decltype(a), ReportTimeline> timeline) {
  a.field("end", timeline.end);
  a.field("drawn_ranks", timeline.drawn_ranks);
  a.field("slices", timeline.slices);
  a.field("drawn", timeline.drawn);
  a.field("shortest", timeline.shortest);
  a.field("is_whole", timeline.is_whole);
  a.field("functions", timeline.functions);
  a.field("ranks", timeline.ranks);
}

void describe(auto& a, Described<decltype(a), ReportAccounts> accounts) {
  a.field("with_computing", accounts.with_computing);
  a.field("functions", accounts.functions);
  a.later("sizes", accounts.sizes);
  a.later("phases", accounts.phases);
  a.later("sites", accounts.sites);
  a.later("delays", accounts.delays);
  a.field("waits", accounts.waits, kMostAccountedPairs);
  a.field("traffic", accounts.traffic, kMostAccountedPairs);
  a.field("not_accounted", accounts.not_accounted);
  a.if_any("timeline", accounts.timeline);
}

void describe(auto& a, Described<decltype(a), WholeRun> run) {
  a.exact("modelled_time", run.end, "end");
  a.field("in_calls", run.in_calls);
  a.field("without_model", run.without_model);
  a.field("sum", run.sum);
  a.derived("share_in_calls", [&] { return run.share_in_calls(); });
}

void describe(auto& a, Described<decltype(a), ReplayResult::Disturbance> disturbance) {
  a.field("undisturbed", disturbance.undisturbed);
  a.field("longest_held_up", disturbance.longest);
}

/// With what they cost what ends then.
void describe_stragglers(auto& a, Described<decltype(a), std::optional<ReplayResult::Disturbance>> stragglers,
                         Time end) {
  a.if_any("stragglers", stragglers);
  if (stragglers)
    a.object("stragglers",
             [&] { a.derived("cost_ns", [&] { return in_nanoseconds(end - stragglers->undisturbed); }); });
}

void describe(auto& a, Described<decltype(a), ReportComputing> computing) {
  a.field("sum", computing.sum);
  a.field("largest", computing.largest);
  a.later("brief_gaps", computing.brief_gaps);
  a.later("longer_gaps", computing.longer_gaps);
  a.if_any("between_questions", computing.gaps);
  a.object("free_run", [&] { describe(a, computing.free); });
}

/// ranks: that compute.
void describe_computing(auto& a, Described<decltype(a), std::optional<ReportComputing>> computing,
                        std::uint64_t ranks) {
  a.if_any("computing", computing);
  if (computing)
    a.object("computing", [&] {
      const Computing of{computing->sum, computing->largest, static_cast<int>(ranks)};
      a.derived("mean_ns", [&] { return in_nanoseconds(of.mean()); });
      a.derived("imbalance", [&] { return of.imbalance(); });
    });
}

void describe(auto& a, Described<decltype(a), ReportJob> job) {
  a.field("program", job.program);
  a.field("first_rank", job.first_rank);
  a.field("ranks", job.ranks);
  a.field("nodes", job.nodes);
  a.exact("modelled_time", job.modelled_time);
  a.field("alone", job.alone);
  a.derived("slowdown",
            [&] { return job.alone > Time() ? job.modelled_time.seconds() / job.alone.seconds() : 1; });
  a.if_any("whole_run", job.run);
  describe_computing(a, job.computing, job.ranks);
  describe_stragglers(a, job.stragglers, job.modelled_time);
  if (a.has("calls", true)) a.named("calls", job.calls);
}

void describe(auto& a, Described<decltype(a), Deployment> deployment) {
  a.field("text", deployment.text);
  a.field("node_bits_per_second", deployment.node_bits_per_second);
}

void describe(auto& a, Described<decltype(a), CarriedTime> time) {
  a.field("carried", time.carried);
  a.field("routed", time.routed);
  a.field("declined", time.declined);
}

/// All of them follow from the run.
void describe_efficiencies(auto& a, const std::optional<Efficiencies>& efficiencies) {
  if (!efficiencies) return;
  a.object("efficiencies", [&] {
    a.derived("parallel", [&] { return efficiencies->parallel(); });
    a.derived("load_balance", [&] { return efficiencies->load_balance; });
    a.derived("serialisation", [&] { return efficiencies->serialisation; });
    a.derived("transfer", [&] { return efficiencies->transfer; });
  });
}

void describe(auto& a, Described<decltype(a), ReportLane> lane) {
  a.field("backend", lane.backend);
  a.exact("modelled_time", lane.modelled_time);
  a.field("communication", lane.communication);
  if (a.has("carried", lane.time.share().has_value())) describe(a, lane.time);
  a.derived("carries_program", [&] { return lane.time.carries_program(); });
  a.if_any("certificate", lane.certificate);
  a.named("calls", lane.calls);
  a.field("declines", lane.declines);
  if constexpr (is_reader<decltype(a)>) lane.declined = reason_of_most(lane.declines);
  a.field("given_up", lane.given_up);
  a.object("wire", [&] { a.counters(lane.wire, kWireFields); });
  a.field("sizes", lane.sizes);
  a.field("units", lane.units);
  a.field("each_rank", lane.ranks, kMostRanksOfReport);
  if (a.has("stands_on", !lane.deployment.text.empty()))
    a.object("stands_on", [&] { describe(a, lane.deployment); });
  a.if_any("critical_path", lane.path);
  a.if_any("accounts", lane.accounts);
  a.if_any("whole_run", lane.run);
  if constexpr (!is_reader<decltype(a)>) describe_efficiencies(a, lane.efficiencies);
  a.later("phases", lane.phases);
  a.later("resources", lane.resources);
  a.later("links", lane.links, kMostLinks);
  describe_stragglers(a, lane.stragglers, lane.modelled_time);
  a.if_any("jobs", lane.jobs, kMostRanksOfReport);
}

void describe(auto& a, Described<decltype(a), ReportPlace> place) {
  a.field("call", place.call);
  a.field("communicator", place.communicator);
  a.field("object", place.site.object);
  a.field("offset", place.site.offset);
  a.field("symbol", place.site.symbol);
  a.field("times", place.times);
}

void describe(auto& a, Described<decltype(a), ReportHost> host) {
  a.field("name", host.name);
  a.field("cpu", host.cpu);
  a.field("cores", host.cores);
  a.field("ranks", host.ranks);
}

void describe(auto& a, Described<decltype(a), RecordingFacts> recording) {
  a.field("file", recording.file);
  a.field("checksum", recording.checksum);
  a.field("date", recording.date);
  a.field("host", recording.host);
}

void describe(auto& a, Described<decltype(a), LoadedObject> object) {
  a.field("name", object.name);
  a.field("build_id", object.build_id);
  a.field("path", object.path);
}

void describe(auto& a, Described<decltype(a), SettingInForce> setting) {
  a.field("value", setting.value);
  a.field("source", setting.source);
}

void describe(auto& a, Described<decltype(a), ReportEnd> end) {
  a.field("ranks", end.ranks, kMostRanksOfReport);
  a.field("reason", end.reason);
}

/// When, where and with what it was made.
void describe_facts(auto& a, Described<decltype(a), RunReport> report) {
  a.later("date", report.date);
  a.later("mpi", report.mpi);
  a.later("ucx", report.ucx);
  a.if_any("hosts", report.hosts, kMostRanksOfReport);
  a.if_any("recordings", report.recordings, kMostRanksOfReport);
  a.if_any("objects", report.objects, kMostRanksOfReport);
  if (a.has("settings", true)) a.named("settings", report.settings);
}

void describe_arrival(auto& a, Described<decltype(a), RunReport> report) {
  a.field("arrival_order_dependences", report.arrival_order_dependences);
  if (a.has("dependences", true))
    a.object("dependences", [&] { a.counters(report.dependences, kDependenceFields); });
  if (a.has("arrival_order_places", true))
    a.object("arrival_order_places", [&] {
      a.field("count", report.place_count);
      a.field("most", report.places);
      a.later("elsewhere", report.elsewhere);
    });
  a.if_any("data_certificate", report.data_certificate);
}

void describe(auto& a, Described<decltype(a), ReportAnswerBar> bar) {
  a.field("name", bar.name);
  a.field("time", bar.end);
  a.if_any("note", bar.note);
}

void describe(auto& a, Described<decltype(a), ReportFreeChange> change) {
  a.field("change", change.name);
  a.field("how", change.how);
  a.field("end", change.end);
}

void describe(auto& a, Described<decltype(a), ReportAnswer> answer) {
  a.field("answer", answer.answer);
  a.field("why", answer.why);
  a.field("sure", answer.sure);
  a.field("but", answer.but);
  a.if_any("machine", answer.machine);
  a.if_any("where", answer.where);
  a.if_any("test", answer.test);
  a.if_any("native", answer.native);
  a.field("next", answer.next);
  a.field("kind", answer.kind);
  a.field("candidate", answer.candidate);
  a.field("baseline", answer.baseline);
  a.later("native_run", answer.native_run);
  a.later("native_modelled", answer.native_modelled);
  a.field("time", answer.end);
  a.field("earliest", answer.earliest);
  a.field("latest", answer.latest);
  a.field("of_run", answer.of_run);
  a.field("holds", answer.holds);
  a.field("complete", answer.complete);
  a.field("bars", answer.bars);
  a.if_any("details", answer.details);
  a.if_any("free_changes", answer.free_changes);
  a.if_any("routes", answer.routes);
}

/// All of it follows from the lanes.
void describe(auto& a, const ReportCallRow& row) {
  a.field("function", row.function);
  a.field("place", row.place);
  a.field("calls", row.calls);
  a.field("baseline", row.baseline);
  a.field("share", row.share);
  a.if_any("hardware", row.hardware);
  a.field("bound_by", row.bound_by);
  a.if_any("offloaded", row.offloaded);
}

void describe(auto& a, Described<decltype(a), RunReport> report) {
  a.field("offramp", report.version);
  a.derived("schema", [] { return kReportSchema; });
  a.field("command", report.command);
  a.later("program", report.program);
  a.later("arguments", report.arguments);
  describe_facts(a, report);
  a.field("ranks", report.ranks);
  a.field("clock", report.clock);
  a.field("compute", report.compute);
  describe_computing(a, report.computing, report.ranks);
  a.later("complete", report.complete);
  if constexpr (is_reader<decltype(a)>) report.lanes.resize(1);
  describe(a, report.lanes.front());
  a.later("settled", report.settled);
  describe_arrival(a, report);
  a.rest("compared", report.lanes, kMostLanes);
  if constexpr (!is_reader<decltype(a)>) a.if_any("call_sites", call_rows(report));
  a.if_any("ended", report.ended);
  a.if_any("answer", report.answer);
  a.field("warnings", report.warnings);
}

}  // namespace offramp
