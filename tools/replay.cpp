#include "tools/replay.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "lib/core/names.hpp"
#include "lib/core/pattern.hpp"
#include "lib/core/replay.hpp"
#include "lib/report/report.hpp"
#include "tools/progress.hpp"
#include "tools/report.hpp"
#include "tools/setup.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {
namespace {

using Json = nlohmann::ordered_json;

volatile std::sig_atomic_t interrupted = 0;

/// The first Ctrl-C ends the replay that runs, a second one the command.
void watch_for_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

struct Replayed {
  std::string_view backend;
  ReplayResult result;
  std::string receipts;  // JSON; empty: not wanted
};

/// What is replayed: a recording, or a pattern.
struct Played {
  recording::Description description;
  std::optional<recording::Recording> recorded;  // which the source reads, if it is one
  ReplaySource source;

  explicit Played(const std::string& name) {
    if (name.starts_with(kPatternPrefix)) {
      const Result<Pattern> pattern = parse_pattern(name);
      if (!pattern) throw Misuse{pattern.error()};
      description.ranks = (*pattern).ranks;
      description.facts = {{"program", name}};
      source = {description.ranks, [made = *pattern](int rank) { return made.read(rank); }};
      return;
    }
    Result<recording::Recording> opened = recording::Recording::open(name);
    if (!opened) throw Misuse{opened.error()};
    recorded = std::move(*opened);
    description = recorded->description();
    source = {description.ranks, [this](int rank) { return recorded->read(rank); }};
  }
  Played(const Played&) = delete;
  Played& operator=(const Played&) = delete;
};

/// Each of its lines as it can be shown.
std::string lines_of(const std::string& text) {
  constexpr std::size_t kLongest = 1000;
  std::string shown;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    shown += (shown.empty() ? "" : "\n") + printable(text.substr(at, end - at), kLongest);
    at = end + 1;
  }
  return shown;
}

/// Until Ctrl-C. code: kNotWritten where a file could not be.
std::vector<Replayed> replay_all(const ReplayToolOptions& options, const Setup& setup, const Played& played,
                                 int& code) {
  std::vector<Replayed> all;
  for (const BackendDescription* backend : setup.backends) {
    Result<WorldSetting> setting = world_setting(*setup.configuration, setup.registry, *backend);
    if (!setting) throw Misuse{setting.error()};
    (*setting).check = options.check;
    const ProgressLine progress;
    const int ranks = played.description.ranks;
    ReplayOptions how;
    how.compute = setup.configuration->compute;
    how.details = setup.configuration->details;
    how.arrival = options.modelled_arrival ? Arrival::kModelled : Arrival::kRecorded;
    const RecordOptions to_files =
        setup.backends.size() > 1 ? options.records.of_backend(backend->name) : options.records;
    to_files.check();
    const std::unique_ptr<ReplayRecords> records = to_files.records(ranks);
    how.observer = records.get();
    how.progress = [&](const ReplayProgress& now) {
      progress.say("{}: {} events, {} of {} ranks done", backend->name, now.events, now.ranks_ended, ranks);
      return interrupted == 0;
    };
    Result<ReplayResult> result = offramp::replay(*setting, played.source, how);
    if (!result) throw Misuse{fmt::format("{}: {}", options.file, lines_of(result.error()))};
    if ((*result).stopped) break;
    all.push_back({backend->name, std::move(*result), {}});
    if (records != nullptr && to_files.write(*records) != kDone) code = kNotWritten;
    if (options.records.receipts.any()) all.back().receipts = records->receipts_json();
    if (interrupted != 0) break;
  }
  return all;
}

// --- JSON ---

Json nanoseconds_of(const std::vector<Time>& times) {
  Json all = Json::array();
  for (const Time time : times) all.push_back(time.nanoseconds());
  return all;
}

Json calls_of(const ReplayResult& result, const Counters& counters) {
  Json calls = Json::object();
  for (std::size_t i = 0; i < result.functions.size(); ++i) {
    const CallCounter& counter = counters.calls[i];
    if (counter.count == 0) continue;
    calls[result.functions[i]] = {{"count", counter.count},
                                  {"bytes", counter.bytes},
                                  {"modelled_ns", counter.modelled.nanoseconds()},
                                  {"offloaded", counter.offloaded},
                                  {"declined", counter.declined},
                                  {"routed", counter.routed},
                                  {"native", counter.native}};
  }
  return calls;
}

