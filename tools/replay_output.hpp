// What `offramp replay` replays and prints, of one program or of several jobs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/replay/replay.hpp"
#include "lib/report/carried.hpp"
#include "lib/report/report.hpp"
#include "lib/trace/program.hpp"
#include "tools/replay.hpp"
#include "tools/setup.hpp"

namespace offramp::tool {

using Json = nlohmann::ordered_json;

/// Hardware that cannot carry what it is asked to, and why.
struct Refused {
  std::string_view backend;
  std::string why;
};

struct Replayed {
  std::string_view backend;
  ReplayResult result;
  std::string receipts;              // JSON; empty: not wanted
  std::vector<SettledJob> jobs;      // empty: one program
  std::optional<WholeRun> run = {};  // with the program's computing, which the result does not have
};

/// What is replayed.
struct Played {
  trace::Program program;
  RecordingFacts facts;
  std::uint64_t recorded_events = 0;  // of a recording, with partial: of all ranks

  /// partial: the program need not be whole. Throws Misuse.
  Played(const std::string& name, bool partial);

  [[nodiscard]] int ranks() const { return program.description.ranks; }
  [[nodiscard]] ReplaySource source() const { return {.ranks = ranks(), .read = program.read}; }
};

/// An error of a replay as it can be shown. file: of the recording, which is named in front, once.
std::string problem_text(const std::string& file, const std::string& error);

/// Where a replay is not whole: "21.1 % of the events (1200 of 5678) can be replayed". Empty: it is.
/// recorded: as in Played.
std::string part_text(const ReplayResult& result, std::uint64_t recorded);

/// The first Ctrl-C ends the replay that runs, a second one the command.
void watch_for_interrupt();
bool is_interrupted();

// JSON.
Json nanoseconds_of(const std::vector<Time>& times);
Json calls_of(const ReplayResult& result, const Counters& counters);
Json resources_of(const ReplayResult& result);
Json links_of(const ReplayResult& result);
Json texts_of(const std::vector<UnfinishedRank>& unfinished);
/// What stragglers cost what ends then.
Json json_of(const ReplayResult::Disturbance& disturbance, Time end);
Json json_of(const Replayed& replayed);

// Tables.
double microseconds(Time time);
/// Of a replay or one of its jobs.
CarriedTime carried_time(const Counters& counters);
/// Why hardware that does not carry the program does not.
std::string why_not_carried(const Replayed& replayed);
void print_resources(const ReplayResult& result);
/// The busiest links of the network, and what sharing cost.
void print_links(const ReplayResult& result);
/// What stragglers cost, if there are any.
void print_disturbance(const ReplayResult& result);
void print_result(const Replayed& replayed, const std::string& part);
/// Prints the reasons of those that refused; throws them as Misuse if there is nothing else.
void tell_refusals(const std::vector<Refused>& refused, bool nothing_else);
Json json_of(const std::vector<Refused>& refused);

/// What a report says of a replay besides its times.
RunFacts facts_of_replay(const recording::Description& description, std::vector<RecordingFacts> recordings,
                         const Setup& setup);
/// The fields of the JSON that say what was replayed, on which hardware, where and when.
void add_facts(Json& json, const RunFacts& facts);

/// Throws Misuse for a report that cannot be written.
void check_reports(const ReplayToolOptions& options);
/// --report and --html. Returns the exit code. Nothing is left of `all`.
int write_reports(const ReplayToolOptions& options, std::vector<Replayed>& all,
                  const std::vector<Refused>& refused, int ranks, const RunFacts& facts, const Setup& setup,
                  const std::optional<ProgramTimes>& program = {});
Json json_of(const WholeRun& run);
Json json_of(const ProgramTimes& program);
Json json_of(const Footing& footing);

/// `offramp replay --job ...`: several programs in one world.
int replay_jobs(const ReplayToolOptions& options);

}  // namespace offramp::tool
