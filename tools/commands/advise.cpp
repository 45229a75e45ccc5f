// offramp advise: which hardware suits a program, how certain that is, and what to do.

#include "tools/commands/advise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "lib/answers/advice/answer_of.hpp"
#include "lib/answers/advice/tuned_rules.hpp"
#include "lib/answers/report/accounts.hpp"
#include "lib/answers/report/call_table.hpp"
#include "lib/answers/report/lanes.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/answers/report/write_report.hpp"
#include "lib/base/format.hpp"
#include "lib/base/side_by_side.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/import/pattern.hpp"
#include "tools/command_line/command.hpp"
#include "tools/command_line/memory_need.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/commands/scaled_program.hpp"
#include "tools/commands/sweep.hpp"
#include "tools/launch/places.hpp"
#include "tools/text/columns.hpp"
#include "tools/text/replay_output.hpp"
#include "tools/text/report.hpp"

namespace offramp::tool {

std::string name_of_program(const std::string& file) {
  return printable(file.starts_with(kPatternPrefix) ? file : short_name(file));
}

Advisor::Options options_for(const AdviseOptions& options, const Setup& setup, const ProgressLine& progress) {
  Advisor::Options how;
  how.backends = setup.backends;
  how.replay.partial = options.partial;
  how.replay.compute = setup.configuration->compute;
  how.replay.compute.kind = Compute::Mode::kNone;  // the advisor replays with computing and without
  how.until = options.begin + std::chrono::duration_cast<Advisor::Clock::duration>(
                                  std::chrono::duration<double>(options.seconds));
  how.progress = [&progress](const std::string& what) {
    if (!what.empty()) progress.show("{}", what);
    return !is_interrupted();
  };
  return how;
}

namespace {

constexpr std::size_t kShownFunctions = 4;
constexpr std::size_t kShownAlgorithms = 10;

struct FunctionShare {
  std::string name;
  double share = 0;  // of the time in MPI calls
};

std::vector<FunctionShare> functions_of(const ReplayResult& result) {
  const Counters counters = result.total();
  double all = 0;
  for (const CallCounter& counter : counters.calls) all += counter.modelled.seconds();
  std::vector<FunctionShare> shares;
  for (std::size_t i = 0; i < result.functions.size(); ++i) {
    if (counters.calls[i].modelled > Time())
      shares.push_back({result.functions[i], counters.calls[i].modelled.seconds() / all});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const FunctionShare& a, const FunctionShare& b) { return a.share > b.share; });
  if (shares.size() > kShownFunctions) shares.resize(kShownFunctions);
  return shares;
}

std::string functions_text(const ReplayResult& result) {
  std::vector<std::string> texts;
  for (const FunctionShare& one : functions_of(result))
    texts.push_back(fmt::format("{} {}", printable(one.name), percent_text(one.share, 1)));
  return texts.empty() ? "no time" : fmt::format("{}", fmt::join(texts, ", "));
}

template <typename... Arguments>
void add(std::string& text, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  text += fmt::format(format, std::forward<Arguments>(arguments)...);
}

std::string candidates_text(const Advisor& advisor) {
  std::string text;
  const Candidate* const host = advisor.baseline();
  add(text, "{:<10} {:>16} {:>8} {:>20} {:>8} {:>9}\n", "# backend", "run (us)", "ratio",
      "communication (us)", "ratio", "carried");
  const auto ratio_text = [](bool known, double ratio) { return known ? fmt::format("{:.3f}", ratio) : "-"; };
  for (const Candidate& one : advisor.candidates()) {
    if (!one.problem.empty()) {
      add(text, "{:<10} {:>16} {:>8} {:>20} {:>8} {:>9}\n", one.backend, "refused", "-", "-", "-", "-");
      continue;
    }
    const bool counts = host != nullptr && one.counts();
    add(text, "{:<10} {:>16} {:>8} {:>20.3f} {:>8} {:>9}\n", one.backend,
        one.run ? fmt::format("{:.3f}", in_microseconds(one.run->end)) : "-",
        ratio_text(counts && one.run, counts ? ratio_of(one.end(), host->end()) : 0),
        in_microseconds(one.modelled_time),
        ratio_text(counts, counts ? ratio_of(one.modelled_time, host->modelled_time) : 0), one.time.text());
  }
  for (const BackendDescription* backend : advisor.untried())
    add(text, "{:<10} not tried (time limit)\n", backend->name);
  for (const Candidate& one : advisor.candidates()) {
    if (!one.problem.empty()) add(text, "# {}: {}\n", one.backend, one.problem);
    if (!one.time.carries_program()) add(text, "# {}\n", one.why_not_carried());
    if (host == nullptr || &one == host || !one.counts()) continue;
    const std::string ground = other_ground_text(one.deployment, host->deployment);
    if (!ground.empty())
      add(text, "# {} {}{}\n", one.backend, ground.substr(std::string_view("it ").size()),
          one.at_equal_link ? fmt::format("; at the same rate the ratio is {:.3f}",
                                          ratio_of(one.at_equal_link->end(), host->end()))
                            : std::string());
  }
  return text;
}

std::string reasons_text(const Advisor& advisor) {
  std::string text;
  const Candidate* const host = advisor.baseline();
  const Candidate* const best = advisor.best_hardware();
  if (host == nullptr) return text;
  add(text, "# where communication alone takes its time\n");
  add(text, "  over {}: {}\n", baseline_name(), functions_text(*host->result));
  if (advisor.program() && host->run && host->run->in_calls > Time())
    add(text, "  {} of MPI time in the run would remain with free communication: ranks wait for others\n",
        percent_text(earlier(advisor.program()->free.in_calls, host->run->in_calls), host->run->in_calls));
  if (best == nullptr) return text;
  add(text, "  over {}: {}\n", best->backend, functions_text(*best->result));
  for (const auto& [what, count] : best->result->total().declines)
    add(text, "  {} declines {} {}: {}\n", best->backend, count, printable(what.first),
        printable(what.second));
  return text;
}

std::string influences_text(const Advisor& advisor) {
  std::string text;
  const Candidate* const best = advisor.best_hardware();
  if (best == nullptr || advisor.influences().empty()) return text;
  const double now = ratio_of(best->fair().end(), advisor.baseline()->end());
  add(text,
      "# what changes the answer: the ratio of {} to {}, {:.3f} now, with each parameter at half, at 90 %, "
      "at 110 %, and at twice its value ({} tried)\n",
      best->backend, baseline_name(), now, advisor.tried_count());
  const auto ratio = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.3f}", *value) : std::string("-");
  };
  for (const Influence& one : advisor.influences())
    add(text, "  {:<28} {:>14} {:>7.3f} {:>7} {:>7} {:>7.3f}{}\n", one.key, one.value, one.at_half,
        ratio(one.at_less), ratio(one.at_more), one.at_twice, one.turns_round(now) ? " changes it" : "");
  if (!advisor.influences().front().turns_round(now)) add(text, "  none of them changes the answer\n");
  return text;
}

