// The part of a report that is about one backend: what each rank did over it, and the sums over the ranks.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "lib/answers/report/report.hpp"

namespace offramp {

/// The lane of one rank, as it counted the run itself: without times. names: of the functions that the
/// counters number.
ReportLane lane_of_run(std::string backend, std::size_t rank, const Counters& counters,
                       const char* const* names);

/// As a world saw the run. settled: has a result. parts: those of the ranks, which say how often the program
/// called, what it moved and what the MPI library carried, whatever the hardware. Without any, of a replay,
/// the result says it, and the lane is that of the first so many of its ranks: those behind them are
/// background.
ReportLane settled_lane(const Settled& settled, std::span<const RunReport> parts, std::size_t ranks);

/// The most frequent reason.
std::string reason_of_most(const std::vector<ReportDecline>& declines);

/// Adds a rank's lane, or those of several ranks.
void add_lane(ReportLane& sum, const ReportLane& part);

/// What a report says of the program's computing, apart from what the gaps count as.
ReportComputing computing_of(const ProgramTimes& program);

/// Computes the efficiencies of the report's lanes, where it has their runs and the computing.
void add_efficiencies(RunReport& report);

/// A certificate as text; empty: there is none.
std::string certificate_text(std::uint64_t certificate);
/// Several come in their order; empty if there are none.
std::string certificate_of_all(const std::string& certificates);

/// Adds rows to a table, or to its rows with the same keys.
template <typename Row>
void add_rows(std::vector<Row>& table, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const auto same =
        std::find_if(table.begin(), table.end(), [&](const Row& other) { return other.key() == row.key(); });
    if (same == table.end()) {
      table.push_back(row);
    } else {
      *same += row;
    }
  }
}

}  // namespace offramp