Json json_of(const Replayed& replayed) {
  const ReplayResult& result = replayed.result;
  const Counters counters = result.total();
  const std::vector<Time> clocks = result.clocks();
  Json phases = Json::array();
  for (const ReplayPhase& phase : result.phases)
    phases.push_back({{"name", phase.name},
                      {"level", phase.level},
                      {"count", phase.count},
                      {"longest_ns", phase.longest().nanoseconds()},
                      {"per_rank_ns", nanoseconds_of(phase.per_rank)}});
  Json declines = Json::array();
  for (const auto& [what, count] : counters.declines)
    declines.push_back({{"operation", to_string(what.first)}, {"reason", what.second}, {"count", count}});
  Json resources = Json::array();
  for (const ReplayResource& use : result.resources)
    resources.push_back({{"name", use.name},
                         {"first_rank", use.first_rank},
                         {"busy_ns", use.busy.nanoseconds()},
                         {"waited_ns", use.waited.nanoseconds()},
                         {"bytes", use.bytes}});
  Json links = Json::array();
  for (const LinkUse& link : result.links)
    links.push_back({{"name", link.name},
                     {"busy_ns", link.busy.nanoseconds()},
                     {"waited_ns", link.waited.nanoseconds()},
                     {"longest_wait_ns", link.longest.nanoseconds()},
                     {"bytes", link.bytes}});
  Json picoseconds = Json::array();
  for (const Time clock : clocks) picoseconds.push_back(clock.count());
  const auto& depends = counters.dependences;
  Json json = {{"backend", replayed.backend},
               {"modelled_time_ps", result.modelled_time.count()},
               {"modelled_time_ns", result.modelled_time.nanoseconds()},
               {"per_rank_ps", picoseconds},
               {"per_rank_ns", nanoseconds_of(clocks)},
               {"calls", calls_of(result, counters)},
               {"phases", phases},
               {"declines", declines},
               {"arrival_order",
                {{"unnamed_source", depends[static_cast<std::size_t>(Dependence::kUnnamedSource)]},
                 {"polling", depends[static_cast<std::size_t>(Dependence::kPolling)]},
                 {"choice", depends[static_cast<std::size_t>(Dependence::kChoice)]}}},
               {"given_up", counters.given_up},
               {"wire",
                {{"packets", result.wire.packets},
                 {"payload_bytes", result.wire.payload_bytes},
                 {"wire_bytes", result.wire.wire_bytes},
                 {"retransmissions", result.wire.retransmissions}}},
               {"resources", resources},
               {"links", links},
               {"events", result.events},
               {"messages", result.messages},
               {"unfinished", result.unfinished}};
  if (result.path)
    json["critical_path"] = {{"on_ranks_ns", result.path->on_ranks.nanoseconds()},
                             {"in_messages_ns", result.path->in_messages.nanoseconds()},
                             {"shared_links_ns", result.path->shared.nanoseconds()},
                             {"messages", result.path->messages}};
  if (!replayed.receipts.empty()) json["receipts"] = Json::parse(replayed.receipts);
  return json;
}

void print_json(const std::vector<Replayed>& all, const recording::Description& description) {
  Json facts = Json::object();
  for (const auto& [key, value] : description.facts) facts[key] = value;
  Json results = Json::array();
  for (const Replayed& replayed : all) results.push_back(json_of(replayed));
  const Json json = {{"ranks", description.ranks},
                     {"facts", facts},
                     {"results", results},
                     {"interrupted", interrupted != 0}};
  // Names may be of any bytes.
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

// --- tables ---

double microseconds(Time time) {
  return time.nanoseconds() / 1000;
}

void print_calls(const ReplayResult& result, const Counters& counters) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < result.functions.size(); ++i) {
    if (counters.calls[i].count > 0) order.push_back(i);
  }
  const auto modelled = [&](std::size_t i) { return counters.calls[i].modelled; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return modelled(a) > modelled(b); });
  double all = 0;
  for (const Time clock : result.clocks()) all += microseconds(clock);
  fmt::print("  {:<28} {:>12} {:>16} {:>18} {:>7}\n", "function", "calls", "bytes", "modelled (us)", "share");
  for (const std::size_t i : order) {
    const CallCounter& counter = counters.calls[i];
    const double time = microseconds(counter.modelled);
    fmt::print("  {:<28} {:>12} {:>16} {:>18.3f} {:>6.1f}%\n", printable(result.functions[i]), counter.count,
               counter.bytes, time, all > 0 ? 100 * time / all : 0);
  }
}