/// What would have to be true, and the measurement that decides.
std::string conditions_text(const Advisor& advisor) {
  std::string text;
  for (const BreakEven& one : advisor.break_evens()) add(text, "  {}\n", one.text());
  if (advisor.decisive_test()) add(text, "  {}\n", advisor.decisive_test()->text());
  return text.empty() ? text : "# what would have to be true\n" + text;
}

/// The last section: what a decision has to know beside the times.
std::string production_text(const Advisor& advisor) {
  const std::vector<std::string>& limits = advisor.production_limits();
  if (limits.empty()) return {};
  return fmt::format("# what could stop {} in production\n  {}\n", advisor.best_hardware()->backend,
                     fmt::join(limits, "\n  "));
}

std::string free_changes_text(const Advisor& advisor) {
  const Candidate* const host = advisor.baseline();
  if (host == nullptr || advisor.free_changes().empty()) return {};
  Columns table(
      {fmt::format("# free, without hardware ({} now)", time_text(host->end())), "run", "ratio", "how"});
  for (const ReportFreeChange& one : advisor.free_changes())
    table.add({"  " + one.name, time_text(one.end), ratio_text(one.end, host->end()), one.how});
  return fmt::format("{}\n", fmt::join(table.lines(), "\n"));
}

std::string mix_text(const Advisor& advisor) {
  const Candidate* const host = advisor.baseline();
  if (!advisor.mix() || host == nullptr)
    return fmt::format("# {}\n",
                       advisor.knows_mix()
                           ? "no mix of hardware is more than 0.5 % faster than the best hardware alone"
                           : "mixes of hardware: not computed (time limit)");
  const Mix& mix = *advisor.mix();
  return fmt::format(
      "# the best mix, at equal link rates, on a machine with all of this hardware: {:.3f} us, ratio {:.3f} "
      "to {}; offramp.toml:\n{}",
      in_microseconds(mix.end), ratio_of(mix.end, host->end()), baseline_name(), routes_toml(mix));
}

