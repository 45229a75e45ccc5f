// What `offramp replay` replays and prints, of one program or of several jobs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/replay/replay.hpp"
#include "lib/answers/report/carried.hpp"
#include "lib/answers/report/report.hpp"
#include "lib/programs/import/program.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/text/replay_options.hpp"

namespace offramp::tool {

using Json = nlohmann::ordered_json;

/// Hardware that cannot carry what it is asked to, and why.
struct Refused {
  std::string_view backend;
  std::string why;
};

/// What is replayed: a recording, a trace of another tool, or a pattern.
struct ReplayInput {
  trace::Program program;
  RecordingFacts facts;
  std::uint64_t recorded_events = 0;  // of a recording, with partial: of all ranks

  /// Whether what is to be said of the program besides is said, or was already.
  enum class Notes : std::uint8_t { kPrinted, kKept };
  /// partial: the program need not be whole. Throws Misuse.
  ReplayInput(const std::string& name, bool partial, Notes notes = Notes::kPrinted);
  /// One that was made, or opened already.
  ReplayInput(trace::Program made, const std::string& name);

  /// See phase_of().
  void use_phase(const std::string& name, const std::string& phase);

  [[nodiscard]] int ranks() const { return program.description.ranks; }
  /// The configuration, with the choices of the MPI library that the program was recorded over.
  [[nodiscard]] Configuration configuration(const Setup& setup) const {
    return configuration_for_library(*setup.configuration, setup.registry, library_of(program.description));
  }
  [[nodiscard]] ReplaySource source() const {
    return {.ranks = ranks(), .read = program.read, .has_arrival = program.has_arrival};
  }
};

/// What the program of that name does in the phases of one name; without a phase, the program. Throws Misuse.
trace::Program phase_of(const std::string& name, trace::Program program, const std::string& phase);

/// An error of a replay as it can be shown. file: of the recording, which is named in front, once.
std::string problem_text(const std::string& file, const std::string& error);

/// A text of several lines, each of them printable.
std::string printable_lines(const std::string& text);

/// Where a replay is not whole: "21.1 % of the events (1200 of 5678) can be replayed". Empty: it is.
/// recorded: as in Played.
std::string part_text(const ReplayResult& result, std::uint64_t recorded);

/// Why a replay that came to nothing is none. file: as in problem_text().
std::string nothing_replayed_text(const std::string& file, const ReplayResult& result);

/// The first Ctrl-C ends the replay that runs, a second one the command.
void watch_for_interrupt();
bool is_interrupted();

// JSON. A replay has what a report has of one backend, and what only a replay tells.
Json json_of(const ReportLane& lane, const Settled& replayed);
Json json_of(const std::vector<Refused>& refused);
/// What was replayed, where and when, and whether all of it.
Json json_of_facts(const RunReport& report, const RunFacts& facts);

// Tables.
double microseconds(Time time);
/// Of a replay or one of its jobs.
CarriedTime carried_time(const Counters& counters);
/// Why hardware that does not carry the program does not.
std::string why_not_carried(const Settled& replayed);
void print_resources(const ReplayResult& result);
/// The busiest links of the network, and what sharing cost.
void print_links(const ReplayResult& result);
/// What stragglers cost, if there are any.
void print_disturbance(const ReplayResult& result);
void print_result(const Settled& replayed, const std::string& part);
/// Prints the reasons of those that refused; throws them as Misuse if there is nothing else.
void print_refusals(const std::vector<Refused>& refused, bool nothing_else);

/// What a report says of a replay besides its times.
RunFacts facts_of_replay(const recording::Description& description, std::vector<RecordingFacts> recordings,
                         const Setup& setup);
/// As a run writes it, with the backends in their order, and those that refused last.
RunReport report_of(const std::vector<Settled>& all, const std::vector<Refused>& refused, int ranks,
                    const RunFacts& facts, const Setup& setup,
                    const std::optional<ProgramTimes>& program = {});

/// Throws Misuse for a report that cannot be written.
void check_reports(const ReplayToolOptions& options);
/// --report, of the first, and --html, where they are not empty. Returns the exit code.
int write_reports(const std::string& report, const std::string& html, std::vector<RunReport> reports);

/// `offramp replay --job ...`: several programs in one world.
int replay_jobs(const ReplayToolOptions& options);

}  // namespace offramp::tool
