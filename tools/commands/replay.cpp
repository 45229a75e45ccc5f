// The subcommand and the replays that it takes: over each backend, over the host with the fastest
// algorithms, and undisturbed where there are stragglers. An interrupt stops the replay that runs, and what
// is there is told. Printing is in replay_output.cpp, jobs are in jobs.cpp.
#include "lib/answers/replay/replay.hpp"

#include <fmt/format.h>

#include <deque>
#include <utility>

#include "lib/answers/replay/free_communication.hpp"
#include "lib/answers/report/accounts.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/import/pattern.hpp"
#include "tools/command_line/command.hpp"
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
  std::vector<std::optional<Time>> over_star;  // of each of them, with a network that has shared links
  std::optional<ProgramTimes> program;         // where the recording has computing and the results do not
  std::vector<Refused> refused;
  std::optional<Time>
      host_at_its_best;  // beside hardware, where the host's algorithms are a library's choice
  int code = kDone;      // kNotWritten: a file could not be
};

/// How long it takes over the host with the fastest algorithm of each collective: what hardware gains beyond
/// that is not due to a library's choice.
std::optional<Time> host_at_its_best(const Setup& setup, const Played& played, ReplayOptions how) {
  const BackendDescription& host = setup.registry.baseline();
  Result<WorldSetting> setting =
      world_setting(played.configuration(setup), setup.registry, host, played.ranks());
  if (!setting || setting->settings.choice("collectives") == "best") return {};
  setting->settings.set("collectives", {0, "best"});
  how.details = how.sizes = false;
  how.observer = nullptr;
  Result<ReplayResult> result = offramp::replay(*setting, played.source(), how);
  return result && !result->stopped ? std::optional(result->modelled_time) : std::nullopt;
}

/// How long it would take over one switch, where no links are shared.
std::optional<Time> over_star(const WorldSetting& setting, const Played& played, ReplayOptions how) {
  if (setting.network.is_star()) return {};
  WorldSetting star = setting;
  star.network = {};
  how.details = how.sizes = false;
  how.observer = nullptr;
  Result<ReplayResult> result = offramp::replay(star, played.source(), how);
  return result && !result->stopped ? std::optional(result->modelled_time) : std::nullopt;
}

/// Until Ctrl-C. name: of what is played.
Results replay_all(const ReplayToolOptions& options, const Setup& setup, const Played& played,
                   const std::string& name) {
  Results results;
  WholeRuns whole_runs;
  RecordFiles files(options.records, setup.backends.size());
  Places places(objects_of(played.program.description));
  for (const BackendDescription* backend : setup.backends) {
    Result<WorldSetting> setting =
        world_setting(played.configuration(setup), setup.registry, *backend, played.ranks());
    if (!setting) throw Misuse{setting.error()};
    if (std::string problem = pattern_memory_problem(setup, *backend, name); !problem.empty()) {
      results.refused.push_back({backend->name, std::move(problem)});
      continue;
    }
    setting->check = options.check;
    const ProgressLine progress;
    const int ranks = played.ranks();
    ReplayOptions how;
    how.compute = setup.configuration->compute;
    how.details = setup.configuration->details;
    how.sizes = options.wants_report();
    how.partial = options.partial;
    how.arrival = options.modelled_arrival ? Arrival::kModelled : Arrival::kRecorded;
    const std::unique_ptr<ReplayRecords> records = files.records(backend->name, ranks);
    how.observer = records.get();
    how.progress = [&](const ReplayProgress& now) {
      progress.say("{}: {} events, {} of {} ranks done", backend->name, now.events, now.ranks_ended, ranks);
      return !is_interrupted();
    };
    Result<ReplayResult> result = offramp::replay(*setting, played.source(), how);
    if (!result) {
      results.refused.push_back({backend->name, problem_text(name, result.error())});
      continue;
    }
    if (result->stopped) break;
    if (!result->unfinished.empty() && result->done() == 0) {
      results.refused.push_back({backend->name, nothing_replayed_text(name, *result)});
      continue;
    }
    results.all.push_back({std::string(backend->name), std::move(*result)});
    if (setup.backends.size() > 1 && is_baseline(backend->name))
      results.host_at_its_best = host_at_its_best(setup, played, how);
    Settled& replayed = results.all.back();
    replayed.run = whole_runs.of(*setting, played.source(), how, *replayed.result);
    results.program = whole_runs.program();
    results.over_star.push_back(over_star(*setting, played, how));
    if (how.details) replayed.accounts = accounts_of(*setting, played.source(), how, *replayed.result);
    if (replayed.accounts) name_places(*replayed.accounts, places);
    if (records != nullptr) files.write(backend->name, *records);
    if (options.records.receipts.any()) results.all.back().receipts = records->receipts_json();
    if (is_interrupted()) break;
  }
  for (const std::string& problem : places.problems()) complain("note: " + problem);
  if (const int code = files.finish(); code != kDone) results.code = code;
  return results;
}