std::string algorithms_text(const Advisor& advisor) {
  std::string text;
  const std::vector<AlgorithmChoice>& all = advisor.algorithms();
  const Candidate* const host = advisor.baseline();
  if (host == nullptr) return text;
  if (all.empty())
    return fmt::format("# {}\n",
                       advisor.knows_algorithms()
                           ? "the host already uses the fastest algorithm for every blocking collective"
                           : "the host's fastest algorithms: not computed (time limit)");
  const std::optional<Time>& tuned = advisor.weighing().sides.tuned;
  constexpr double kNoGain = 0.9995;  // shown with three digits as 1.000
  if (tuned && ratio_of(*tuned, host->end()) > kNoGain)
    return "# no other algorithm is faster for the program as a whole\n";
  add(text,
      "# algorithms that are faster than the MPI library's choice, for a call on its own; --tuning writes "
      "them\n");
  add(text, "  {:<16} {:>6} {:>10} {:>9} {:>14} {:>14}  {}\n", "collective", "ranks", "bytes", "calls",
      "chosen (us)", "fastest (us)", "algorithm");
  for (std::size_t i = 0; i < std::min(all.size(), kShownAlgorithms); ++i)
    add(text, "  {:<16} {:>6} {:>10} {:>9} {:>14.3f} {:>14.3f}  {}\n", to_string(all[i].kind), all[i].ranks,
        all[i].bytes, all[i].calls, in_microseconds(all[i].usual), in_microseconds(all[i].fastest),
        all[i].best + (all[i].segment > 0 ? fmt::format(", segments of {} B", all[i].segment) : ""));
  if (all.size() > kShownAlgorithms) add(text, "  {}\n", and_more_text(all.size() - kShownAlgorithms));
  if (tuned)
    add(text, "  with the fastest algorithms everywhere: {:.3f} us, ratio {:.3f} to {} as it is\n",
        in_microseconds(*tuned), ratio_of(*tuned, host->end()), baseline_name());
  return text;
}

/// The answer in full.
ReportAnswer whole_answer(const Advisor& advisor, const AdviseOptions& options, const std::string& part) {
  const std::string& file = options.files.front();
  const bool is_plain = options.overrides.empty() && options.backends.empty() && options.scaled.ranks == 0;
  ReportAnswer answer =
      answer_of(advisor, {name_of_program(file), is_plain ? shell_word(file) : std::string()});
  if (options.html.empty() == options.details) {  // the next command shows what this one does not
    const std::string_view shown = options.details ? "--details" : "--html";
    const auto at = answer.next.find(shown);
    if (at != std::string::npos)
      answer.next.replace(at, std::string::npos, options.details ? "--html advice.html" : "--details");
  }
  if (!part.empty()) answer.but = clauses_text({"incomplete: " + part, answer.but});
  answer.details = {candidates_text(advisor), reasons_text(advisor)};
  if (!options.quick) {
    for (std::string text : {free_changes_text(advisor), influences_text(advisor), conditions_text(advisor),
                             mix_text(advisor), algorithms_text(advisor), production_text(advisor)})
      answer.details.push_back(std::move(text));
    answer.free_changes = advisor.free_changes();
    if (advisor.mix()) answer.routes = routes_toml(*advisor.mix());
    if (advisor.decisive_test()) answer.test = advisor.decisive_test()->text();
  }
  std::erase(answer.details, "");
  for (std::string& text : answer.details) text.erase(text.find_last_not_of('\n') + 1);
  return answer;
}

Json json_of(const Candidate& one) {
  if (!one.problem.empty()) return {{"backend", one.backend}, {"refused", one.problem}};
  Json functions = Json::array();
  for (const FunctionShare& share : functions_of(*one.result))
    functions.push_back({{"function", share.name}, {"share", share.share}});
  Json json = {{"backend", one.backend},
               {"communication_ns", in_nanoseconds(one.modelled_time)},
               {"carries_program", one.counts()},
               {"functions", std::move(functions)}};
  if (one.run) json["run_ns"] = in_nanoseconds(one.run->end);
  if (one.at_equal_link) json["at_equal_link_ns"] = in_nanoseconds(one.at_equal_link->end());
  if (one.time.share()) json["carried_share"] = *one.time.share();
  return json;
}

