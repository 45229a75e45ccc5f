// offramp advise: which hardware suits a program, how sure that is, and what to do.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/advice/words.hpp"
#include "lib/configuration/configuration.hpp"
#include "lib/configuration/names.hpp"
#include "lib/replay/pattern.hpp"
#include "lib/report/words.hpp"
#include "tools/command.hpp"
#include "tools/options.hpp"
#include "tools/progress.hpp"
#include "tools/replay_output.hpp"
#include "tools/setup.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {
namespace {

struct AdviseOptions {
  std::string file;                   // whatever replay takes
  std::vector<std::string> backends;  // empty: all
  double seconds = 60;                // for the search; what is known then is printed
  bool partial = false;
  bool json = false;
  std::string routes;  // paths of files to write; empty: not wanted
  std::string tuning;
  std::vector<Override> overrides;
};

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

void print_candidates(const Advisor& advisor) {
  const Candidate* const host = advisor.host();
  fmt::print("\n{:<10} {:>16} {:>8} {:>20} {:>8} {:>9}\n", "# backend", "run (us)", "ratio",
             "communication (us)", "ratio", "carried");
  const auto ratio_text = [](bool known, double ratio) { return known ? fmt::format("{:.3f}", ratio) : "-"; };
  for (const Candidate& one : advisor.candidates()) {
    if (!one.refused.empty()) {
      fmt::print("{:<10} {:>16} {:>8} {:>20} {:>8} {:>9}\n", one.backend->name, "refused", "-", "-", "-",
                 "-");
      continue;
    }
    const bool counts = host != nullptr && one.counts();
    fmt::print(
        "{:<10} {:>16} {:>8} {:>20.3f} {:>8} {:>9}\n", one.backend->name,
        one.run ? fmt::format("{:.3f}", microseconds(one.run->end)) : "-",
        ratio_text(counts && one.run, counts ? ratio_of(one.end(), host->end()) : 0),
        microseconds(one.result.modelled_time),
        ratio_text(counts, counts ? ratio_of(one.result.modelled_time, host->result.modelled_time) : 0),
        one.carried.text());
  }
  for (const Candidate& one : advisor.candidates()) {
    if (!one.refused.empty()) fmt::print("# {}: {}\n", one.backend->name, one.refused);
    if (!one.why_not.empty()) fmt::print("# {}\n", one.why_not);
  }
}

void print_reasons(const Advisor& advisor) {
  const Candidate* const host = advisor.host();
  const Candidate* const best = advisor.best_hardware();
  if (host == nullptr) return;
  fmt::print("\n# where the time in MPI calls goes\n");
  fmt::print("  over host: {}\n", functions_text(host->result));
  if (best == nullptr) return;
  fmt::print("  over {}: {}\n", best->backend->name, functions_text(best->result));
  for (const auto& [what, count] : best->result.total().declines)
    fmt::print("  {} declines {} {}: {}\n", best->backend->name, count, to_string(what.first),
               printable(what.second));
  if (advisor.program() && host->run && host->run->in_calls > Time())
    fmt::print(
        "  {} of it over host is waiting for other ranks' computing, which no hardware changes\n",
        percent_text(std::min(advisor.program()->free.in_calls.seconds(), host->run->in_calls.seconds()),
                     host->run->in_calls.seconds()));
}

/// A bar from one ratio to the other, with the ratio 1 and the ratio now marked.
std::string bar(double low, double high, double now) {
  constexpr int kWidth = 41;
  const double reach =
      std::max({std::abs(std::log(low)), std::abs(std::log(high)), std::abs(std::log(now)), 0.01});
  const auto place = [&](double ratio) {
    return std::clamp(static_cast<int>(std::lround((std::log(ratio) / reach + 1) / 2 * (kWidth - 1))), 0,
                      kWidth - 1);
  };
  std::string text(kWidth, ' ');
  for (int i = std::min(place(low), place(high)); i <= std::max(place(low), place(high)); ++i)
    text[static_cast<std::size_t>(i)] = '=';
  text[static_cast<std::size_t>(place(1))] = '|';
  text[static_cast<std::size_t>(place(now))] = 'o';
  return text;
}

void print_influences(const Advisor& advisor) {
  const Candidate* const best = advisor.best_hardware();
  if (best == nullptr || advisor.influences().empty()) return;
  const double now = ratio_of(best->end(), advisor.host()->end());
  fmt::print(
      "\n# what moves the answer: {} over host, {:.3f} now, with one parameter at half and at twice its "
      "value ({} "
      "tried); o: now, |: as long as over host\n",
      best->backend->name, now, advisor.tried());
  for (const Influence& one : advisor.influences())
    fmt::print("  {:<28} {:>14} {:>7.3f} {:>7.3f} [{}]{}\n", one.key, one.value, one.at_half, one.at_twice,
               bar(one.at_half, one.at_twice, now), one.turns_round(now) ? " turns it round" : "");
  const bool any = std::any_of(advisor.influences().begin(), advisor.influences().end(),
                               [now](const Influence& one) { return one.turns_round(now); });
  if (!any) fmt::print("  none of them turns it round\n");
}

void print_mix(const Advisor& advisor) {
  const Candidate* const host = advisor.host();
  if (!advisor.mix() || host == nullptr) {
    fmt::print("\n# {}\n",
               advisor.knows_mix()
                   ? "no mix of hardware is faster than the best alone by more than half a percent"
                   : "whether a mix of hardware is faster was not found out");
    return;
  }
  const Mix& mix = *advisor.mix();
  fmt::print(
      "\n# the best mix: {:.3f} us, {:.3f} of host, {:.3f} of {} alone; on a machine that has all "
      "of it; in offramp.toml:\n{}",
      microseconds(mix.end), ratio_of(mix.end, host->end()),
      ratio_of(mix.end, advisor.candidates().front().end()), mix.backend, routes_toml(mix));
}

void print_algorithms(const Advisor& advisor) {
  const std::vector<AlgorithmChoice>& all = advisor.algorithms();
  const Candidate* const host = advisor.host();
  if (host == nullptr) return;
  if (all.empty()) {
    fmt::print("\n# {}\n",
               advisor.knows_algorithms()
                   ? "over the plain host every blocking collective has its fastest algorithm already"
                   : "whether the plain host has its fastest algorithms was not found out");
    return;
  }
  fmt::print(
      "\n# without any offload: algorithms that are faster than what the MPI library chooses, a call "
      "alone\n");
  fmt::print("  {:<16} {:>6} {:>10} {:>9} {:>14} {:>14}  {}\n", "collective", "ranks", "bytes", "calls",
             "chosen (us)", "fastest (us)", "algorithm");
  for (std::size_t i = 0; i < std::min(all.size(), kShownAlgorithms); ++i)
    fmt::print("  {:<16} {:>6} {:>10} {:>9} {:>14.3f} {:>14.3f}  {}\n", to_string(all[i].kind), all[i].ranks,
               all[i].bytes, all[i].calls, microseconds(all[i].usual), microseconds(all[i].fastest),
               all[i].best);
  if (all.size() > kShownAlgorithms) fmt::print("  and {} more\n", all.size() - kShownAlgorithms);
  if (advisor.host_at_its_best())
    fmt::print(
        "  with the fastest everywhere the program takes {:.3f} us over host, {:.3f} of what it takes now\n",
        microseconds(*advisor.host_at_its_best()), ratio_of(*advisor.host_at_its_best(), host->end()));
}

Json json_of(const Candidate& one) {
  if (!one.refused.empty()) return {{"backend", one.backend->name}, {"refused", one.refused}};
  Json functions = Json::array();
  for (const FunctionShare& share : functions_of(one.result))
    functions.push_back({{"function", share.name}, {"share", share.share}});
  Json json = {{"backend", one.backend->name},
               {"communication_ns", in_nanoseconds(one.result.modelled_time)},
               {"carries_program", one.why_not.empty()},
               {"functions", std::move(functions)}};
  if (one.run) json["run_ns"] = in_nanoseconds(one.run->end);
  if (one.carried.share()) json["carried_share"] = *one.carried.share();
  if (const auto error = model_error(*one.backend))
    json["model_error"] = {
        {"median", error->median}, {"largest", error->largest}, {"figures", error->figures}};
  return json;
}

void print_json(const Advisor& advisor, const std::string& program, const Json& facts) {
  Json candidates = Json::array();
  for (const Candidate& one : advisor.candidates()) candidates.push_back(json_of(one));
  Json influences = Json::array();
  for (const Influence& one : advisor.influences())
    influences.push_back({{"parameter", one.key},
                          {"value", one.value},
                          {"source", one.source},
                          {"ratio_at_half", one.at_half},
                          {"ratio_at_twice", one.at_twice}});
  Json algorithms = Json::array();
  for (const AlgorithmChoice& one : advisor.algorithms())
    algorithms.push_back({{"collective", to_string(one.kind)},
                          {"ranks", one.ranks},
                          {"bytes", one.bytes},
                          {"calls", one.calls},
                          {"chosen_ns", in_nanoseconds(one.usual)},
                          {"fastest_ns", in_nanoseconds(one.fastest)},
                          {"algorithm", one.best}});
  Json json = {{"verdict", verdict_text(advisor, program)}};
  json.update(facts);
  json["candidates"] = std::move(candidates);
  json["influences"] = std::move(influences);
  if (advisor.mix())
    json["mix"] = {{"end_ns", in_nanoseconds(advisor.mix()->end)}, {"routes", routes_toml(*advisor.mix())}};
  json["algorithms"] = std::move(algorithms);
  if (advisor.host_at_its_best())
    json["host_with_the_fastest_algorithms_ns"] = in_nanoseconds(*advisor.host_at_its_best());
  json["cut_short"] = advisor.cut_short();
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

/// The files that were asked for.
int write_files(const AdviseOptions& options, const Advisor& advisor) {
  int code = kDone;
  if (!options.routes.empty()) {
    if (advisor.mix()) {
      code = write_file(options.routes, routes_toml(*advisor.mix()));
    } else {
      complain(fmt::format("{} is not written: no mix is faster than the best hardware alone",
                           in_quotes(options.routes)));
    }
  }
  if (options.tuning.empty() || code != kDone) return code;
  const std::string rules = tuned_rules(advisor.algorithms());
  if (!rules.empty()) return write_file(options.tuning, rules);
  complain(fmt::format(
      "{} is not written: Open MPI's choices are the fastest, or its component tuned has no others",
      in_quotes(options.tuning)));
  return code;
}

int advise(const AdviseOptions& options) try {
  std::vector<std::string> names = options.backends;
  if (names.empty()) names = {"all"};
  if (std::find(names.begin(), names.end(), "host") == names.end() && names.front() != "all")
    names.insert(names.begin(), "host");
  const Setup setup(options.overrides, names, Setup::Wanted::kCompared);
  const Played played(options.file, options.partial);
  for (const auto& [option, path] : {std::pair("--routes", &options.routes), {"--tuning", &options.tuning}}) {
    if (const std::string problem = path->empty() ? "" : option_problem(option, *path); !problem.empty())
      throw Misuse{problem};
  }
  setup.tell_sources();
  watch_for_interrupt();
  Advisor::Options how;
  how.backends = setup.backends;
  how.replay.partial = options.partial;
  how.until = Advisor::Clock::now() + std::chrono::duration_cast<Advisor::Clock::duration>(
                                          std::chrono::duration<double>(options.seconds));
  const ProgressLine progress;
  how.progress = [&progress](const std::string& what) {
    if (!what.empty()) progress.say("{}", what);
    return !is_interrupted();
  };
  Advisor advisor(*setup.configuration, setup.registry, played.source(), std::move(how));
  advisor.rank_backends();
  if (advisor.candidates().empty() || std::all_of(advisor.candidates().begin(), advisor.candidates().end(),
                                                  [](const Candidate& one) { return !one.refused.empty(); }))
    throw Misuse{advisor.candidates().empty()
                     ? fmt::format("{}: no replay came to its end in {} s; --seconds gives more",
                                   in_quotes(options.file), options.seconds)
                     : problem_text(options.file, advisor.candidates().front().refused)};
  advisor.find_algorithms();
  advisor.find_mix();
  advisor.find_influences();
  RunFacts facts = facts_of_replay(played.program.description, {played.facts}, setup);
  if (const Candidate* const host = advisor.host(); host != nullptr)
    facts.replayed_part = part_text(host->result, played.recorded_events);
  const bool is_file = !options.file.starts_with(kPatternPrefix);
  const std::string program =
      printable(is_file ? std::filesystem::path(options.file).filename().string() : options.file);
  if (options.json) {
    const RunReport report = report_of({}, {}, played.ranks(), facts, setup);
    print_json(advisor, program, json_of_facts(report, facts));
  } else {
    if (!facts.replayed_part.empty()) fmt::print("# only a part: {}\n", facts.replayed_part);
    fmt::print("{}\n", verdict_text(advisor, program));
    print_candidates(advisor);
    print_reasons(advisor);
    print_influences(advisor);
    print_mix(advisor);
    print_algorithms(advisor);
    if (advisor.cut_short())
      fmt::print(
          "\n# the search was cut short {}: what is above stands, and there may be more\n",
          is_interrupted() ? "by the interrupt" : fmt::format("after {} s (--seconds)", options.seconds));
  }
  for (const std::string& note : setup.notes()) complain(note);
  const int code = write_files(options, advisor);
  return code == kDone && is_interrupted() ? kInterrupted : code;
} catch (const Misuse& misuse) {
  complain(misuse.text);
  return kUsage;
}

class AdviseCommand final : public Command {
 public:
  explicit AdviseCommand(CLI::App& app) : Command(app), keys_(app, kWorldKeys) {
    app.add_option("file", options_.file, "what offramp record or run --record has written, or a pattern")
        ->type_name("FILE|PATTERN")
        ->required();
    app.add_option("--backend", options_.backends, "only these, and the host; with commas between them")
        ->type_name("BACKEND")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("--seconds", options_.seconds, "for the search; what is known by then is printed")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 1e6))
        ->capture_default_str();
    app.add_option("--routes", options_.routes, "write the best mix of hardware as an offramp.toml")
        ->type_name("FILE");
    app.add_option("--tuning", options_.tuning,
                   "write the fastest algorithms as dynamic rules of Open MPI's component tuned")
        ->type_name("FILE");
    add_partial(app, options_.partial);
    add_json(app, options_.json);
  }
  int execute(std::vector<std::string>) override {
    const std::string problem = keys_.collect(options_.backends, options_.overrides);
    return problem.empty() ? advise(options_) : refuse(problem);
  }

 private:
  AdviseOptions options_;
  KeyOptions keys_;
};

const Registered<AdviseCommand> advise_command(
    {.name = "advise",
     .place = 65,
     .summary = "say which hardware suits a program, how sure that is, and what to do",
     .exits = {{kUsage, "the command line or the configuration is wrong, or nothing could be replayed"},
               {kNotWritten},
               {kInterrupted, "interrupted; what was known by then is printed"}}});

}  // namespace
}  // namespace offramp::tool
