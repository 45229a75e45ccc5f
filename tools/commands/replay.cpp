// The subcommand, and its replays: over each backend, over the host with the fastest algorithms, and with
// stragglers, undisturbed. An interrupt stops the current replay, and the results so far are printed.
// Printing is in replay_output.cpp, jobs are in jobs.cpp.
#include "lib/answers/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <utility>

#include "lib/answers/advice/answer_of.hpp"
#include "lib/answers/replay/free_communication.hpp"
#include "lib/answers/report/accounts.hpp"
#include "lib/answers/report/delays.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/answers/report/write_report.hpp"
#include "lib/base/format.hpp"
#include "lib/base/side_by_side.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/import/pattern.hpp"
#include "tools/command_line/command.hpp"
#include "tools/command_line/help.hpp"
#include "tools/command_line/memory_need.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/commands/rules.hpp"
#include "tools/commands/scaled_program.hpp"
#include "tools/commands/sweep.hpp"
#include "tools/launch/places.hpp"
#include "tools/text/progress.hpp"
#include "tools/text/recording_info.hpp"
#include "tools/text/replay_options.hpp"
#include "tools/text/replay_output.hpp"
#include "tools/text/report.hpp"

namespace offramp::tool {
namespace {

struct Results {
  std::vector<Settled> all;
  std::vector<std::optional<Time>> over_star;  // by result, for networks with shared links
  std::optional<ProgramTimes> program;         // if computing was recorded and the results leave it out
  std::vector<BackendResult> refused;
  std::optional<Settled> tuned;  // only beside hardware, if a library selects the algorithms
  int code = kDone;              // kNotWritten: a file could not be written
};

/// The host with the fastest algorithm of each collective, with its run if communication takes less than the
/// usual time. A further gain of hardware is not due to a library's selection.
std::optional<Settled> tuned_host(const Setup& setup, const ReplayInput& input, ReplayOptions how, Time usual,
                                  WholeRuns& runs) {
  const BackendDescription& host = setup.registry.baseline();
  Result<WorldSetting> setting =
      world_setting(input.configuration(setup), setup.registry, host, input.ranks());
  if (!setting || setting->settings.choice("collectives") == "best") return {};
  setting->settings.set("collectives", {0, "best"});
  how.details = false;
  how.observer = nullptr;
  Result<ReplayResult> result = offramp::replay(*setting, input.source(), how);
  if (!result || result->stopped) return {};
  Settled tuned = settled_over(fmt::format("{} tuned", host.name), std::move(*result));
  if (tuned.result->modelled_time < usual)
    tuned.run = runs.run_of(*setting, input.source(), how, *tuned.result);
  return tuned;
}

/// The communication over a single switch, where links are not shared.
std::optional<Time> over_star(const Setup& setup, const WorldSetting& setting, const ReplayInput& input,
                              ReplayOptions how) {
  if (setup.configuration->network.is_star()) return {};  // also if the default is a fat tree
  WorldSetting star = setting;
  star.network = {};
  how.details = how.sizes = false;
  how.observer = nullptr;
  Result<ReplayResult> result = offramp::replay(star, input.source(), how);
  return result && !result->stopped ? std::optional(result->modelled_time) : std::nullopt;
}

/// Whether a page may draw the timeline of the last result: it is the first one, or the fastest of the
/// others.
bool is_first_or_fastest(const std::vector<Settled>& all) {
  return all.size() == 1 || std::all_of(all.begin() + 1, all.end() - 1, [&](const Settled& other) {
           return all.back().end() <= other.end();
         });
}

/// A replay over one backend, and what it is made with.
struct Playing {
  const BackendDescription* backend;
  WorldSetting setting;
  ReplayOptions how;
  std::unique_ptr<ReplayRecords> records;
  std::optional<Result<ReplayResult>> result = {};
  std::optional<WholeRun> run = {};
};

/// Replays over all backends, or until Ctrl-C. name: of the program.
Results replay_all(const ReplayToolOptions& options, const Setup& setup, const ReplayInput& input,
                   const std::string& name) {
  Results results;
  WholeRuns whole_runs;
  RecordFiles files(options.records, setup.backends.size());
  Places places(objects_of(input.program.description));
  const ProgressLine progress;
  const int ranks = input.ranks();
  std::vector<Playing> all;
  for (const BackendDescription* backend : setup.backends) {
    Result<WorldSetting> setting = world_setting(input.configuration(setup), setup.registry, *backend, ranks);
    if (!setting) throw Misuse{setting.error()};
    if (std::string problem = pattern_memory_problem(setup, *backend, name); !problem.empty()) {
      results.refused.push_back({std::string(backend->name), std::move(problem)});
      continue;
    }
    setting->check = options.check;
    ReplayOptions how;
    how.compute = setup.configuration->compute;
    how.details = setup.configuration->details;
    how.sizes = options.needs_report() || setup.backends.size() > 1;
    how.partial = options.partial;
    how.arrival = options.modelled_arrival ? Arrival::kModelled : Arrival::kRecorded;
    std::unique_ptr<ReplayRecords> records = files.records(backend->name, ranks);
    how.observer = records.get();
    how.progress = [&progress, backend, ranks](const ReplayProgress& now) {
      progress.show("{}: {} events, {} of {} ranks done", backend->name, now.events, now.ranks_ended, ranks);
      return !is_interrupted();
    };
    all.push_back({backend, std::move(*setting), std::move(how), std::move(records)});
  }
  ReplaySource source = input.source();
  // What is observed takes memory until it is written.
  const bool is_observed =
      std::ranges::any_of(all, [](const Playing& one) { return one.records != nullptr; });
  const std::size_t most = is_observed ? 1 : worlds_at_once(source);
  source.is_concurrent = source.is_concurrent && all.size() == 1;  // else cores have other backends
  const auto play = [&](Playing& one) {
    one.result = whole_runs.replay_and_run(one.setting, source, one.how, one.run);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % most == 0 && !is_interrupted())
      side_by_side(std::min(most, all.size() - i), most, [&](std::size_t n) { play(all[i + n]); });
    Playing& one = all[i];
    const BackendDescription* const backend = one.backend;
    if (!one.result) break;
    Result<ReplayResult>& result = *one.result;
    if (!result) {
      results.refused.push_back({std::string(backend->name), problem_text(name, result.error())});
      continue;
    }
    if (result->stopped) break;
    if (!result->unfinished.empty() && result->done() == 0) {
      results.refused.push_back({std::string(backend->name), nothing_replayed_text(name, *result)});
      continue;
    }
    Settled& replayed = results.all.emplace_back(settled_over(backend->name, std::move(*result)));
    replayed.part = part_text(*replayed.result, input.recorded_events);
    replayed.run = one.run;
    if (setup.backends.size() > 1 && is_baseline(backend->name))
      results.tuned = tuned_host(setup, input, one.how, replayed.result->modelled_time, whole_runs);
    results.program = whole_runs.program();
    results.over_star.push_back(over_star(setup, one.setting, input, one.how));
    if (one.how.details || (!options.html.empty() && is_first_or_fastest(results.all)))
      replayed.accounts = accounts_of(one.setting, input.source(), one.how, *replayed.result);
    if (replayed.accounts && one.how.details)
      find_savings(*replayed.accounts, one.setting, input.source(), one.how);
    if (replayed.accounts) name_places(*replayed.accounts, places);
    if (one.records != nullptr) files.write(backend->name, *one.records);
    if (options.records.receipts.any()) results.all.back().receipts = one.records->receipts_json();
    one.records.reset();
  }
  for (const std::string& problem : places.problems()) warn("note: " + problem);
  if (const int code = files.finish(); code != kDone) results.code = code;
  return results;
}

Json json_of_all(const Results& results, const recording::Description& description, const RunReport& report,
                 const RunFacts& facts, LongLists& lists) {
  Json known = Json::object();
  for (const auto& [key, value] : description.facts) known[key] = value;
  Json each = Json::array();
  for (std::size_t i = 0; i < results.all.size(); ++i) {
    const Settled& one = results.all[i];
    Json& json = each.emplace_back(json_of(report.lanes[i], one, lists));
    if (results.over_star[i]) json["over_star_ns"] = in_nanoseconds(*results.over_star[i]);
    if (one.run && results.program)
      json["hidden_share"] = hidden_share(one.result->modelled_time, *one.run, results.program->free);
  }
  Json json = {{"ranks", description.ranks}, {"facts", known}};
  json.update(json_of_facts(report, facts));
  if (results.tuned)
    json["host_with_the_fastest_algorithms_ns"] = in_nanoseconds(results.tuned->result->modelled_time);
  if (report.answer) json["answer"] = json_of(*report.answer);
  if (const std::vector<ReportCallRow> rows = call_rows(report); !rows.empty())
    json["call_sites"] = json_of(rows);
  json["results"] = std::move(each);
  json["refused"] = json_of(results.refused);
  json["interrupted"] = is_interrupted();
  return json;
}

void print_comparison(const Results& results) {
  const std::vector<Settled>& all = results.all;
  const Time first = all.front().result->modelled_time;
  std::string notes;
  fmt::print("{:<10} {:>18} {:>8} {:>9}\n", "# backend", "modelled (us)", "ratio", "carried");
  for (const Settled& replayed : all) {
    const Time time = replayed.result->modelled_time;
    const bool has_ratio = first > Time() && replayed.counts();
    fmt::print("{:<10} {:>18.3f} {:>8} {:>9}\n", replayed.backend, in_microseconds(time),
               has_ratio ? fmt::format("{:.3f}", time.seconds() / first.seconds()) : "-",
               replayed.time.text());
    if (!replayed.counts()) notes += "# " + replayed.why_not_carried() + "\n";
  }
  for (const BackendResult& one : results.refused)
    fmt::print("{:<10} {:>18} {:>8} {:>9}\n", one.backend, "refused", "-", "-");
  for (const Settled& replayed : all)
    notes += fmt::format("# {} runs on {}\n", replayed.backend, replayed.result->deployment.text);
  if (results.tuned)
    notes += fmt::format("# host with the fastest algorithms: {:.3f} us{}\n",
                         in_microseconds(results.tuned->result->modelled_time),
                         first > Time()
                             ? fmt::format(", ratio {:.3f}; only a gain beyond that is due to the hardware",
                                           results.tuned->result->modelled_time.seconds() / first.seconds())
                             : "");
  fmt::print("{}", notes);
}

/// Prints the cost of sharing the network's links.
void print_against_star(const Results& results, const NetworkOptions& network) {
  for (std::size_t i = 0; i < results.all.size(); ++i) {
    const auto& star = results.over_star[i];
    if (!star || *star <= Time()) continue;
    fmt::print("# {} over one switch, without shared links: {:.3f} us; over {} the ratio to that is {:.3f}\n",
               results.all[i].backend, in_microseconds(*star), printable(network.topology),
               results.all[i].result->modelled_time.seconds() / star->seconds());
  }
}

/// Prints the runs with computing, in addition to the times of communication.
void print_whole_runs(const std::vector<Settled>& all, const ProgramTimes& program, Polling polling) {
  fmt::print("{:<10} {:>18} {:>8} {:>9}\n", "# whole run", "modelled (us)", "ratio", "in MPI");
  const auto line = [&](std::string_view name, const WholeRun& run, bool has_ratio) {
    const Time first = all.front().run ? all.front().run->end : Time();
    fmt::print("{:<11} {:>18.3f} {:>8} {:>9}\n", name, in_microseconds(run.end),
               has_ratio && first > Time() ? fmt::format("{:.3f}", run.end.seconds() / first.seconds()) : "-",
               percent_text(run.in_calls, run.sum));
  };
  for (const Settled& replayed : all) {
    if (replayed.run) line(replayed.backend, *replayed.run, replayed.counts());
  }
  line("free", program.free, true);
  std::vector<std::string> hidden;
  for (const Settled& replayed : all) {
    if (replayed.run)
      hidden.push_back(fmt::format(
          "{} {}", replayed.backend,
          percent_text(hidden_share(replayed.result->modelled_time, *replayed.run, program.free), 1)));
  }
  fmt::print("# overlap (share of communication that does not make the run longer): {}\n",
             fmt::join(hidden, ", "));
  fmt::print(
      "# between MPI calls: {:.3f} us per rank on average, as recorded, {} of it blocked; imbalance {:.2f} "
      "(longest over average); free: communication that takes no time, which leaves the load imbalance\n",
      in_microseconds(program.computing.mean()),
      percent_text(program.computing.blocked, program.computing.sum), program.computing.imbalance());
  if (program.computing.is_ambiguous())
    fmt::print("# {}\n",
               gaps_text(program.computing.brief_gaps, program.computing.longer_gaps, to_string(polling)));
}

/// Opens the program, or makes it at more ranks, and then sets `scaling`.
ReplayInput opened(const ReplayToolOptions& options, const std::string& name,
                   std::optional<scale::Scaling>& scaling) {
  if (options.scaled.ranks == 0) {
    ReplayInput input(name, options.partial);
    input.use_phase(name, options.scaled.phase);
    return input;
  }
  scaling = scaled_program(options.scaled);
  return {std::move(scaling->program), name};
}

/// The effect of the network as a clause. Empty without a network.
std::string network_text(const Results& results) {
  std::vector<std::string> costs;
  bool is_known = false;
  bool is_one_switch = true;
  for (std::size_t i = 0; i < results.all.size(); ++i) {
    const auto& star = results.over_star[i];
    if (!star || *star <= Time()) continue;
    is_known = true;
    const ReplayResult& result = *results.all[i].result;
    is_one_switch = is_one_switch && result.links.empty();
    const double ratio = result.modelled_time.seconds() / star->seconds();
    if (ratio > 1.005)
      costs.push_back(fmt::format("{} over {}", share_text(ratio - 1), results.all[i].backend));
  }
  if (!costs.empty()) return fmt::format("shared links lengthen communication by {}", fmt::join(costs, ", "));
  if (!is_known) return {};
  return is_one_switch ? "the network changes nothing: all nodes are under one switch"
                       : "the network changes nothing: its shared links are not busy";
}

/// The deficiency of a replay as a clause. Empty if there is none.
std::string shortcoming_text(const Settled& replayed) {
  if (!replayed.part.empty()) return replayed.part;
  const std::uint64_t given_up = replayed.result->total().given_up;
  if (given_up == 0) return {};
  return fmt::format("{} failed over {}", counted(given_up, "operation"), replayed.backend);
}

/// The first replayed backend is the baseline.
ReportAnswer answer_of(const Results& results, const Setup& setup, const ReplayToolOptions& options,
                       const std::string& name) {
  const bool has_tuned = results.tuned && is_baseline(setup.backends.front()->name) &&
                         results.tuned->run.has_value() == results.all.front().run.has_value();
  std::string words = shell_word(name);
  if (options.scaled.ranks > 0) {
    words.clear();
    for (const std::string& file : options.scaled.files) words += shell_word(file) + " ";
    words += fmt::format("--ranks {}", options.scaled.ranks);
  }
  ReportAnswer answer =
      answer_of_replays(results.all, results.refused, results.program, has_tuned ? &*results.tuned : nullptr,
                        {std::filesystem::path(name).filename().string(), words},
                        setup.configuration->compute.kind != Compute::Mode::kNone);
  std::vector<std::string> objections;
  for (const Settled& one : results.all) {
    const std::string text = shortcoming_text(one);
    if (std::ranges::find(objections, text) == objections.end()) objections.push_back(text);
  }
  objections.push_back(network_text(results));
  objections.push_back(answer.but);
  answer.but = clauses_text(objections);
  return answer;
}

/// A replayed program with all its results.
struct Replayed {
  std::optional<scale::Scaling> scaling;  // set for a program at more ranks, which is in `input`
  ReplayInput input;
  Results results;
  RunFacts facts;
  RunReport report;