double share(Time part, Time all) {
  return all > Time() ? 100 * static_cast<double>(part.count()) / static_cast<double>(all.count()) : 0;
}

/// Of each resource the one that is occupied longest.
void print_resources(const ReplayResult& result) {
  std::vector<const ReplayResource*> busiest;
  for (const ReplayResource& use : result.resources) {
    const auto same = std::find_if(busiest.begin(), busiest.end(),
                                   [&](const ReplayResource* other) { return other->name == use.name; });
    if (same == busiest.end()) {
      busiest.push_back(&use);
    } else if ((*same)->busy < use.busy) {
      *same = &use;
    }
  }
  for (const ReplayResource* use : busiest)
    fmt::print("  busiest {} (from rank {} on): {:.3f} us, {:.1f}% of the time; waited for {:.3f} us\n",
               use->name, use->first_rank, microseconds(use->busy), share(use->busy, result.modelled_time),
               microseconds(use->waited));
}

/// The busiest links of the network, and what sharing cost.
void print_links(const ReplayResult& result) {
  constexpr std::size_t kShown = 5;
  std::vector<const LinkUse*> busiest;
  Time waited;
  for (const LinkUse& link : result.links) {
    busiest.push_back(&link);
    waited += link.waited;
  }
  const std::size_t shown = std::min(busiest.size(), kShown);
  std::partial_sort(
      busiest.begin(), busiest.begin() + static_cast<std::ptrdiff_t>(shown), busiest.end(),
      [](const LinkUse* a, const LinkUse* b) { return std::tie(b->busy, a) < std::tie(a->busy, b); });
  for (std::size_t i = 0; i < shown; ++i)
    fmt::print("  link {}: {:.3f} us, {:.1f}% of the time, {} bytes; waited for {:.3f} us, once {:.3f} us\n",
               busiest[i]->name, microseconds(busiest[i]->busy),
               share(busiest[i]->busy, result.modelled_time), busiest[i]->bytes,
               microseconds(busiest[i]->waited), microseconds(busiest[i]->longest));
  if (!busiest.empty())
    fmt::print("  {} links used; messages waited {:.3f} us for them\n", busiest.size(), microseconds(waited));
}

void print_path(const ReplayResult& result) {
  if (!result.path) return;
  const CriticalPath& path = *result.path;
  fmt::print(
      "  critical path: {:.3f} us on ranks, {:.3f} us in {} messages, {:.3f} us of it waiting for "
      "shared links\n",
      microseconds(path.on_ranks), microseconds(path.in_messages), path.messages, microseconds(path.shared));
}

void print_notes(const ReplayResult& result, const Counters& counters) {
  constexpr std::size_t kShown = 8;
  for (const auto& [what, count] : counters.declines)
    fmt::print("  declined, and carried by the host: {} {}: {}\n", count, to_string(what.first),
               printable(what.second));
  if (counters.arrival_order_dependences() > 0) {
    const auto& depends = counters.dependences;
    fmt::print("  decided by the order of arrival: {} unnamed sources, {} choices, {} questions too early\n",
               depends[static_cast<std::size_t>(Dependence::kUnnamedSource)],
               depends[static_cast<std::size_t>(Dependence::kChoice)],
               depends[static_cast<std::size_t>(Dependence::kPolling)]);
  }
  if (counters.given_up > 0)
    fmt::print("  {} operations failed of faults that the protocol could not repair\n", counters.given_up);
  const std::size_t shown = std::min(result.unfinished.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i)
    fmt::print("  not to its end: {}\n", printable(result.unfinished[i]));
  if (result.unfinished.size() > shown)
    fmt::print("  not to their ends: {} ranks more\n", result.unfinished.size() - shown);
}

