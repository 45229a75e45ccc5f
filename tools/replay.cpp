#include "tools/replay.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "lib/core/names.hpp"
#include "lib/core/replay.hpp"
#include "tools/progress.hpp"
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

/// Until Ctrl-C.
std::vector<Replayed> replay_all(const ReplayToolOptions& options, const Setup& setup,
                                 const recording::Recording& recorded) {
  std::vector<Replayed> all;
  for (const BackendDescription* backend : setup.backends) {
    Result<WorldSetting> setting = world_setting(*setup.configuration, setup.registry, *backend);
    if (!setting) throw Misuse{setting.error()};
    (*setting).check = options.check;
    const ProgressLine progress;
    const int ranks = recorded.description().ranks;
    ReplayOptions how;
    how.compute = setup.configuration->compute;
    how.arrival = options.modelled_arrival ? Arrival::kModelled : Arrival::kRecorded;
    how.progress = [&](const ReplayProgress& now) {
      progress.say("{}: {} events, {} of {} ranks done", backend->name, now.events, now.ranks_ended, ranks);
      return interrupted == 0;
    };
    Result<ReplayResult> result = offramp::replay(*setting, recorded, how);
    if (!result) throw Misuse{fmt::format("{}: {}", options.file, lines_of(result.error()))};
    if ((*result).stopped) break;
    all.push_back({backend->name, std::move(*result)});
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

Json calls_of(const ReplayResult& result) {
  Json calls = Json::object();
  for (std::size_t i = 0; i < result.functions.size(); ++i) {
    const CallCounter& counter = result.counters.calls[i];
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
  Json phases = Json::array();
  for (const ReplayPhase& phase : result.phases)
    phases.push_back({{"name", phase.name},
                      {"level", phase.level},
                      {"count", phase.count},
                      {"longest_ns", phase.longest().nanoseconds()},
                      {"per_rank_ns", nanoseconds_of(phase.per_rank)}});
  Json declines = Json::array();
  for (const auto& [what, count] : result.counters.declines)
    declines.push_back({{"operation", to_string(what.first)}, {"reason", what.second}, {"count", count}});
  Json resources = Json::array();
  for (const ReplayResource& use : result.resources)
    resources.push_back({{"name", use.name},
                         {"first_rank", use.first_rank},
                         {"busy_ns", use.busy.nanoseconds()},
                         {"waited_ns", use.waited.nanoseconds()},
                         {"bytes", use.bytes}});
  Json picoseconds = Json::array();
  for (const Time clock : result.clocks) picoseconds.push_back(clock.count());
  const auto& depends = result.counters.dependences;
  return {{"backend", replayed.backend},
          {"modelled_time_ps", result.modelled_time.count()},
          {"modelled_time_ns", result.modelled_time.nanoseconds()},
          {"per_rank_ps", picoseconds},
          {"per_rank_ns", nanoseconds_of(result.clocks)},
          {"calls", calls_of(result)},
          {"phases", phases},
          {"declines", declines},
          {"arrival_order",
           {{"unnamed_source", depends[static_cast<std::size_t>(Dependence::kUnnamedSource)]},
            {"polling", depends[static_cast<std::size_t>(Dependence::kPolling)]},
            {"choice", depends[static_cast<std::size_t>(Dependence::kChoice)]}}},
          {"given_up", result.counters.given_up},
          {"wire",
           {{"packets", result.wire.packets},
            {"payload_bytes", result.wire.payload_bytes},
            {"wire_bytes", result.wire.wire_bytes},
            {"retransmissions", result.wire.retransmissions}}},
          {"resources", resources},
          {"events", result.events},
          {"messages", result.messages},
          {"unfinished", result.unfinished}};
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

void print_calls(const ReplayResult& result) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < result.functions.size(); ++i) {
    if (result.counters.calls[i].count > 0) order.push_back(i);
  }
  const auto modelled = [&](std::size_t i) { return result.counters.calls[i].modelled; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return modelled(a) > modelled(b); });
  double all = 0;
  for (const Time clock : result.clocks) all += microseconds(clock);
  fmt::print("  {:<28} {:>12} {:>16} {:>18} {:>7}\n", "function", "calls", "bytes", "modelled (us)", "share");
  for (const std::size_t i : order) {
    const CallCounter& counter = result.counters.calls[i];
    const double time = microseconds(counter.modelled);
    fmt::print("  {:<28} {:>12} {:>16} {:>18.3f} {:>6.1f}%\n", printable(result.functions[i]), counter.count,
               counter.bytes, time, all > 0 ? 100 * time / all : 0);
  }
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
               use->name, use->first_rank, microseconds(use->busy),
               result.modelled_time > Time() ? 100 * static_cast<double>(use->busy.count()) /
                                                   static_cast<double>(result.modelled_time.count())
                                             : 0,
               microseconds(use->waited));
}

void print_notes(const ReplayResult& result) {
  constexpr std::size_t kShown = 8;
  for (const auto& [what, count] : result.counters.declines)
    fmt::print("  declined, and carried by the host: {} {}: {}\n", count, to_string(what.first),
               printable(what.second));
  if (result.counters.arrival_order_dependences() > 0) {
    const auto& depends = result.counters.dependences;
    fmt::print("  decided by the order of arrival: {} unnamed sources, {} choices, {} questions too early\n",
               depends[static_cast<std::size_t>(Dependence::kUnnamedSource)],
               depends[static_cast<std::size_t>(Dependence::kChoice)],
               depends[static_cast<std::size_t>(Dependence::kPolling)]);
  }
  if (result.counters.given_up > 0)
    fmt::print("  {} operations failed of faults that the protocol could not repair\n",
               result.counters.given_up);
  const std::size_t shown = std::min(result.unfinished.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i)
    fmt::print("  not to its end: {}\n", printable(result.unfinished[i]));
  if (result.unfinished.size() > shown)
    fmt::print("  not to their ends: {} ranks more\n", result.unfinished.size() - shown);
}

void print_result(const Replayed& replayed) {
  const ReplayResult& result = replayed.result;
  fmt::print("# {}: {:.3f} us modelled, {} ranks, {} events, {} messages\n", replayed.backend,
             microseconds(result.modelled_time), result.clocks.size(), result.events, result.messages);
  print_calls(result);
  if (!result.phases.empty()) fmt::print("  {:<28} {:>12} {:>18}\n", "phase", "times", "longest (us)");
  for (const ReplayPhase& phase : result.phases)
    fmt::print("  {:<28} {:>12} {:>18.3f}\n", printable(phase.name), phase.count,
               microseconds(phase.longest()));
  print_resources(result);
  print_notes(result);
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
    setup = Setup(options.overrides, setup.configuration->lane_backends());
  const Result<recording::Recording> recorded = recording::Recording::open(options.file);
  if (!recorded) throw Misuse{recorded.error()};
  watch_for_interrupt();
  const std::vector<Replayed> all = replay_all(options, setup, *recorded);
  if (options.json) {
    print_json(all, (*recorded).description());
  } else {
    for (const Replayed& replayed : all) print_result(replayed);
    if (all.size() > 1) print_comparison(all);
  }
  for (const std::string& note : setup.notes()) complain(note);
  if (interrupted == 0) return kDone;
  complain(fmt::format("interrupted: {} of {} backends were replayed", all.size(), setup.backends.size()));
  return kInterrupted;
} catch (const Misuse& misuse) {
  complain(misuse.text);
  return kUsage;
}

}  // namespace offramp::tool