  Replayed(const ReplayToolOptions& options, const Setup& setup, const std::string& name,
           const std::string& version)
      : input(opened(options, name, scaling)) {
    results = replay_all(options, setup, input, name);
    std::vector<Settled>& all = results.all;
    print_refusals(results.refused, all.empty());
    facts = facts_of_replay(input.program.description, {input.facts}, setup);
    const bool is_reported = options.json || options.needs_report() || options.files.size() > 1;
    if (is_reported) facts.recordings.front().checksum = checksum_text(input.program);
    if (!all.empty()) facts.replayed_part = all.front().part;
    report = report_of(all, results.refused, input.ranks(), facts, setup, results.program);
    if (!all.empty() && (all.size() + results.refused.size() > 1 || options.files.size() == 1))
      report.answer = answer_of(results, setup, options, name);
    if (report.answer && !scaling)
      add_baseline(*report.answer, setup, input.configuration(setup), input, setup.configuration->details);
    if (report.answer && scaling)
      report.answer->sure = clauses_text({held_out_text(*scaling), report.answer->sure});
    report.file = name;
    report.version_of_program = version;
  }

  [[nodiscard]] Json json(LongLists& lists) const {
    return json_of_all(results, input.program.description, report, facts, lists);
  }
  /// Prints the answer, and the tables with --details.
  void print(const Setup& setup, const ScaledOptions& scaled) const {
    const std::vector<Settled>& all = results.all;
    if (report.answer) {
      fmt::print("{}", answer_text(*report.answer, line_width()));
      if (!setup.configuration->details) return;
      fmt::print("\n");
    }
    if (scaling) print_scaling(*scaling, scaled);
    for (const Settled& replayed : all) print_result(replayed);
    if (all.size() + results.refused.size() > 1 && !all.empty()) print_comparison(results);
    print_against_star(results, setup.configuration->network);
    if (results.program && !all.empty())
      print_whole_runs(all, *results.program, setup.configuration->compute.polling);
    if (!setup.configuration->details || all.empty()) return;
    const std::vector<ReportCallRow> rows = call_rows(report);
    if (rows.empty() || all.size() > 1) fmt::print("{}", call_table_text(rows));
    const std::vector<RunReport> reports = {report};
    for (const std::string& line : efficiency_lines(shown_lanes(reports))) fmt::print("{}\n", line);
  }
};

void print_all(const std::deque<Replayed>& replayed, const ReplayToolOptions& options, const Setup& setup) {
  LongLists lists;
  if (options.json && options.files.size() <= 1) return print_long_json(replayed.front().json(lists), lists);
  if (replayed.size() == 1 && !options.json) return replayed.front().print(setup, options.scaled);
  std::vector<RunReport> reports;
  reports.reserve(replayed.size());
  for (const Replayed& one : replayed) reports.push_back(one.report);
  if (options.json) {
    Json each = Json::array();
    for (const Replayed& one : replayed) each.push_back(one.json(lists));
    for (const VersionChange& change : changes_of(reports))
      each[static_cast<std::size_t>(change.after - reports.data())]["answer"] = json_of(change.answer);
    print_long_json(each, lists);
  } else if (setup.configuration->details || !print_answers(reports)) {
    print_reports(reports);
  } else {
    for (const std::string& warning : warnings_of(reports)) warn(printable(warning, 400));
  }
}

}  // namespace