Json json_of_all(const Results& results, const recording::Description& description, const RunReport& report,
                 const RunFacts& facts) {
  Json known = Json::object();
  for (const auto& [key, value] : description.facts) known[key] = value;
  Json each = Json::array();
  for (std::size_t i = 0; i < results.all.size(); ++i) {
    const Settled& one = results.all[i];
    Json& json = each.emplace_back(json_of(report.lanes[i], one));
    if (results.over_star[i]) json["over_star_ns"] = in_nanoseconds(*results.over_star[i]);
    if (one.run && results.program)
      json["hidden_share"] = hidden_share(one.result->modelled_time, *one.run, results.program->free);
  }
  Json json = {{"ranks", description.ranks}, {"facts", known}};
  json.update(json_of_facts(report, facts));
  if (results.host_at_its_best)
    json["host_with_the_fastest_algorithms_ns"] = in_nanoseconds(*results.host_at_its_best);
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
    const CarriedTime carried = carried_time(replayed.result->total());
    const bool has_ratio = first > Time() && carried.carries_program();
    fmt::print("{:<10} {:>18.3f} {:>8} {:>9}\n", replayed.backend, microseconds(time),
               has_ratio ? fmt::format("{:.3f}", time.seconds() / first.seconds()) : "-", carried.text());
    if (!carried.carries_program()) notes += "# " + why_not_carried(replayed) + "\n";
  }
  for (const Refused& one : results.refused)
    fmt::print("{:<10} {:>18} {:>8} {:>9}\n", one.backend, "refused", "-", "-");
  for (const Settled& replayed : all)
    notes += fmt::format("# {} stands on {}\n", replayed.backend, replayed.result->footing.text);
  if (results.host_at_its_best)
    notes += fmt::format(
        "# host with the fastest algorithms: {:.3f} us{}\n", microseconds(*results.host_at_its_best),
        first > Time() ? fmt::format(", ratio {:.3f}; what hardware gains beyond that is not "
                                     "due to the choice of algorithms",
                                     results.host_at_its_best->seconds() / first.seconds())
                       : "");
  fmt::print("{}", notes);
}

/// What sharing the links of the network costs.
void print_against_star(const Results& results, const NetworkOptions& network) {
  for (std::size_t i = 0; i < results.all.size(); ++i) {
    const auto& star = results.over_star[i];
    if (!star || *star <= Time()) continue;
    fmt::print(
        "# {} over one switch, where no links are shared: {:.3f} us; over {} it takes {:.3f} of that\n",
        results.all[i].backend, microseconds(*star), printable(network.topology),
        results.all[i].result->modelled_time.seconds() / star->seconds());
  }
}

/// The runs of which the times above are the communication.
void print_whole_runs(const std::vector<Settled>& all, const ProgramTimes& program, Polling polling) {
  fmt::print("{:<10} {:>18} {:>8} {:>9}\n", "# whole run", "modelled (us)", "ratio", "in MPI");
  const auto line = [&](std::string_view name, const WholeRun& run, bool has_ratio) {
    const Time first = all.front().run ? all.front().run->end : Time();
    fmt::print("{:<11} {:>18.3f} {:>8} {:>9}\n", name, microseconds(run.end),
               has_ratio && first > Time() ? fmt::format("{:.3f}", run.end.seconds() / first.seconds()) : "-",
               percent_text(run.in_calls, run.sum));
  };
  for (const Settled& replayed : all) {
    if (replayed.run)
      line(replayed.backend, *replayed.run, carried_time(replayed.result->total()).carries_program());
  }
  line("free", program.free, true);
  std::vector<std::string> hidden;
  for (const Settled& replayed : all) {
    if (replayed.run)
      hidden.push_back(fmt::format(
          "{} {}", replayed.backend,
          percent_text(hidden_share(replayed.result->modelled_time, *replayed.run, program.free), 1)));
  }
  fmt::print("# of the communication alone, what does not make the run longer: {}\n",
             fmt::join(hidden, ", "));
  fmt::print(
      "# the ranks compute {:.3f} us on the average, as recorded, the longest {:.2f} of it; free: "
      "communication that takes no time, which leaves the waiting for other ranks' computing\n",
      microseconds(program.computing.mean()), program.computing.imbalance());
  if (program.computing.is_ambiguous())
    fmt::print("# {}\n",
               gaps_text(program.computing.brief_gaps, program.computing.longer_gaps, to_string(polling)));
}

