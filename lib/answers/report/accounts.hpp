// Where the time in MPI calls goes, of a whole program: receipts of its calls, added up; and who sends to
// whom.
#pragma once

#include <optional>

#include "lib/answers/replay/replay.hpp"
#include "lib/answers/report/receipt.hpp"
#include "lib/answers/report/replay_records.hpp"
#include "lib/answers/report/report_timeline.hpp"
#include "lib/answers/report/run_report.hpp"

namespace offramp {

/// The receipts of all calls added up by function, by size and by phase, and the waiting by pairs of ranks.
/// in_calls: the time in MPI calls of all ranks together; what of it no receipt has is not accounted for.
/// records: says what operations and phases are; null: nothing is known of them. timeline: collects all
/// calls, and its timeline becomes part of the accounts; may be null.
ReportAccounts add_up(const Receipts& receipts, Time in_calls, const ReplayRecords* records = nullptr,
                      TimelineBuilder* timeline = nullptr);

/// Replays the program once more for its accounts and its timeline, with its computing if the recording has
/// some. `nullopt` if the replay has no result.
std::optional<ReportAccounts> accounts_of(const WorldSetting& setting, const ReplaySource& source,
                                          const ReplayOptions& options, const ReplayResult& result);

/// What the program itself moves, by pairs of ranks: its messages, blocks for neighbours, and accesses.
/// Messages of other collectives are not among them.
std::vector<ReportTraffic> traffic_of(const ReplaySource& source);

/// "63.5 % of the time in MPI calls is waiting for other ranks (...), 25.0 % transfer and ...", and which
/// function and ranks have the most of it.
std::string accounts_text(const ReportAccounts& accounts);

}  // namespace offramp