int replay(const ReplayToolOptions& options) {
  if (!options.sweeps.empty()) return replay_sweep(options);
  if (!options.jobs.empty() || !options.background.empty()) return replay_jobs(options);
  const Setup setup(options.overrides, options.backends, Setup::Wanted::kCompared);
  check_reports(options);
  setup.print_sources();
  watch_for_interrupt();
  std::deque<Replayed> replayed;
  std::deque<Setup> libraries;  // by file, with --libraries
  for (const std::string& library : options.libraries) {
    std::vector<Override> overrides = options.overrides;
    overrides.push_back({"collectives", library, "--libraries"});
    libraries.emplace_back(overrides, std::vector{std::string(baseline_name())}, Setup::Wanted::kCompared);
  }
  int code = kDone;
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    if (is_interrupted()) break;
    try {
      replayed.emplace_back(options, libraries.empty() ? setup : libraries[i], options.files[i],
                            options.versions.empty() ? std::string() : options.versions[i]);
    } catch (const Misuse& misuse) {  // continue with the other programs
      if (options.files.size() == 1) throw;
      warn(misuse.text);
      code = kUsage;
    }
  }
  if (replayed.empty()) return is_interrupted() ? kInterrupted : code;
  print_all(replayed, options, setup);
  for (const std::string& note : setup.notes()) warn(note);
  std::vector<RunReport> reports;
  for (Replayed& one : replayed) {
    if (one.scaling && !one.scaling->caveat().empty()) code = kFoundFailures;
    if (one.results.code != kDone) code = one.results.code;
    if (!one.results.all.empty()) reports.push_back(std::move(one.report));
  }
  if (!reports.empty() && write_reports(options.report, options.html, reports) != kDone) code = kNotWritten;
  if (!is_interrupted()) return code;
  const Replayed& last = replayed.back();
  warn(fmt::format("interrupted: {} of {} backends were replayed", last.results.all.size(),
                   setup.backends.size()));
  return kInterrupted;
}