/// Opens what is replayed, or makes it at more ranks. is_doubtful: whether nothing confirms what is made.
Played opened(const ReplayToolOptions& options, const std::string& name, bool& is_doubtful) {
  if (options.scaled.ranks == 0) {
    Played played(name, options.partial);
    played.use_phase(name, options.scaled.phase);
    return played;
  }
  scale::Scaling scaling = scaled_program(options.scaled);
  is_doubtful = !scaling.doubt().empty();
  if (!options.json) print_scaling(scaling, options.scaled);
  return {std::move(scaling.program), name};
}

/// One of the programs that are replayed, with all that is told of it.
struct Replayed {
  bool is_doubtful = false;  // scaled, and nothing confirms it
  Played played;
  Results results;
  RunFacts facts;
  RunReport report;

  Replayed(const ReplayToolOptions& options, const Setup& setup, const std::string& name)
      : played(opened(options, name, is_doubtful)) {
    results = replay_all(options, setup, played, name);
    std::vector<Settled>& all = results.all;
    tell_refusals(results.refused, all.empty());
    facts = facts_of_replay(played.program.description, {played.facts}, setup);
    const bool is_told = options.json || options.wants_report() || options.files.size() > 1;
    if (is_told) facts.recordings.front().checksum = checksum_text(played.program);
    if (!all.empty()) facts.replayed_part = part_text(*all.front().result, played.recorded_events);
    if (is_told) report = report_of(all, results.refused, played.ranks(), facts, setup, results.program);
    report.file = name;
  }

  [[nodiscard]] Json json() const { return json_of_all(results, played.program.description, report, facts); }
  void print(const Setup& setup) const {
    const std::vector<Settled>& all = results.all;
    for (const Settled& replayed : all)
      print_result(replayed, part_text(*replayed.result, played.recorded_events));
    if (all.size() + results.refused.size() > 1 && !all.empty()) print_comparison(results);
    print_against_star(results, setup.configuration->network);
    if (results.program && !all.empty())
      print_whole_runs(all, *results.program, setup.configuration->compute.polling);
  }
};

/// Names may be of any bytes.
void print_json(const Json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_all(const std::deque<Replayed>& replayed, const ReplayToolOptions& options, const Setup& setup) {
  if (options.json && options.files.size() <= 1) {
    print_json(replayed.front().json());
  } else if (options.json) {
    Json each = Json::array();
    for (const Replayed& one : replayed) each.push_back(one.json());
    print_json(each);
  } else if (replayed.size() == 1) {
    replayed.front().print(setup);
  } else {
    std::vector<RunReport> reports;
    reports.reserve(replayed.size());
    for (const Replayed& one : replayed) reports.push_back(one.report);
    print_reports(reports);
  }
}

}  // namespace

int replay(const ReplayToolOptions& options) try {
  if (!options.sweeps.empty()) return replay_sweep(options);
  if (!options.jobs.empty() || !options.background.empty()) return replay_jobs(options);
  const Setup setup(options.overrides, options.backends, Setup::Wanted::kCompared);
  check_reports(options);
  setup.tell_sources();
  watch_for_interrupt();
  std::deque<Replayed> replayed;
  int code = kDone;
  for (const std::string& file : options.files) {
    if (is_interrupted()) break;
    try {
      replayed.emplace_back(options, setup, file);
    } catch (const Misuse& misuse) {  // which does not take the others with it
      if (options.files.size() == 1) throw;
      complain(misuse.text);
      code = kUsage;
    }
  }
  if (replayed.empty()) return is_interrupted() ? kInterrupted : code;
  print_all(replayed, options, setup);
  for (const std::string& note : setup.notes()) complain(note);
  std::vector<RunReport> reports;
  for (Replayed& one : replayed) {
    if (one.is_doubtful) code = kFoundFailures;
    if (one.results.code != kDone) code = one.results.code;
    if (!one.results.all.empty()) reports.push_back(std::move(one.report));
  }
  if (!reports.empty() && write_reports(options.report, options.html, reports) != kDone) code = kNotWritten;
  if (!is_interrupted()) return code;
  const Replayed& last = replayed.back();
  complain(fmt::format("interrupted: {} of {} backends were replayed", last.results.all.size(),
                       setup.backends.size()));
  return kInterrupted;
} catch (const Misuse& misuse) {
  complain(misuse.text);
  return kUsage;
}

