#include "tools/replay_output.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <tuple>

#include "lib/core/names.hpp"
#include "lib/core/pattern.hpp"
#include "tools/report.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {

namespace {

volatile std::sig_atomic_t interrupted = 0;

}  // namespace

void watch_for_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

bool is_interrupted() {
  return interrupted != 0;
}

Played::Played(const std::string& name) {
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

Json resources_of(const ReplayResult& result) {
  Json resources = Json::array();
  for (const ReplayResource& use : result.resources)
    resources.push_back({{"name", use.name},
                         {"first_rank", use.first_rank},
                         {"busy_ns", use.busy.nanoseconds()},
                         {"waited_ns", use.waited.nanoseconds()},
                         {"bytes", use.bytes}});
  return resources;
}

Json links_of(const ReplayResult& result) {
  Json links = Json::array();
  for (const LinkUse& link : result.links)
    links.push_back({{"name", link.name},
                     {"busy_ns", link.busy.nanoseconds()},
                     {"waited_ns", link.waited.nanoseconds()},
                     {"longest_wait_ns", link.longest.nanoseconds()},
                     {"bytes", link.bytes}});
  return links;
}

Json json_of(const ReplayResult::Disturbance& disturbance, Time end) {
  return {{"undisturbed_ns", disturbance.undisturbed.nanoseconds()},
          {"cost_ns", (end - disturbance.undisturbed).nanoseconds()},
          {"longest_held_up_ns", disturbance.longest.nanoseconds()}};
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
               {"resources", resources_of(result)},
               {"links", links_of(result)},
               {"events", result.events},
               {"messages", result.messages},
               {"unfinished", result.unfinished}};
  if (const auto disturbance = result.disturbance())
    json["stragglers"] = json_of(*disturbance, result.modelled_time);
  if (result.path)
    json["critical_path"] = {{"on_ranks_ns", result.path->on_ranks.nanoseconds()},
                             {"in_messages_ns", result.path->in_messages.nanoseconds()},
                             {"shared_links_ns", result.path->shared.nanoseconds()},
                             {"messages", result.path->messages}};
  if (!replayed.receipts.empty()) json["receipts"] = Json::parse(replayed.receipts);
  return json;
}

double microseconds(Time time) {
  return time.nanoseconds() / 1000;
}

void check_reports(const ReplayToolOptions& options) {
  for (const auto& [option, path] : {std::pair("--report", &options.report), {"--html", &options.html}}) {
    if (path->empty()) continue;
    if (const std::string problem = option_problem(option, *path); !problem.empty()) throw Misuse{problem};
  }
}

/// As a run writes it, with the backends in their order.
static std::string report_of(std::vector<Replayed>& all, const recording::Description& description,
                             const Setup& setup) {
  std::vector<Settled> settled;
  for (Replayed& replayed : all)
    settled.push_back({std::string(replayed.backend),
                       std::move(replayed.result),
                       {},
                       std::move(replayed.receipts),
                       std::move(replayed.jobs)});
  RunFacts facts = offramp::facts_of(description);
  facts.settings = settings_in_force(*setup.configuration, setup.registry);
  return replay_report(description.ranks, facts, *setup.configuration, settled);
}

int write_reports(const ReplayToolOptions& options, std::vector<Replayed>& all,
                  const recording::Description& description, const Setup& setup) {
  if (all.empty() || (options.report.empty() && options.html.empty())) return kDone;
  const std::string text = report_of(all, description, setup);
  const int code = options.report.empty() ? kDone : write_file(options.report, text);
  if (options.html.empty() || code != kDone) return code;
  Result<RunReport> report = parse_report(text, "the report");
  if (!report) throw Misuse{report.error()};
  std::vector<RunReport> reports;
  reports.push_back(std::move(*report));
  return write_file(options.html, report_page(reports));
}

static void print_calls(const ReplayResult& result, const Counters& counters) {
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

static double share(Time part, Time all) {
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

void print_disturbance(const ReplayResult& result) {
  const auto disturbance = result.disturbance();
  if (!disturbance) return;
  const Time cost = result.modelled_time - disturbance->undisturbed;
  fmt::print(
      "  stragglers: {:+.3f} us ({:+.1f}%) against the same without them; one processor was held up for "
      "{:.3f} us\n",
      microseconds(cost), share(cost, disturbance->undisturbed), microseconds(disturbance->longest));
}

static void print_path(const ReplayResult& result) {
  if (!result.path) return;
  const CriticalPath& path = *result.path;
  fmt::print(
      "  critical path: {:.3f} us on ranks, {:.3f} us in {} messages, {:.3f} us of it waiting for "
      "shared links\n",
      microseconds(path.on_ranks), microseconds(path.in_messages), path.messages, microseconds(path.shared));
}

static void print_notes(const ReplayResult& result, const Counters& counters) {
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
  print_disturbance(result);
  print_path(result);
  print_notes(result, counters);
}

}  // namespace offramp::tool