namespace {

/// The kinds of patterns are listed before the source of settings.
std::string about_replay() {
  std::string text =
      "Simulates all ranks, their devices, and the network in one process, in order of modelled time and "
      "without data. A pattern is a small generated program, pattern:NAME:RANKS:BYTES[:ROUNDS]; --help-all "
      "lists them.\n\n";
  for (const PatternKind& kind : pattern_kinds()) {
    const std::string own = kind.parameter.empty() ? "" : fmt::format(":{}", kind.parameter);
    constexpr std::size_t kColumn = 24;  // of the descriptions
    text += fmt::format("  {:<21} {}\n", fmt::format("{}{}", kind.name, own),
                        wrapped(kind.description, kColumn, kColumn));
  }
  return text + R"(
Settings and routes come from offramp.toml, OFFRAMP_* variables, and these options, as for offramp run.

Wildcard receives and MPI_Waitany complete as recorded; with --arrival modelled, modelled time decides. Failed polls
(MPI_Test, MPI_Iprobe) take no time.

Ctrl-C ends the replay that runs and prints those that are done.

Hardware that cannot carry the program is left out, with the reason.)";
}

std::string is_compute(const std::string& text) {
  const std::optional<double> factor = parse_quantity(text, "");
  if (text == "none" || text == "recorded" || (factor && *factor > 0)) return {};
  return fmt::format("{} is not none, recorded, or a factor above 0", in_quotes(text));
}