void print_json(const Advisor& advisor, const ReportAnswer& answer, const std::vector<ReportCallRow>& rows,
                const Json& facts) {
  Json candidates = Json::array();
  for (const Candidate& one : advisor.candidates()) candidates.push_back(json_of(one));
  Json influences = Json::array();
  for (const Influence& one : advisor.influences())
    influences.push_back({{"parameter", one.key},
                          {"value", one.value},
                          {"source", one.source},
                          {"ratio_at_half", one.at_half},
                          {"ratio_at_10_percent_less", one.at_less ? Json(*one.at_less) : Json()},
                          {"ratio_at_10_percent_more", one.at_more ? Json(*one.at_more) : Json()},
                          {"ratio_at_twice", one.at_twice}});
  Json algorithms = Json::array();
  for (const AlgorithmChoice& one : advisor.algorithms())
    algorithms.push_back({{"collective", to_string(one.kind)},
                          {"ranks", one.ranks},
                          {"bytes", one.bytes},
                          {"calls", one.calls},
                          {"chosen_ns", in_nanoseconds(one.usual)},
                          {"fastest_ns", in_nanoseconds(one.fastest)},
                          {"algorithm", one.best},
                          {"segment", one.segment}});
  Json json = {{"answer", offramp::json_of(answer)}};
  json["answer"].erase("details");
  Json free_changes = json["answer"].value("free_changes", Json::array());
  json["answer"].erase("free_changes");
  json["free_changes"] = std::move(free_changes);
  json.update(facts);
  json["candidates"] = std::move(candidates);
  json["call_sites"] = offramp::json_of(rows);
  json["influences"] = std::move(influences);
  if (advisor.mix())
    json["mix"] = {{"end_ns", in_nanoseconds(advisor.mix()->end)}, {"routes", routes_toml(*advisor.mix())}};
  json["algorithms"] = std::move(algorithms);
  json["in_production"] = advisor.production_limits();
  for (const BreakEven& one : advisor.break_evens())
    json["break_even"].push_back({{"parameter", one.key},
                                  {"value", one.value},
                                  {"unit", one.unit},
                                  {"source", one.source},
                                  {"at", one.is_reached ? Json(one.at) : Json()},
                                  {"text", one.text()}});
  if (const auto& test = advisor.decisive_test())
    json["decisive_test"] = {{"operation", to_string(test->kind)},
                             {"bytes", test->bytes},
                             {"ranks", test->ranks},
                             {"modelled_ns", in_nanoseconds(test->modelled)},
                             {"pays_above_ns", in_nanoseconds(test->pays_above)}};
  const Weighing& all = advisor.weighing();
  if (all.sides.tuned) json["host_with_the_fastest_algorithms_ns"] = in_nanoseconds(*all.sides.tuned);
  if (all.sides.threaded) json["host_with_a_progress_thread_ns"] = in_nanoseconds(*all.sides.threaded);
  if (all.noise) json["noise_of_computing"] = *all.noise;
  if (all.memory) json["ratio_by_memory_of_nodes"] = {all.memory->low, all.memory->high};
  if (all.progressing) json["host_with_progress_ns"] = in_nanoseconds(*all.progressing);
  json["cut_short"] = advisor.cut_short();
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

/// A kind of rules for --tuning.
struct Tuned {
  std::string_view name;
  std::string (*rules)(const std::vector<AlgorithmChoice>& choices);
  std::string_view nothing;  // message if there are no rules
};
constexpr Tuned kTunedLibraries[] = {
    {"openmpi", tuned_rules, "Open MPI already chooses the fastest algorithms that its tuned component has"},
    {"openmpi-6", tuned_rules_json,
     "Open MPI already chooses the fastest algorithms that its tuned component has"},
    {"mpich-4.0", mpich_4_0_rules, "the plain host already chooses the fastest algorithms that MPICH has"},
    {"mpich", mpich_rules, "the plain host already chooses the fastest algorithms that MPICH has"},
    {"mpich-subtrees", mpich_subtrees,
     "the plain host already chooses the fastest algorithms that MPICH has"},
};
const Tuned* tuned_for(std::string_view name) {
  return std::find_if(std::begin(kTunedLibraries), std::end(kTunedLibraries),
                      [&](const Tuned& one) { return one.name == name; });
}

/// Writes the requested files. Returns the exit code.
int write_files(const AdviseOptions& options, const Advisor& advisor, std::string_view mpi) {
  int code = kDone;
  if (!options.routes.empty()) {
    if (advisor.mix()) {
      code = write_file(options.routes, routes_toml(*advisor.mix()));
    } else {
      warn(fmt::format("{} is not written: {}", in_quotes(options.routes),
                       advisor.knows_mix()   ? "no mix is faster than the best hardware alone"
                       : advisor.cut_short() ? "the search for the best mix did not end (time limit)"
                                             : "the best mix is not known"));
    }
  }
  if (options.tuning.empty() || code != kDone) return code;
  const Tuned& library =
      *tuned_for(options.tuning_for == "auto" ? tuning_format_of(mpi) : std::string_view(options.tuning_for));
  const std::string rules = library.rules(advisor.algorithms());
  if (!rules.empty()) return write_file(options.tuning, rules);
  warn(fmt::format("{} is not written: {}", in_quotes(options.tuning), library.nothing));
  return code;
}

using AccountsByBackend = std::map<std::string_view, ReportAccounts>;

/// The accounts of the baseline and of the best hardware at equal link rates, with the places of calls. Each
/// takes one more replay; what does not end in time is left out.
AccountsByBackend accounts_of_sides(const AdviseOptions& options, const Setup& setup,
                                    const ReplayInput& input, const Advisor& advisor,
                                    const ProgressLine& progress) {
  AccountsByBackend all;
  if (options.quick && options.html.empty()) return all;
  Places places(objects_of(input.program.description));
  const Advisor::Options limits = options_for(options, setup, progress);
  ReplayOptions how = limits.replay;
  how.progress = [&](const ReplayProgress&) {
    return !is_interrupted() && Advisor::Clock::now() < limits.until;
  };
  const std::array sides = {advisor.baseline(), advisor.best_hardware()};
  std::array<std::optional<ReportAccounts>, 2> accounts;
  side_by_side(sides.size(), worlds_at_once(input.source()), [&](std::size_t i) {
    if (sides[i] == nullptr) return;
    const auto setting =
        world_setting(advisor.equal_links(), setup.registry, *sides[i]->description, input.ranks());
    if (setting) accounts[i] = accounts_of(*setting, input.source(), how, *sides[i]->result);
  });
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (!accounts[i]) continue;
    name_places(*accounts[i], places);
    all[sides[i]->description->name] = std::move(*accounts[i]);
  }
  return all;
}