namespace {

/// The kinds of patterns are listed between what a replay is and where its settings come from.
std::string about_replay() {
  std::string text =
      R"(Replays what the program did, rank by rank, in the order of modelled time: all ranks, devices and the network between them
in this process, without data. In place of a file, pattern:NAME:RANKS:BYTES[:ROUNDS] runs a small program that is made up:

)";
  for (const PatternKind& kind : pattern_kinds()) {
    const std::string own = kind.parameter.empty() ? "" : fmt::format(":{}", kind.parameter);
    text += fmt::format("  {:<21} {}\n", fmt::format("{}{}", kind.name, own), kind.description);
  }
  return text + R"(
Settings come from offramp.toml, OFFRAMP_* variables and these options, as for run,
and so do routes.

What a recorded wildcard took, and which of several requests was done first, is replayed as it was; with --arrival modelled
the modelled times decide it anew. Questions that found nothing (MPI_Test, MPI_Iprobe) take no time.

Ctrl-C ends the replay that runs, and prints those that are done.

Hardware that cannot carry the program is left out, with the reason.)";
}

std::string is_compute(const std::string& text) {
  const std::optional<double> factor = parse_quantity(text, "");
  if (text == "none" || text == "recorded" || (factor && *factor > 0)) return {};
  return fmt::format("{} is neither none nor recorded nor a factor above 0", in_quotes(text));
}

std::string is_calls(const std::string& text) {
  if (parse_calls(text)) return {};
  return fmt::format("{} is neither none nor all nor a call (127) nor several (100-200)", in_quotes(text));
}

