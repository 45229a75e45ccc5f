#include "tools/replay_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <tuple>

#include "lib/configuration/names.hpp"
#include "lib/report/words.hpp"
#include "tools/recording_info.hpp"
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

Played::Played(const std::string& name, bool partial) {
  Result<trace::Program> opened = trace::open_program(name);
  if (!opened) throw Misuse{opened.error()};
  program = std::move(*opened);
  if (!program.missing.empty()) {
    const std::string text = fmt::format("{} is not whole: {}", in_quotes(name), program.missing);
    if (!partial) throw Misuse{text + "; --partial replays what there is"};
    complain(text);
  }
  if (partial && program.recording) recorded_events = events_of(program);
  tell_notes(program);
  facts = recording_facts(program.description, name);
}

std::string problem_text(const std::string& file, const std::string& error) {
  constexpr std::size_t kLongest = 1000;
  std::string shown = file.empty() || error.starts_with(file + ": ") ? std::string() : file + ": ";
  for (std::size_t at = 0; at <= error.size();) {
    const std::size_t end = std::min(error.find('\n', at), error.size());
    shown += (at == 0 ? "" : "\n") + printable(error.substr(at, end - at), kLongest);
    at = end + 1;
  }
  return shown;
}

std::string part_text(const ReplayResult& result, std::uint64_t recorded) {
  const auto done = static_cast<double>(result.done());
  if (result.unfinished.empty()) return {};
  if (recorded == 0) return fmt::format("{} events are replayed", count_text(done));
  const auto all = static_cast<double>(std::max(recorded, result.done()));
  return fmt::format("{} of the recorded events are replayed ({} of {})", percent_text(done, all),
                     count_text(done), count_text(all));
}