std::string is_calls(const std::string& text) {
  if (parse_calls(text)) return {};
  return fmt::format("{} is not none, all, a call (127), or a range of calls (100-200)", in_quotes(text));
}

class ReplayCommand final : public Command {
 public:
  explicit ReplayCommand(CLI::App& app)
      : Command(app),
        keys_(app, {KeyGroup::kSettings, KeyGroup::kNetwork, KeyGroup::kMachine, KeyGroup::kStragglers,
                    KeyGroup::kComputing, KeyGroup::kDetails}),
        compute_scaling_(app) {
    add_backends(app, options_.backends);
    add_value(app, "files", options_.files, "FILE|PATTERN",
              "a recording, a folder of recordings of one program, a trace, or a pattern; with several "
              "files, compare the others with the first; A1 A2 -- B1 B2 compares two versions; with "
              "--ranks, scale them (see offramp scale)");
    add_ranks(app, options_.scaled.ranks, "number of ranks to scale to; by default as recorded");
    add_phase(app, options_.scaled.phase);
    add_value(app, "--job", options_.jobs, "FILE[:NODES]",
              "another program that runs at the same time on its own nodes; :NODES (0-7,12) places it; "
              "may be repeated")
        ->allow_extra_args(false);
    add_value(app, "--background", options_.background, "KIND:RATE",
              "traffic between the remaining nodes: uniform, incast, or shift, with a rate per node in Gb/s");
    add_value(app, "--compute", compute_, "none|recorded|FACTOR",
              "time between MPI calls: none, as recorded, or with the CPU time times a factor")
        ->check(is_compute, "");
    add_value(app, "--sweep", options_.sweeps, "KEY=FROM:TO",
              "replay at several values of a key: doubled each time, multiplied (:xFACTOR), or increased "
              "(:+STEP), as in latency=500ns:4us or link=x0.5:x4; for patterns also ranks or bytes; given "
              "twice, every combination")
        ->allow_extra_args(false);
    add_jobs(app, options_.threads);
    add_value(app, "--route", routes_, "OPERATION[:MIN-MAX]=BACKEND",
              "carry some operations by other hardware: bcast=tinsel, or allreduce:0-1KiB=aie by size; "
              "may be repeated, the first match wins")
        ->allow_extra_args(false);
    add_value(app, "--arrival", arrival_, "recorded|modelled",
              "how wildcard receives match: as recorded, or by modelled time")
        ->check(one_of({"recorded", "modelled"}))
        ->capture_default_str();
    add_value(app, "--rules", options_.rules, "loggopsim[:NAME=VALUE,...]",
              "replay a schedule (GOAL or another graph) by LogGOPSim's rules instead of a backend's; "
              "the default is loggopsim:L=2500,o=1500,g=1000,G=6,O=0,S=65535")
        ->check(is_rules, "");
    add_partial(app, options_.partial);
    add_check(app, options_.check);
    add_csv(app, options_.csv, add_json(app, options_.json));
    add_records(app, options_.records);
    add_value(app, "--otf2", options_.records.otf2, "FOLDER",
              "write the modelled timeline as an OTF2 archive, for Vampir and Scalasca; with several "
              "backends, one archive each (FOLDER.host)");
    add_value(app, "--report", options_.report, "FILE", "write a report in JSON");
    add_value(app, "--libraries", options_.libraries, "LIBRARY,LIBRARY[,...]",
              "replay over the host as these MPI libraries choose their algorithms, and compare the others "
              "with the first; see host.collectives")
        ->delimiter(',')
        ->allow_extra_args(false);
    add_html(app, options_.html);
    add_value(app, "--receipts", receipts_, "all|CALLS",
              "calls whose stages the report lists, counted per rank from 1")
        ->check(is_calls, "");
  }
  /// later: the recordings of a second version of the program, after --.
  int execute(std::vector<std::string> later) override {
    options_.backends = without_repeats(options_.backends);
    std::string problem = keys_.collect(options_.backends, options_.overrides);
    add_versions(later);
    std::vector<std::string>& files = options_.files;
    if (files.empty() && options_.jobs.empty()) problem = "FILE, PATTERN, or --job is missing";
    if (is_set("--ranks") &&
        (files.empty() || !options_.jobs.empty() || !options_.background.empty() || options_.partial))
      problem = "--ranks needs complete recordings, without --job and --background";
    if (is_set("--compute-scaling") && !is_set("--ranks")) problem = "--compute-scaling needs --ranks N";
    if (is_set("--phase") && (!options_.jobs.empty() || !options_.background.empty()))
      problem = "--phase needs a single program, without --job and --background";
    if (is_set("--ranks")) {
      options_.scaled.compute = compute_scaling_.value();
      options_.scaled.files = std::exchange(files, {fmt::format("{}", fmt::join(files, ","))});
    }
    if (files.size() > 1) {
      const bool one = !options_.jobs.empty() || !options_.background.empty() || !options_.report.empty() ||
                       is_set("--trace") || is_set("--capture") || is_set("--otf2") || is_set("--receipts");
      if (one)
        problem =
            "--job, --background, --report, --trace, --capture, --otf2, and --receipts need a single program";
    }
    if (is_set("--otf2") && !options_.jobs.empty()) problem = "--otf2 needs a single program, without --job";
    if (!options_.sweeps.empty()) {
      const bool more = files.size() != 1 || is_set("--ranks") || options_.needs_report() ||
                        !options_.jobs.empty() || !options_.background.empty() || is_set("--trace") ||
                        is_set("--capture") || is_set("--otf2") || is_set("--receipts") || is_set("--phase");
      if (more)
        problem =
            "--sweep needs a single program, without --job, --background, --ranks, --phase, --report, "
            "--html, --trace, --capture, --otf2, and --receipts";
    }
    if (options_.sweeps.empty() && options_.threads != 0) problem = "--jobs needs --sweep";
    for (const std::string& route : routes_) options_.overrides.push_back({"route", route, "--route"});
    if (is_set("--receipts") && !options_.json && options_.report.empty())
      problem = "--receipts needs --report FILE or --json";
    if (is_set("--rules")) {
      for (const char* other :
           {"--backend", "--job", "--background", "--ranks", "--phase", "--sweep", "--route", "--compute",
            "--check", "--report", "--html", "--trace", "--capture", "--otf2", "--receipts"}) {
        if (is_set(other))
          problem = fmt::format("--rules cannot be combined with {}: no hardware takes part", other);
      }
    }
    if (is_set("--libraries") && (files.size() != 1 || is_set("--ranks") || is_set("--backend") ||
                                  !options_.sweeps.empty() || !options_.jobs.empty()))
      problem = "--libraries needs a single program, without --backend, --ranks, --sweep, and --job";
    if (is_set("--libraries") && problem.empty()) {
      files.assign(options_.libraries.size(), files.front());
      options_.versions = options_.libraries;
    }
    if (options_.csv && options_.sweeps.empty()) problem = "--csv needs a sweep; see --sweep";
    if (!problem.empty()) return refuse(problem);
    if (is_set("--rules")) return replay_by_rules(options_);
    if (is_set("--compute"))
      options_.overrides.push_back({"compute", compute_ == "recorded" ? "measured" : compute_, "--compute"});
    options_.modelled_arrival = arrival_ == "modelled";
    options_.records.receipts = *parse_calls(receipts_);
    return replay(options_);
  }

