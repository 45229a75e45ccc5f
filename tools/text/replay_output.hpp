// Input and output of `offramp replay`, for one program or several jobs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/answers/advice/native_comparison.hpp"
#include "lib/answers/replay/replay.hpp"
#include "lib/answers/report/report.hpp"
#include "lib/answers/report/write_report.hpp"
#include "lib/programs/import/program.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/text/replay_options.hpp"

namespace offramp::tool {

using Json = nlohmann::ordered_json;

inline ReplaySource source_of(const trace::Program& program) {
  return {.ranks = program.description.ranks,
          .read = program.read,
          .has_arrival = program.has_arrival,
          .is_concurrent = program.is_concurrent};
}

/// The program to replay: a recording, another tool's trace, or a pattern.
struct ReplayInput {
  trace::Program program;
  RecordingFacts facts;
  std::uint64_t recorded_events = 0;  // over all ranks, for recordings with partial
  bool is_part = false;               // a phase, or incomplete

  /// kKept: does not print the notes on the program, which the caller has or does.
  enum class Notes : std::uint8_t { kPrinted, kKept };
  /// partial: --partial, which accepts an incomplete program. `nullopt`: the subcommand has no such option.
  /// Throws Misuse.
  ReplayInput(const std::string& name, std::optional<bool> partial, Notes notes = Notes::kPrinted);
  /// For a program that has been made or opened already.
  ReplayInput(trace::Program made, const std::string& name);

  /// See phase_of().
  void use_phase(const std::string& name, const std::string& phase);

  [[nodiscard]] int ranks() const { return program.description.ranks; }
  /// The configuration with the algorithm choices of the MPI library over which the program was recorded.
  [[nodiscard]] Configuration configuration(const Setup& setup) const {
    return configuration_for_library(*setup.configuration, setup.registry, library_of(program.description));
  }
  [[nodiscard]] ReplaySource source() const { return source_of(program); }
};

/// Adds the assumed machine to an answer and, for a whole recording, the comparison with its native run.
/// sites: also by call site, in the details.
void add_baseline(ReportAnswer& answer, const Setup& setup, const Configuration& configuration,
                  const ReplayInput& input, bool sites);

/// The program's events within all phases of one name; without a phase, the program. Throws Misuse.
trace::Program phase_of(const std::string& name, trace::Program program, const std::string& phase);

/// An error of a replay as printable text, preceded once by the recording's file name.
std::string problem_text(const std::string& file, const std::string& error);

/// Makes each line of a text printable.
std::string printable_lines(const std::string& text);

/// The extent of an incomplete replay: "21.1 % of the events (1200 of 5678) can be replayed". Empty if
/// complete. recorded: as in ReplayInput.
std::string part_text(const ReplayResult& result, std::uint64_t recorded);

/// Why a replay without any event is invalid. file: as in problem_text().
std::string nothing_replayed_text(const std::string& file, const ReplayResult& result);

/// The first Ctrl-C ends the current replay, the second one the command.
void watch_for_interrupt();
bool is_interrupted();

// JSON: the fields of a report's lane, and those that only replays have.
/// Prints an output that json_of() made with these lists.
void print_long_json(const Json& json, const LongLists& lists);
Json json_of(const ReportLane& lane, const Settled& replayed, LongLists& lists);
Json json_of(const std::vector<BackendResult>& refused);
/// The program, place, and time of the replay, and how complete it is.
Json json_of_facts(const RunReport& report, const RunFacts& facts);

// Tables.
void print_resources(const ReplayResult& result);
/// Prints the busiest links of the network, and the cost of sharing them.
void print_links(const ReplayResult& result);
/// Prints the cost of stragglers, if there are any.
void print_disturbance(const ReplayResult& result);
void print_result(const Settled& replayed);
/// Warns about the backends that refused. Throws the reasons as Misuse if nothing_else.
void print_refusals(const std::vector<BackendResult>& refused, bool nothing_else);

/// The facts of a replay for a report, besides its times.
RunFacts facts_of_replay(const recording::Description& description, std::vector<RecordingFacts> recordings,
                         const Setup& setup);
/// A report like that of a run, with the backends in order and refusals at the end.
RunReport report_of(const std::vector<Settled>& all, const std::vector<BackendResult>& refused, int ranks,
                    const RunFacts& facts, const Setup& setup,
                    const std::optional<ProgramTimes>& program = {});

/// Throws Misuse if a report file cannot be written.
void check_reports(const ReplayToolOptions& options);
/// Writes --report (of the first run) and --html, unless empty. Returns the exit code.
int write_reports(const std::string& report, const std::string& html, std::vector<RunReport> reports);

/// `offramp replay --job ...`: several programs in one world.
int replay_jobs(const ReplayToolOptions& options);

}  // namespace offramp::tool