class ReplayCommand final : public Command {
 public:
  explicit ReplayCommand(CLI::App& app)
      : Command(app),
        keys_(app, {KeyGroup::kSettings, KeyGroup::kNetwork, KeyGroup::kMachine, KeyGroup::kStragglers,
                    KeyGroup::kComputing, KeyGroup::kDetails}),
        compute_scaling_(app) {
    add_backends(app, options_.backends);
    add_compared(app, compared_);
    app.add_option(
           "files", options_.files,
           "what offramp record or run --record has written, or a pattern; of several, what the others "
           "change against the first, or with --ranks what is scaled, see offramp scale")
        ->type_name("FILE|PATTERN");
    add_ranks(app, options_.scaled.ranks, "number of ranks to scale to; by default as recorded");
    add_phase(app, options_.scaled.phase);
    app.add_option(
           "--job", options_.jobs,
           "another program at the same time, on nodes of its own: FILE or PATTERN, with :NODES (0-7,12) "
           "if not on the next ones; may be repeated")
        ->type_name("FILE[:NODES]")
        ->allow_extra_args(false);
    app.add_option("--background", options_.background,
                   "messages between the other nodes of the network meanwhile: uniform, incast or shift, "
                   "and the Gb/s "
                   "that each sends")
        ->type_name("KIND:RATE");
    app.add_option(
           "--compute", compute_,
           "how the CPU time between MPI calls moves the host clock: not at all, as it was recorded, or "
           "that times a factor")
        ->type_name("none|recorded|FACTOR")
        ->check(is_compute, "");
    app.add_option(
           "--sweep", options_.sweeps,
           "replay with a key at each of several values, doubled each time, or :xFACTOR or :+STEP: "
           "latency=500ns:4us, link=x0.5:x4, of a pattern also ranks or bytes; twice: every combination")
        ->type_name("KEY=FROM:TO")
        ->allow_extra_args(false);
    add_sharing(app, options_.sharing);
    app.add_option("--route", routes_,
                   "send some operations to other hardware, as [[route]] does: bcast=tinsel, or by size, "
                   "allreduce:0-1KiB=aie; may be repeated, the first that matches wins")
        ->type_name("OPERATION[:MIN-MAX]=BACKEND")
        ->allow_extra_args(false);
    app.add_option("--arrival", arrival_, "who decides what the order of arrival decided")
        ->type_name("recorded|modelled")
        ->check(CLI::IsMember({"recorded", "modelled"}))
        ->capture_default_str();
    app.add_option(
           "--rules", options_.rules,
           "of LogGOPSim in place of a backend's, for schedules (GOAL and others that are graphs): when "
           "each rank ends, to its unit; loggopsim:L=2500,o=1500,g=1000,G=6,O=0,S=65535 is the default")
        ->type_name("loggopsim[:NAME=VALUE,...]")
        ->check(is_rules, "");
    add_partial(app, options_.partial);
    add_check(app, options_.check);
    add_csv(app, options_.csv, add_json(app, options_.json));
    add_records(app, options_.records);
    app.add_option("--otf2", options_.records.otf2,
                   "write the modelled timeline as an archive of OTF2, for Vampir and Scalasca; of several "
                   "backends one each, FOLDER.host for FOLDER")
        ->type_name("FOLDER");
    app.add_option("--report", options_.report, "write a report in JSON, as a run does")->type_name("FILE");
    add_html(app, options_.html);
    app.add_option("--receipts", receipts_,
                   "calls whose stages the report and the JSON have beside the rest; of each rank, counted "
                   "from 1")
        ->type_name("all|CALLS")
        ->check(is_calls, "");
  }
  int execute(std::vector<std::string>) override {
    options_.backends = together(std::move(options_.backends), compared_);
    std::string problem = keys_.collect(options_.backends, options_.overrides);
    std::vector<std::string>& files = options_.files;
    if (files.empty() && options_.jobs.empty()) problem = "no recording, pattern or --job";
    if (is_given("--ranks") &&
        (files.empty() || !options_.jobs.empty() || !options_.background.empty() || options_.partial))
      problem = "--ranks scales recordings that are whole, without --job and --background";
    if (is_given("--compute-scaling") && !is_given("--ranks")) problem = "--compute-scaling needs --ranks N";
    if (is_given("--phase") && (!options_.jobs.empty() || !options_.background.empty()))
      problem = "--phase is of one program, without --job and --background";
    if (is_given("--ranks")) {
      options_.scaled.compute = compute_scaling_.value();
      options_.scaled.files = std::exchange(files, {fmt::format("{}", fmt::join(files, ","))});
    }
    if (files.size() > 1) {
      const bool one = !options_.jobs.empty() || !options_.background.empty() || !options_.report.empty() ||
                       is_given("--trace") || is_given("--capture") || is_given("--otf2") ||
                       is_given("--receipts");
      if (one)
        problem =
            "--job, --background, --report, --trace, --capture, --otf2 and --receipts are of one program";
    }
    if (is_given("--otf2") && !options_.jobs.empty()) problem = "--otf2 is of one program, without --job";
    if (!options_.sweeps.empty()) {
      const bool more = files.size() != 1 || is_given("--ranks") || options_.wants_report() ||
                        !options_.jobs.empty() || !options_.background.empty() || is_given("--trace") ||
                        is_given("--capture") || is_given("--otf2") || is_given("--receipts") ||
                        is_given("--phase");
      if (more)
        problem =
            "--sweep is of one program, without --job, --background, --ranks, --phase, --report, "
            "--html, --trace, --capture, --otf2 and --receipts";
    }
    if (const std::string wrong = sharing_problem(options_.sharing);
        options_.sweeps.empty() && !wrong.empty())
      problem = wrong;
    for (const std::string& route : routes_) options_.overrides.push_back({"route", route, "--route"});
    if (is_given("--receipts") && !options_.json && options_.report.empty())
      problem = "--receipts needs --report FILE or --json";
    if (is_given("--rules")) {
      for (const char* other :
           {"--backend", "--compare", "--job", "--background", "--ranks", "--phase", "--sweep", "--route",
            "--compute", "--check", "--report", "--html", "--trace", "--capture", "--otf2", "--receipts"}) {
        if (is_given(other)) problem = fmt::format("--rules go without {}: no hardware takes part", other);
      }
    }
    if (options_.csv && options_.sweeps.empty()) problem = "--csv is of a sweep, see --sweep";
    if (!problem.empty()) return refuse(problem);
    if (is_given("--rules")) return replay_by_rules(options_);
    if (is_given("--compute"))
      options_.overrides.push_back({"compute", compute_ == "recorded" ? "measured" : compute_, "--compute"});
    options_.modelled_arrival = arrival_ == "modelled";
    options_.records.receipts = *parse_calls(receipts_);
    return replay(options_);
  }

 private:
  ReplayToolOptions options_;
  KeyOptions keys_;
  ComputeScalingOption compute_scaling_;
  std::vector<std::string> compared_;
  std::vector<std::string> routes_;
  std::string receipts_ = "none";
  std::string compute_;
  std::string arrival_ = "recorded";
};

const Registered<ReplayCommand> replay_command(
    {.name = "replay",
     .place = 60,
     .summary = "run a recorded program again on other hardware",
     .about = about_replay(),
     .exits = {
         {kUsage,
          "the command line or the configuration is wrong, the file is no recording, makes no "
          "sense or is not whole, or nothing could be replayed; of several files, what the others say is "
          "printed"},
         {kFoundFailures,
          "with --ranks: it is replayed, but the other recordings foretell no call of the largest one, "
          "so that nothing confirms what is scaled"},
         {kNotWritten, "a report, a trace or a capture could not be written"},
         {kInterrupted, "interrupted; what was replayed by then is printed"}}});

}  // namespace
}  // namespace offramp::tool