std::vector<ReportCallRow> call_rows_of(const Advisor& advisor, const AccountsByBackend& accounts) {
  const auto lane_of = [&](const Candidate& one) {
    ReportLane lane = settled_lane(one, {}, one.result->ranks.size());
    if (const auto found = accounts.find(one.backend); found != accounts.end()) lane.accounts = found->second;
    return lane;
  };
  const Candidate* const base = advisor.baseline();
  const Candidate* const best = advisor.best_hardware();
  if (base == nullptr) return {};
  if (best == nullptr) return call_rows(lane_of(*base), nullptr);
  const ReportLane hardware = lane_of(*best);
  return call_rows(lane_of(*base), &hardware);
}

/// Writes --report and --html. Takes the results out of the advisor.
int write_report(const AdviseOptions& options, Advisor& advisor, const ReportAnswer& answer,
                 const RunFacts& facts, const Setup& setup, AccountsByBackend accounts) {
  std::vector<Settled> all;
  std::vector<BackendResult> refused;
  const std::optional<ProgramTimes> program = advisor.program();
  for (Candidate& one : advisor.release_candidates()) {
    if (const auto found = accounts.find(one.backend); found != accounts.end())
      one.accounts = std::move(found->second);
    if (one.result) {
      all.push_back(std::move(one));
    } else {
      refused.push_back(one);
    }
  }
  const int ranks = static_cast<int>(all.front().result->ranks.size());
  RunReport report = report_of(all, refused, ranks, facts, setup, program);
  report.answer = answer;
  return write_reports(options.report, options.html, {report});
}

/// Throws Misuse if there are no results.
void check_results(const Advisor& advisor, const std::string& file, const AdviseOptions& options) {
  const std::vector<Candidate>& all = advisor.candidates();
  if (all.empty())
    throw Misuse{
        fmt::format("{}: no replay finished within {} s; raise --seconds", in_quotes(file), options.seconds)};
  if (std::all_of(all.begin(), all.end(), [](const Candidate& one) { return !one.problem.empty(); }))
    throw Misuse{problem_text(file, all.front().problem)};
}