 private:
  /// Replaces folders by their recordings. Each folder, and each side of --, is a version.
  void add_versions(const std::vector<std::string>& later) {
    ReplayToolOptions all;
    const auto add = [&](const std::vector<std::string>& names, bool is_version) {
      for (const std::string& name : names) {
        const std::vector<std::string> inside = recordings_in(name);
        all.files.insert(all.files.end(), inside.begin(), inside.end());
        if (inside.empty()) all.files.push_back(name);
        const std::string version = is_version ? names.front() : inside.empty() ? "" : name;
        all.versions.resize(all.files.size(), version);
      }
    };
    add(options_.files, !later.empty());
    add(later, true);
    options_.files = std::move(all.files);
    options_.versions = std::move(all.versions);
  }

  ReplayToolOptions options_;
  KeyOptions keys_;
  ComputeScalingOption compute_scaling_;
  std::vector<std::string> routes_;
  std::string receipts_ = "none";
  std::string compute_;
  std::string arrival_ = "recorded";
};

const Registered<ReplayCommand> replay_command(
    {.name = "replay",
     .place = 60,
     .summary = "replay a recorded program on other hardware",
     .about = about_replay(),
     .often = {"-h", "--backend", "--details", "-n", "--sweep", "--network", "--ranks-per-node", "--compute",
               "--set", "--json", "--html", "--trace"},
     .exits = {{kUsage,
                "the command line, the configuration, or a file is wrong, or nothing could be replayed; "
                "results of the other files are printed"},
               {kFoundFailures,
                "with --ranks: replayed, but no call of the largest recording could be predicted from the "
                "others, so nothing confirms the extrapolation"},
               {kNotWritten, "a report, a trace, or a capture could not be written"},
               {kInterrupted, "interrupted; finished replays are printed"}},
     .takes_more = true});

}  // namespace
}  // namespace offramp::tool
