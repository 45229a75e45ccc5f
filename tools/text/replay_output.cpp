// Shared by replay and jobs: reading the program, interruption, refusals, and tables. The JSON of a replay is
// the report's, with further fields.
#include "tools/text/replay_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "lib/answers/advice/advice.hpp"
#include "lib/answers/report/accounts.hpp"
#include "lib/answers/report/link_loads.hpp"
#include "lib/answers/report/write_report.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/import/phase.hpp"
#include "lib/programs/recording/reader.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/text/recording_info.hpp"
#include "tools/text/report.hpp"

namespace offramp::tool {

namespace {

std::atomic<bool> interrupted = false;  // lock-free, as signal handlers require

static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void watch_for_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

bool is_interrupted() {
  return interrupted;
}

ReplayInput::ReplayInput(const std::string& name, std::optional<bool> partial, Notes notes) {
  Result<trace::Program> opened = trace::open_program(name);
  if (!opened) throw Misuse{opened.error()};
  program = std::move(*opened);
  is_part = !program.missing.empty();
  if (is_part) {
    const std::string text = fmt::format("{} is incomplete: {}", in_quotes(name), program.missing);
    if (!partial.value_or(false))
      throw Misuse{
          fmt::format("{}; {} replays the part that exists", text,
                      partial ? "--partial" : fmt::format("offramp replay --partial {}", shell_word(name)))};
    if (notes == Notes::kPrinted) warn(text);
  }
  if (partial.value_or(false) && program.recording) recorded_events = events_of(program);
  if (notes == Notes::kPrinted) print_program_notes(name, program);
  facts = recording_facts(program.description, name);
}

ReplayInput::ReplayInput(trace::Program made, const std::string& name)
    : program(std::move(made)), facts(recording_facts(program.description, name)) {}

void ReplayInput::use_phase(const std::string& name, const std::string& phase) {
  is_part = is_part || !phase.empty();
  program = phase_of(name, std::move(program), phase);
}

trace::Program phase_of(const std::string& name, trace::Program program, const std::string& phase) {
  if (phase.empty()) return program;
  Result<trace::Program> part = trace::part_of(program, phase);
  if (!part) throw Misuse{problem_text(name, part.error())};
  return std::move(*part);
}

void add_baseline(ReportAnswer& answer, const Setup& setup, const Configuration& configuration,
                  const ReplayInput& input, bool sites) {
  const auto setting = world_setting(configuration, setup.registry, setup.registry.baseline(), input.ranks());
  if (setting) answer.machine = machine_text(*setting, input.ranks());
  if (!input.program.recording || input.is_part) return;
  ReplayOptions options;
  options.compute.polling =
      configuration.compute.polling;  // the recorded run, whatever factors are asked for
  options.progress = [](const ReplayProgress&) { return !is_interrupted(); };
  const auto comparison = compare_with_native(configuration, setup.registry, *input.program.recording,
                                              input.source(), options, sites);
  if (!comparison) return;
  add_native(answer, *comparison);
  answer.details.push_back(native_sites_text(*comparison));
  std::erase(answer.details, "");
}

std::string printable_lines(const std::string& text) {
  constexpr std::size_t kLongest = 1000;
  std::string shown;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    shown += (at == 0 ? "" : "\n") + printable(text.substr(at, end - at), kLongest);
    at = end + 1;
  }
  return shown;
}

std::string problem_text(const std::string& file, const std::string& error) {
  return (file.empty() || error.starts_with(file + ": ") ? std::string() : file + ": ") +
         printable_lines(error);
}

std::string nothing_replayed_text(const std::string& file, const ReplayResult& result) {
  const UnfinishedRank& first = result.unfinished.front();
  const std::string why =
      first.why == recording::kCut && !first.waits
          ? fmt::format("the recording of rank {} ends before its first event", first.rank)
          : printable(first.text(), 400);
  return fmt::format("{}: nothing can be replayed: {}", file, why);
}

std::string part_text(const ReplayResult& result, std::uint64_t recorded) {
  const auto done = static_cast<double>(result.done());
  if (result.unfinished.empty()) return {};
  const bool one_waits = std::ranges::any_of(result.unfinished, &UnfinishedRank::waits);
  if (recorded == 0 ? !one_waits : result.done() >= recorded)
    return fmt::format("the recording ends early; what it has was replayed ({})",
                       counted(result.done(), "event"));
  if (recorded == 0) return fmt::format("{} events were replayed", count_text(done));
  const auto all = static_cast<double>(recorded);
  return fmt::format("{} of the recorded events were replayed ({} of {})", percent_text(done, all),
                     count_text(done), count_text(all));
}

void print_refusals(const std::vector<BackendResult>& refused, bool nothing_else) {
  std::vector<std::string> texts;  // without duplicates
  for (const BackendResult& one : refused) {
    std::string text =
        nothing_else ? one.problem : fmt::format("{} is not replayed: {}", one.backend, one.problem);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  if (nothing_else && !texts.empty()) throw Misuse{fmt::format("{}", fmt::join(texts, "\n"))};
  for (const std::string& text : texts) warn(text);
}

RunFacts facts_of_replay(const recording::Description& description, std::vector<RecordingFacts> recordings,
                         const Setup& setup) {
  RunFacts facts = offramp::facts_of(description);
  facts.recordings = std::move(recordings);
  facts.settings = settings_in_force(
      configuration_for_library(*setup.configuration, setup.registry, library_of(description)),
      setup.registry);
  for (SettingInForce& setting : facts.settings) {
    if (setting.key == "compute" && setting.value == "measured") setting.value = "recorded";
  }
  return facts;
}

Json json_of_facts(const RunReport& report, const RunFacts& facts) {
  Json json = offramp::json_of_facts(report);
  json["complete"] = facts.replayed_part.empty();
  if (!facts.replayed_part.empty()) json["part"] = facts.replayed_part;
  return json;
}

Json json_of(const std::vector<BackendResult>& refused) {
  Json all = Json::array();
  for (const BackendResult& one : refused) all.push_back({{"backend", one.backend}, {"reason", one.problem}});
  return all;
}

void print_long_json(const Json& json, const LongLists& lists) {
  lists.write(json, [](std::string_view piece) { fmt::print("{}", piece); });
  fmt::print("\n");
}

Json json_of(const ReportLane& lane, const Settled& replayed, LongLists& lists) {
  const ReplayResult& result = *replayed.result;
  const Counters counters = result.total();
  Json json = offramp::json_of(lane, &lists);
  json["arrival_order_dependences"] = counters.arrival_order_dependences();
  json["dependences"] = offramp::json_of(dependences_of(counters));
  const auto json_of_use = [&uses = result.resources](std::size_t i) -> Json {
    return {{"name", uses[i].name},
            {"first_rank", uses[i].first_rank},
            {"busy_ns", in_nanoseconds(uses[i].busy)},
            {"waited_ns", in_nanoseconds(uses[i].waited)},
            {"bytes", uses[i].bytes}};
  };
  json["each_resource"] =
      result.resources.empty() ? Json::array() : lists.add(result.resources.size(), json_of_use);
  json["events"] = result.events;
  json["messages"] = result.messages;
  json["complete"] = result.unfinished.empty();
  json["events_done"] = result.done();
  Json& unfinished = json["unfinished"] = Json::array();
  for (const UnfinishedRank& rank : result.unfinished) unfinished.push_back(rank.text());
  if (!replayed.receipts.empty()) json["receipts"] = Json::parse(replayed.receipts);
  return json;
}

void check_reports(const ReplayToolOptions& options) {
  check_file_of("--report", options.report);
  check_file_of("--html", options.html);
}

RunReport report_of(const std::vector<Settled>& all, const std::vector<BackendResult>& refused, int ranks,
                    const RunFacts& facts, const Setup& setup, const std::optional<ProgramTimes>& program) {
  RunReport report = replay_report(ranks, facts, *setup.configuration, all, program);
  for (const BackendResult& one : refused)
    report.warnings.push_back(fmt::format("{} is not compared: {}", one.backend, one.problem));
  return report;
}

int write_reports(const std::string& report, const std::string& html, std::vector<RunReport> reports) {
  const int code = report.empty() ? kDone : write_file(report, report_text(reports.front()));
  if (html.empty() || code != kDone) return code;
  if (reports.size() == 1) reports.front().file = "the report";
  return write_file(html, report_page(reports));
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
  for (const Time clock : result.clocks()) all += in_microseconds(clock);
  fmt::print("  {:<28} {:>12} {:>16} {:>18} {:>7}\n", "function", "calls", "bytes", "modelled (us)", "share");
  for (const std::size_t i : order) {
    const CallCounter& counter = counters.calls[i];
    const double time = in_microseconds(counter.modelled);
    fmt::print("  {:<28} {:>12} {:>16} {:>18.3f} {:>6.1f}%\n", printable(result.functions[i]), counter.count,
               counter.bytes, time, all > 0 ? 100 * time / all : 0);
  }
}

static double percent(Time part, Time all) {
  return all > Time() ? 100 * static_cast<double>(part.count()) / static_cast<double>(all.count()) : 0;
}

/// Prints the busiest resource of each name, without those that are idle most of the time.
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
  constexpr double kShown = 20;  // percent of the run
  std::size_t idle = 0;
  for (const ReplayResource* use : busiest) {
    if (percent(use->busy, result.modelled_time) < kShown) {
      ++idle;
      continue;
    }
    fmt::print("  busiest {} (rank {}): {:.3f} us, {:.1f} % of the run; work waited {:.3f} us for it\n",
               use->name, use->first_rank, in_microseconds(use->busy),
               percent(use->busy, result.modelled_time), in_microseconds(use->waited));
  }
  if (idle > 0)
    fmt::print("  {} busy for less than {:.0f} % of the run\n", counted(idle, "other unit"), kShown);
}

void print_links(const ReplayResult& result) {
  constexpr std::size_t kShown = 5;
  for (const LinkUse* link : busiest(result.links, kShown))
    fmt::print(
        "  link {}: busy {:.3f} us, {:.1f} % of the run, {} bytes; messages waited {:.3f} us for it, the "
        "longest {:.3f} us\n",
        link->name, in_microseconds(link->busy), percent(link->busy, result.modelled_time), link->bytes,
        in_microseconds(link->waited), in_microseconds(link->longest));
  if (!result.links.empty())
    fmt::print("  {} links used; messages waited {:.3f} us for a free link\n", result.links.size(),
               waited_for(result.links) / 1000);
}

void print_disturbance(const ReplayResult& result) {
  const auto disturbance = result.disturbance();
  if (!disturbance) return;
  const Time cost = result.modelled_time - disturbance->undisturbed;
  fmt::print(
      "  stragglers: {:+.3f} us ({:+.1f} %) compared with the run without them; longest delay of one "
      "processor {:.3f} us\n",
      in_microseconds(cost), percent(cost, disturbance->undisturbed), in_microseconds(disturbance->longest));
}

static void print_path(const ReplayResult& result) {
  if (!result.path) return;
  const CriticalPath& path = *result.path;
  fmt::print(
      "  critical path: {:.3f} us on ranks, {:.3f} us in {} messages, {:.3f} us of it waiting for "
      "shared links\n",
      in_microseconds(path.on_ranks), in_microseconds(path.in_messages), path.messages,
      in_microseconds(path.shared));
}

static void print_accounts(const Settled& replayed) {
  if (!replayed.accounts) return;
  fmt::print("  {}\n", accounts_text(*replayed.accounts));
  for (const std::string& line : account_lines(*replayed.accounts)) fmt::print("  {}\n", line);
  for (const std::string& line : more_account_lines(*replayed.accounts)) fmt::print("  {}\n", line);
}

static void print_notes(const ReplayResult& result, const Counters& counters) {
  constexpr std::size_t kShown = 8;
  for (const auto& [what, count] : counters.declines)
    fmt::print("  declined, carried by the host: {} {}: {}\n", count, printable(what.first),
               printable(what.second));
  if (counters.arrival_order_dependences() > 0) {
    const auto& depends = counters.dependences;
    fmt::print("  depends on arrival order: {} wildcard receives, {} choices, {} failed polls\n",
               depends[static_cast<std::size_t>(Dependence::kUnnamedSource)],
               depends[static_cast<std::size_t>(Dependence::kChoice)],
               depends[static_cast<std::size_t>(Dependence::kPolling)]);
  }
  if (counters.given_up > 0)
    fmt::print("  {} operations failed: the protocol could not recover from their faults\n",
               counters.given_up);
  const std::size_t shown = std::min(result.unfinished.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i)
    fmt::print("  unfinished: {}\n", printable(result.unfinished[i].text(), 1000));
  if (result.unfinished.size() > shown)
    fmt::print("  unfinished: {} more ranks\n", result.unfinished.size() - shown);
}

void print_result(const Settled& replayed) {
  const ReplayResult& result = *replayed.result;
  if (!replayed.part.empty()) fmt::print("# incomplete: {}\n", replayed.part);
  fmt::print("# {}: {:.3f} us modelled, {} ranks, {} events, {} messages\n", replayed.backend,
             in_microseconds(result.modelled_time), result.ranks.size(), result.events, result.messages);
  const Counters counters = result.total();
  print_calls(result, counters);
  if (!result.phases.empty()) fmt::print("  {:<28} {:>12} {:>18}\n", "phase", "times", "longest (us)");
  for (const ReplayPhase& phase : result.phases)
    fmt::print("  {:<28} {:>12} {:>18.3f}\n", printable(phase.name), phase.count,
               in_microseconds(phase.longest()));
  if (replayed.time.share())
    fmt::print("  carried by {}: {} of the operations' time\n", replayed.backend, replayed.time.text());
  print_resources(result);
  print_links(result);
  print_disturbance(result);
  print_path(result);
  print_accounts(replayed);
  print_notes(result, counters);
}

}  // namespace offramp::tool