/// Prints one answer per program.
int answer_each(const AdviseOptions& options, const Setup& setup) {
  int code = kDone;
  for (const std::string& file : options.files) {
    try {
      std::string answer;
      {
        const ProgressLine progress;
        ReplayInput input(file, options.partial);
        input.use_phase(file, options.scaled.phase);
        AdviseOptions own = options;
        own.begin = Advisor::Clock::now();
        const Configuration configuration = input.configuration(setup);
        Advisor advisor(configuration, setup.registry, input.source(), options_for(own, setup, progress));
        advisor.rank_backends();
        advisor.weigh();
        if (is_interrupted()) return kInterrupted;
        check_results(advisor, file, options);
        answer = answer_of(advisor, {name_of_program(file), {}}).answer;
        if (!advisor.untried().empty() && code == kDone) code = kIncomplete;
      }
      fmt::print("{}\n", answer);
      flush_output();
    } catch (const Misuse& misuse) {  // continue with the other programs
      warn(misuse.text);
      code = kUsage;
    }
  }
  for (const std::string& note : setup.notes()) warn(note);
  return code;
}

/// True if all files are recordings of one program on as many ranks, such as those of record --repeat.
bool are_repetitions(const std::vector<std::string>& files) {
  std::set<std::string> commands;
  for (const std::string& file : files) {
    const auto recording = recording::Recording::open(file);
    if (!recording) return false;
    std::string command = std::to_string(recording->description().ranks);
    for (const auto& [key, value] : recording->description().facts)
      if (key == "program" || key == "arguments") command += '\n' + value;
    commands.insert(command);
  }
  return commands.size() == 1;
}

/// A program at more ranks than were recorded.
struct ScaledProgram {
  scale::LearnedProgram learned;
  scale::Scaling scaling;
};

/// Opens the program, or makes it at more ranks, and then sets `scaled`.
ReplayInput played_of(const AdviseOptions& options, std::optional<ScaledProgram>& scaled) {
  const std::string& file = options.files.front();
  if (options.scaled.ranks == 0) {
    ReplayInput input(file, options.partial);
    input.use_phase(file, options.scaled.phase);
    return input;
  }
  scale::LearnedProgram learned = learned_program(options.scaled);
  scale::Scaling scaling = scaled_program(learned, options.scaled.ranks);
  ReplayInput input(trace::Program(scaling.program), file);
  scaled = {std::move(learned), std::move(scaling)};
  return input;
}