void tell_refusals(const std::vector<Refused>& refused, bool nothing_else) {
  std::vector<std::string> texts;  // of hardware that refuses alike, one
  for (const Refused& one : refused) {
    std::string text = nothing_else ? one.why : fmt::format("{} is not replayed: {}", one.backend, one.why);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  if (nothing_else && !texts.empty()) throw Misuse{fmt::format("{}", fmt::join(texts, "\n"))};
  for (const std::string& text : texts) complain(text);
}

Json json_of(const std::vector<Refused>& refused) {
  Json all = Json::array();
  for (const Refused& one : refused) all.push_back({{"backend", one.backend}, {"reason", one.why}});
  return all;
}

RunFacts facts_of_replay(const recording::Description& description, std::vector<RecordingFacts> recordings,
                         const Setup& setup) {
  RunFacts facts = offramp::facts_of(description);
  facts.recordings = std::move(recordings);
  facts.settings = settings_in_force(*setup.configuration, setup.registry);
  for (SettingInForce& setting : facts.settings) {
    if (setting.key == "compute" && setting.value == "measured") setting.value = "recorded";
  }
  return facts;
}

void add_facts(Json& json, const RunFacts& facts) {
  const HostFacts here = look_at_host();
  Json recordings = Json::array();
  for (const RecordingFacts& one : facts.recordings)
    recordings.push_back(
        {{"file", one.file}, {"checksum", one.checksum}, {"date", one.date}, {"host", one.host}});
  Json settings = Json::object();
  for (const SettingInForce& setting : facts.settings)
    settings[setting.key] = {{"value", setting.value}, {"source", setting.source}};
  json["date"] = facts.date;
  json["host"] = here.name;
  json["recordings"] = std::move(recordings);
  json["settings"] = std::move(settings);
  json["complete"] = facts.replayed_part.empty();
  if (!facts.replayed_part.empty()) json["part"] = facts.replayed_part;
}

Json nanoseconds_of(const std::vector<Time>& times) {
  Json all = Json::array();
  for (const Time time : times) all.push_back(in_nanoseconds(time));
  return all;
}

Json calls_of(const ReplayResult& result, const Counters& counters) {
  Json calls = Json::object();
  for (std::size_t i = 0; i < result.functions.size(); ++i) {
    const CallCounter& counter = counters.calls[i];
    if (counter.count == 0) continue;
    calls[result.functions[i]] = {{"count", counter.count},
                                  {"bytes", counter.bytes},
                                  {"modelled_ns", in_nanoseconds(counter.modelled)},
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
                         {"busy_ns", in_nanoseconds(use.busy)},
                         {"waited_ns", in_nanoseconds(use.waited)},
                         {"bytes", use.bytes}});
  return resources;
}

Json links_of(const ReplayResult& result) {
  Json links = Json::array();
  for (const LinkUse& link : result.links)
    links.push_back({{"name", link.name},
                     {"busy_ns", in_nanoseconds(link.busy)},
                     {"waited_ns", in_nanoseconds(link.waited)},
                     {"longest_wait_ns", in_nanoseconds(link.longest)},
                     {"bytes", link.bytes}});
  return links;
}

Json texts_of(const std::vector<UnfinishedRank>& unfinished) {
  Json texts = Json::array();
  for (const UnfinishedRank& rank : unfinished) texts.push_back(rank.text());
  return texts;
}

Json json_of(const ReplayResult::Disturbance& disturbance, Time end) {
  return {{"undisturbed_ns", in_nanoseconds(disturbance.undisturbed)},
          {"cost_ns", in_nanoseconds(end - disturbance.undisturbed)},
          {"longest_held_up_ns", in_nanoseconds(disturbance.longest)}};
}

Json json_of(const Footing& footing) {
  return {{"text", footing.text}, {"node_bits_per_second", footing.node_bits_per_second}};
}

Json json_of(const WholeRun& run) {
  return {{"modelled_time_ps", run.end.count()},
          {"modelled_time_ns", in_nanoseconds(run.end)},
          {"in_calls_ns", in_nanoseconds(run.in_calls)},
          {"share_in_calls", run.share_in_calls()}};
}

Json json_of(const ProgramTimes& program) {
  const Computing& computing = program.computing;
  return {{"mean_ns", in_nanoseconds(computing.mean())},
          {"largest_ns", in_nanoseconds(computing.largest)},
          {"imbalance", computing.imbalance()},
          {"brief_gaps_ns", in_nanoseconds(computing.brief_gaps)},
          {"longer_gaps_ns", in_nanoseconds(computing.longer_gaps)},
          {"free_communication", json_of(program.free)}};
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
                      {"longest_ns", in_nanoseconds(phase.longest())},
                      {"per_rank_ns", nanoseconds_of(phase.per_rank)}});
  Json declines = Json::array();
  for (const auto& [what, count] : counters.declines)
    declines.push_back({{"operation", to_string(what.first)}, {"reason", what.second}, {"count", count}});
  Json picoseconds = Json::array();
  for (const Time clock : clocks) picoseconds.push_back(clock.count());
  const auto& depends = counters.dependences;
  Json json = {{"backend", replayed.backend},
               {"stands_on", json_of(result.footing)},
               {"modelled_time_ps", result.modelled_time.count()},
               {"modelled_time_ns", in_nanoseconds(result.modelled_time)},
               {"per_rank_ps", picoseconds},
               {"per_rank_ns", nanoseconds_of(clocks)},
               {"calls", calls_of(result, counters)},
               {"phases", phases},
               {"declines", declines},
               {"carried_ns", in_nanoseconds(counters.times.carried)},
               {"routed_ns", in_nanoseconds(counters.times.routed)},
               {"declined_ns", in_nanoseconds(counters.times.declined)},
               {"carries_program", carried_time(counters).carries_program()},
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
               {"complete", result.unfinished.empty()},
               {"events_done", result.done()},
               {"unfinished", texts_of(result.unfinished)}};
  if (replayed.run) json["with_computing"] = json_of(*replayed.run);
  if (const auto disturbance = result.disturbance())
    json["stragglers"] = json_of(*disturbance, result.modelled_time);
  if (result.path)
    json["critical_path"] = {{"on_ranks_ns", in_nanoseconds(result.path->on_ranks)},
                             {"in_messages_ns", in_nanoseconds(result.path->in_messages)},
                             {"shared_links_ns", in_nanoseconds(result.path->shared)},
                             {"messages", result.path->messages}};
  if (!replayed.receipts.empty()) json["receipts"] = Json::parse(replayed.receipts);
  return json;
}

