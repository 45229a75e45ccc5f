// What a run leaves behind at MPI_Finalize: a short summary on standard error, and on request a JSON report
// (docs/report.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/configuration.hpp"
#include "lib/core/engine.hpp"
#include "lib/core/path_log.hpp"
#include "lib/report/run_facts.hpp"
#include "lib/report/unit_times.hpp"

namespace offramp {

/// The version of the report's format. Fields may be added to a version; none changes its meaning.
inline constexpr int kReportSchema = 1;

/// What a rank knows besides its engine.
struct RankNotes {
  std::vector<const UnitTimes*> units;  // by lane; empty: not counted
  std::uint64_t clock_reads = 0;        // MPI_Wtime in modelled time
  /// The name of the communicator with a context id; empty: not known.
  std::function<std::string(std::uint64_t context)> communicator_name;
  HostFacts host;  // without a name: left out
};

/// What one rank contributes, as a JSON text. names: of the functions that the counters number.
std::string rank_report(Engine& engine, const char* const* names, const RankNotes& notes);

/// The run's report (JSON, indented) from the ranks' contributions in rank order. Contributions that are not
/// what rank_report makes are left out and named under "warnings". A rank that has come to grief before it
/// could contribute has an empty text, one that left it then has "ended" with the reason in it: the report is
/// not complete. paths: by lane; empty: not known.
std::string run_report(const std::vector<std::string>& ranks, const RunFacts& facts,
                       const Configuration& configuration,
                       const std::vector<std::optional<CriticalPath>>& paths);

/// A few lines for people, from the text of run_report.
std::string summary(const std::string& report);

}  // namespace offramp