int advise(const AdviseOptions& options) {
  std::vector<std::string> names = options.backends;
  if (names.empty()) names = {"all"};
  if (std::find(names.begin(), names.end(), baseline_name()) == names.end() && names.front() != "all")
    names.insert(names.begin(), std::string(baseline_name()));
  const Setup setup(options.overrides, names, Setup::Wanted::kCompared);
  if (options.rank_counts.size() > 1) {
    check_file_of("--svg", options.svg);
    check_file_of("--html", options.html);
    setup.print_sources();
    watch_for_interrupt();
    return advise_over_ranks(options, setup);
  }
  if (options.files.size() > 1) {
    setup.print_sources();
    watch_for_interrupt();
    return answer_each(options, setup);
  }
  std::optional<ScaledProgram> scaled;
  const ReplayInput input = played_of(options, scaled);
  check_file_of("--routes", options.routes);
  check_file_of("--tuning", options.tuning);
  check_file_of("--report", options.report);
  check_file_of("--html", options.html);
  setup.print_sources();
  // The host is always replayed for comparison.
  if (const std::string problem =
          pattern_memory_problem(setup, setup.registry.baseline(), options.files.front());
      !problem.empty())
    throw Misuse{problem};
  watch_for_interrupt();
  const ProgressLine progress;
  const Configuration configuration = input.configuration(setup);
  std::vector<ReplayInput> repetitions;
  Advisor::Options how = options_for(options, setup, progress);
  for (const std::string& file : options.repetitions)
    how.repetitions.push_back(
        repetitions.emplace_back(file, options.partial, ReplayInput::Notes::kKept).source());
  Advisor advisor(configuration, setup.registry, input.source(), std::move(how));
  advisor.rank_backends();
  check_results(advisor, options.files.front(), options);
  advisor.weigh();
  AccountsByBackend accounts = accounts_of_sides(options, setup, input, advisor, progress);
  const std::vector<ReportCallRow> rows =
      options.quick ? std::vector<ReportCallRow>() : call_rows_of(advisor, accounts);
  if (!options.quick) {
    advisor.find_algorithms();
    advisor.find_free_changes();
    advisor.find_mix();
    advisor.find_influences();
    advisor.find_break_even();
    advisor.find_decisive_test();
    advisor.find_production_limits();
  }
  RunFacts facts = facts_of_replay(input.program.description, {input.facts}, setup);
  if (const Candidate* const host = advisor.baseline(); host != nullptr)
    facts.replayed_part = part_text(*host->result, input.recorded_events);
  ReportAnswer answer = whole_answer(advisor, options, facts.replayed_part);
  answer.where = longest_call_text(rows);
  add_baseline(answer, setup, configuration, input, options.details && !options.quick);
  if (scaled) {
    const scale::Scaling& scaling = scaled->scaling;
    answer.sure = clauses_text({answer.sure, held_out_text(scaling)});
    answer.machine = fmt::format("{}; {}", answer.machine, scaling_text(scaling));
    answer.but =
        clauses_text({other_scaling_text(answer, input.ranks(), scaled->learned, scaling, configuration,
                                         setup, options_for(options, setup, progress)),
                      answer.but});
  }
  progress.clear();
  if (options.json) {
    const RunReport report = report_of({}, {}, input.ranks(), facts, setup);
    print_json(advisor, answer, rows, json_of_facts(report, facts));
  } else {
    fmt::print("{}", answer_text(answer, line_width()));
    if (options.details) {
      if (!rows.empty()) fmt::print("\n{}", call_table_text(rows));
      for (const std::string& text : answer.details) fmt::print("\n{}\n", text);
      if (scaled) fmt::print("\n");
      if (scaled) print_scaling(scaled->scaling, options.scaled);
    }
    if (advisor.cut_short())
      warn(is_interrupted() ? std::string("interrupted")
                            : fmt::format("the time limit of {} s is over (--seconds)", options.seconds));
  }
  for (const std::string& note : setup.notes()) warn(note);
  int code = write_files(options, advisor, library_of(input.program.description));
  if (code == kDone && (!options.report.empty() || !options.html.empty()))
    code = write_report(options, advisor, answer, facts, setup, std::move(accounts));
  if (code != kDone) return code;
  if (is_interrupted()) return kInterrupted;
  if (!answer.complete) return kIncomplete;
  return scaled && !scaled->scaling.caveat().empty() ? kFoundFailures : kDone;
}