void print_result(const Replayed& replayed) {
  const ReplayResult& result = replayed.result;
  fmt::print("# {}: {:.3f} us modelled, {} ranks, {} events, {} messages\n", replayed.backend,
             microseconds(result.modelled_time), result.ranks.size(), result.events, result.messages);
  const Counters counters = result.total();
  print_calls(result, counters);
  if (!result.phases.empty()) fmt::print("  {:<28} {:>12} {:>18}\n", "phase", "times", "longest (us)");
  for (const ReplayPhase& phase : result.phases)
    fmt::print("  {:<28} {:>12} {:>18.3f}\n", printable(phase.name), phase.count,
               microseconds(phase.longest()));
  print_resources(result);
  print_links(result);
  print_path(result);
  print_notes(result, counters);
}

/// As a run writes it, with the backends in their order.
std::string report_of(std::vector<Replayed>& all, const recording::Description& description,
                      const Setup& setup) {
  std::vector<Settled> settled;
  for (Replayed& replayed : all)
    settled.push_back(
        {std::string(replayed.backend), std::move(replayed.result), {}, std::move(replayed.receipts)});
  RunFacts facts = offramp::facts_of(description);
  facts.settings = settings_in_force(*setup.configuration, setup.registry);
  return replay_report(description.ranks, facts, *setup.configuration, settled);
}

/// Returns the exit code. Nothing is left of `all`.
int write_reports(const ReplayToolOptions& options, std::vector<Replayed>& all,
                  const recording::Description& description, const Setup& setup) {
  if (all.empty() || (options.report.empty() && options.html.empty())) return kDone;
  const std::string text = report_of(all, description, setup);
  const int code = options.report.empty() ? kDone : write_file(options.report, text);
  if (options.html.empty() || code != kDone) return code;
  Result<RunReport> report = parse_report(text, options.file);
  if (!report) throw Misuse{report.error()};
  std::vector<RunReport> reports;
  reports.push_back(std::move(*report));
  return write_file(options.html, report_page(reports));
}

void print_comparison(const std::vector<Replayed>& all) {
  const Time first = all.front().result.modelled_time;
  fmt::print("{:<10} {:>18} {:>8}\n", "# backend", "modelled (us)", "ratio");
  for (const Replayed& replayed : all) {
    const Time time = replayed.result.modelled_time;
    fmt::print("{:<10} {:>18.3f} {:>8}\n", replayed.backend, microseconds(time),
               first > Time() ? fmt::format("{:.3f}", time.seconds() / first.seconds()) : "-");
  }
}

}  // namespace

int replay(const ReplayToolOptions& options) try {
  Setup setup(options.overrides, options.backends);
  if (options.backends.empty() && !setup.configuration->compared.empty())
    setup = Setup(options.overrides, setup.configuration->settled_backends());
  const Played played(options.file);
  for (const auto& [option, path] : {std::pair("--report", &options.report), {"--html", &options.html}}) {
    if (path->empty()) continue;
    if (const std::string problem = option_problem(option, *path); !problem.empty()) throw Misuse{problem};
  }
  watch_for_interrupt();
  int code = kDone;
  std::vector<Replayed> all = replay_all(options, setup, played, code);
  if (options.json) {
    print_json(all, played.description);
  } else {
    for (const Replayed& replayed : all) print_result(replayed);
    if (all.size() > 1) print_comparison(all);
  }
  for (const std::string& note : setup.notes()) complain(note);
  if (write_reports(options, all, played.description, setup) != kDone) code = kNotWritten;
  if (interrupted == 0) return code;
  complain(fmt::format("interrupted: {} of {} backends were replayed", all.size(), setup.backends.size()));
  return kInterrupted;
} catch (const Misuse& misuse) {
  complain(misuse.text);
  return kUsage;
}

}  // namespace offramp::tool
