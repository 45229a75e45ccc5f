// Where a program spends its time in MPI: one row for each call site, with the time over the baseline and
// over the best hardware, what bounds it, and whether the hardware carries it. Text, page, JSON, and the
// Python module show this one table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/answers/report/run_report.hpp"

namespace offramp {

struct ReportCallRow {
  std::string function;
  std::string place;  // "exchange, jacobi.c:42", or "jacobi+0x12a4"; empty: not known
  std::uint64_t calls = 0;
  Time baseline;                 // of all ranks together, as `hardware`
  double share = 0;              // of the baseline's time in MPI calls
  std::optional<Time> hardware;  // none: only one lane has accounts
  std::string bound_by;          // over the baseline: "latency", "link rate", "waiting for other ranks", ...
  std::string offloaded;         // "yes", "92 %", "no: REASON"; empty: no hardware was replayed, or not an
                                 // operation
};

/// The rows with the most time first. Empty if the baseline has no accounts. hardware: may be null, and may
/// have no accounts.
std::vector<ReportCallRow> call_rows(const ReportLane& baseline, const ReportLane* hardware);
/// The baseline is the first lane with accounts, the hardware the fastest other lane that carries the
/// program.
std::vector<ReportCallRow> call_rows(const RunReport& report);

/// The first row as a clause: "MPI_Wait (main, jacobi.c:42) has 61 % of MPI time: waiting for other ranks".
/// Empty without rows.
std::string longest_call_text(const std::vector<ReportCallRow>& rows);

}  // namespace offramp