class AdviseCommand final : public Command {
 public:
  explicit AdviseCommand(CLI::App& app) : Command(app), keys_(app, kWorldKeys), compute_scaling_(app) {
    add_value(app, "files", options_.files, "FILE|PATTERN",
              "a recording, a trace, a pattern, or a folder of recordings; with several files, one answer "
              "each, with those of record --repeat one for all; with --ranks, scale them (see offramp scale)")
        ->required();
    add_value(app, "--backend", options_.backends, "BACKEND",
              "try only these backends and the host; separated by commas")
        ->delimiter(',')
        ->allow_extra_args(false);
    add_value(app, "-n,--ranks", ranks_, "N[,N...]|FROM:TO[:xFACTOR]",
              "number of ranks to scale to; several (64,96 or 32:65536:x4) show from how many ranks on "
              "hardware pays");
    add_phase(app, options_.scaled.phase);
    add_value(app, "--seconds", options_.seconds, "SECONDS",
              "time limit for the whole answer; what is known by then is printed")
        ->check(plain_number(0.1, 1e6))
        ->capture_default_str();
    add_value(app, "--routes", options_.routes, "FILE", "write the best mix of hardware as an offramp.toml");
    add_value(app, "--tuning", options_.tuning, "FILE",
              "write the fastest algorithms as a tuning file for an MPI library (--tuning-for)");
    add_value(app, "--tuning-for", options_.tuning_for,
              "auto|openmpi|openmpi-6|mpich-4.0|mpich|mpich-subtrees",
              "format of --tuning: dynamic rules of Open MPI's tuned component, as text or JSON (openmpi-6), "
              "or a selection tree of MPICH, by default for the library that the recording names")
        ->check(one_of({"auto", "openmpi", "openmpi-6", "mpich-4.0", "mpich", "mpich-subtrees"}))
        ->capture_default_str();
    app.add_flag("--quick", options_.quick,
                 "skip the searches for parameters that change the answer and for the best mix");
    app.add_flag(
        "--details", options_.details,
        "after the answer, print all tables: times, accounts, sensitivities, the best mix, and algorithms");
    add_value(app, "--report", options_.report, "FILE", "write a report in JSON that begins with the advice");
    add_html(app, options_.html);
    add_svg(app, options_.svg);
    add_partial(app, options_.partial);
    add_json(app, options_.json);
  }
  int execute(std::vector<std::string>) override {
    const std::vector<std::string> asked =
        options_.backends.empty() ? std::vector<std::string>{"all"} : options_.backends;
    std::string problem = keys_.collect(asked, options_.overrides);
    for (const std::string& name : std::exchange(options_.files, {})) {
      std::vector<std::string> inside = recordings_in(name);
      if (inside.empty()) inside = {name};
      if (inside.size() > 1 && ranks_.empty() && are_repetitions(inside)) {
        options_.repetitions.assign(inside.begin() + 1, inside.end());
        inside.resize(1);
      }
      options_.files.insert(options_.files.end(), inside.begin(), inside.end());
    }
    const bool of_one = options_.json || !options_.routes.empty() || !options_.tuning.empty() ||
                        !options_.report.empty() || !options_.html.empty();
    if (ranks_.empty() && options_.files.size() > 1 && of_one)
      problem = "--json, --routes, --tuning, --report, and --html need a single program";
    if (options_.quick && !options_.routes.empty()) problem = "--routes needs the search that --quick skips";
    if (is_set("--tuning-for") && options_.tuning.empty()) problem = "--tuning-for needs --tuning FILE";
    if (ranks_.empty()) {
      if (is_set("--compute-scaling")) problem = "--compute-scaling needs --ranks N";
      if (!options_.svg.empty()) problem = "--svg needs several numbers of ranks; see --ranks";
    } else if (const std::string misfit = use_recorded_ranks(of_one); !misfit.empty()) {
      problem = misfit;
    }
    if (!problem.empty()) return refuse(problem);
    return advise(options_);
  }

 private:
  /// Applies --ranks. Returns an error if other options contradict it, or an empty string.
  std::string use_recorded_ranks(bool of_one) try {
    options_.rank_counts = rank_counts(ranks_);
    const bool is_curve = options_.rank_counts.size() > 1;
    options_.scaled.compute = compute_scaling_.value();
    options_.scaled.files =
        std::exchange(options_.files, {fmt::format("{}", fmt::join(options_.files, ","))});
    if (!is_curve) options_.scaled.ranks = options_.rank_counts.front();
    if (options_.partial) return "--ranks needs complete recordings: leave out --partial";
    if (!is_curve && !options_.svg.empty()) return "--svg needs several numbers of ranks; see --ranks";
    const bool is_page = !options_.html.empty() && options_.routes.empty() && options_.tuning.empty() &&
                         options_.report.empty();
    if (is_curve && ((of_one && !options_.json && !is_page) || options_.quick))
      return "--quick, --routes, --tuning, and --report need a single number of ranks";
    return {};
  } catch (const Misuse& misuse) {
    return misuse.text;
  }

  AdviseOptions options_;
  KeyOptions keys_;
  ComputeScalingOption compute_scaling_;
  std::string ranks_;
};

const Registered<AdviseCommand> advise_command(
    {.name = "advise",
     .place = 65,
     .summary = "recommend hardware for a program, with the confidence and the reasons",
     .often = {"-h", "--backend", "-n", "--seconds", "--quick", "--details", "--routes", "--tuning",
               "--network", "--ranks-per-node", "--set", "--config", "--html", "--report", "--json"},
     .exits = {
         {kUsage, "the command line or the configuration is wrong, or nothing could be replayed"},
         {kIncomplete,
          "the time limit (--seconds) ended before all hardware was tried; the answer is the best so far"},
         {kFoundFailures,
          "with --ranks: answered, but no call of the largest recording could be predicted from the others, "
          "so nothing confirms the extrapolation"},
         {kNotWritten},
         {kInterrupted, "interrupted; what was known by then is printed"}}});

}  // namespace
}  // namespace offramp::tool
