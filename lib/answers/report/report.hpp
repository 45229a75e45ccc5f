// What a run leaves behind at MPI_Finalize: a short summary on standard error, and on request a report
// (docs/report.md). It is filled here, from what the ranks and the worlds know.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/answers/replay/replay_result.hpp"
#include "lib/answers/report/run_facts.hpp"
#include "lib/answers/report/run_report.hpp"
#include "lib/base/configuration/configuration.hpp"

namespace offramp {

/// One of several programs that ran at the same time.
struct SettledJob {
  std::string program;
  ReplayJob ranks;                   // of the result
  std::vector<int> nodes;            // of the machine
  Time alone;                        // its end with nothing beside it, on the same nodes
  std::optional<WholeRun> run = {};  // beside the others, with its computing, which the result does not have
  std::optional<ProgramTimes> times = {};  // without any hardware

  /// How many times longer it takes beside the others.
  [[nodiscard]] double slowdown(const ReplayResult& together) const {
    return alone > Time() ? together.end(ranks).seconds() / alone.seconds() : 1;
  }
};

/// "0-3,8": the nodes in this order.
std::string text_of_nodes(const std::vector<int>& nodes);

/// A run over one backend, as a world simulates it.
struct Settled : BackendResult {
  std::optional<ReplayResult> result = {};
  std::string receipts = {};                    // a JSON array, see ReplayRecords; empty: none were asked for
  std::vector<SettledJob> jobs = {};            // empty: the result is of one program
  std::optional<ReportAccounts> accounts = {};  // with details
};
inline Settled settled_over(std::string_view backend, ReplayResult result) {
  return {backend_result_of(backend, result), std::move(result)};
}

ReportDependences dependences_of(const Counters& counters);

/// The run's report from the ranks' contributions, in rank order and as encode() has them. Those that are not
/// a rank's part are left out and named under "warnings". settled: first the backend that carried the run.
/// Where it has no result, the report has no times. program: where the recording has computing and the
/// results do not.
RunReport run_report(const std::vector<std::string>& ranks, const RunFacts& facts,
                     const Configuration& configuration, const std::vector<Settled>& settled,
                     const std::optional<ProgramTimes>& program = {});

/// The report of a recording that was replayed over these backends. "warnings" names those without a result.
RunReport replay_report(int ranks, const RunFacts& facts, const Configuration& configuration,
                        const std::vector<Settled>& settled, const std::optional<ProgramTimes>& program = {});

/// At most twelve lines and the warnings, each behind "offramp: ". details: adds the counts, the phases, the
/// links, and the places in the program.
std::string summary(const RunReport& report, bool details);

}  // namespace offramp