CarriedTime carried_time(const Counters& counters) {
  return {static_cast<double>(counters.times.carried.count()),
          static_cast<double>(counters.times.routed.count()),
          static_cast<double>(counters.times.declined.count())};
}

std::string why_not_carried(const Replayed& replayed) {
  const Counters counters = replayed.result.total();
  return not_carried_text(replayed.backend, carried_time(counters),
                          main_reason(
                              counters.declines, [](const auto& decline) { return decline.second; },
                              [](const auto& decline) { return printable(decline.first.second); }));
}

double microseconds(Time time) {
  return in_microseconds(time);
}

void check_reports(const ReplayToolOptions& options) {
  for (const auto& [option, path] : {std::pair("--report", &options.report), {"--html", &options.html}}) {
    if (path->empty()) continue;
    if (const std::string problem = option_problem(option, *path); !problem.empty()) throw Misuse{problem};
  }
}

/// As a run writes it, with the backends in their order, and those that refused last.
static std::string report_of(std::vector<Replayed>& all, const std::vector<Refused>& refused, int ranks,
                             const RunFacts& facts, const Setup& setup,
                             const std::optional<ProgramTimes>& program) {
  std::vector<Settled> settled;
  settled.reserve(all.size() + refused.size());
  for (Replayed& replayed : all)
    settled.push_back({std::string(replayed.backend),
                       std::move(replayed.result),
                       {},
                       std::move(replayed.receipts),
                       std::move(replayed.jobs),
                       replayed.run});
  for (const Refused& one : refused) settled.push_back({std::string(one.backend), {}, one.why});
  return replay_report(ranks, facts, *setup.configuration, settled, program);
}

int write_reports(const ReplayToolOptions& options, std::vector<Replayed>& all,
                  const std::vector<Refused>& refused, int ranks, const RunFacts& facts, const Setup& setup,
                  const std::optional<ProgramTimes>& program) {
  if (all.empty() || !options.wants_report()) return kDone;
  const std::string text = report_of(all, refused, ranks, facts, setup, program);
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
    fmt::print("  not to its end: {}\n", printable(result.unfinished[i].text(), 1000));
  if (result.unfinished.size() > shown)
    fmt::print("  not to their ends: {} ranks more\n", result.unfinished.size() - shown);
}

void print_result(const Replayed& replayed, const std::string& part) {
  const ReplayResult& result = replayed.result;
  if (!part.empty()) fmt::print("# only a part: {}\n", part);
  fmt::print("# {}: {:.3f} us modelled, {} ranks, {} events, {} messages\n", replayed.backend,
             microseconds(result.modelled_time), result.ranks.size(), result.events, result.messages);
  const Counters counters = result.total();
  print_calls(result, counters);
  if (!result.phases.empty()) fmt::print("  {:<28} {:>12} {:>18}\n", "phase", "times", "longest (us)");
  for (const ReplayPhase& phase : result.phases)
    fmt::print("  {:<28} {:>12} {:>18.3f}\n", printable(phase.name), phase.count,
               microseconds(phase.longest()));
  if (const CarriedTime time = carried_time(counters); time.share())
    fmt::print("  carried by {}: {} of the time of operations\n", replayed.backend, time.text());
  print_resources(result);
  print_links(result);
  print_disturbance(result);
  print_path(result);
  print_notes(result, counters);
}

}  // namespace offramp::tool
