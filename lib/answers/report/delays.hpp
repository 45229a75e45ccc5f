// Who causes the waiting: the cost of a wait goes to what the rank that is waited for does meanwhile.
//
// - If that rank computes, the cost belongs to the computing before its next call.
// - If it is in a call, the cost belongs to that call.
// - If it waits itself, the cost goes to what the next rank of the chain does in that time.
// - So a delay that passes through many ranks is charged to the rank that began it. The delay analysis of
//   Scalasca does the same (Boehme et al., ICPP 2010).
#pragma once

#include <memory>
#include <vector>

#include "lib/answers/replay/replay.hpp"
#include "lib/answers/report/receipt.hpp"
#include "lib/answers/report/replay_records.hpp"
#include "lib/answers/report/run_report.hpp"

namespace offramp {

/// The share of the computing without which ReportDelay::saves is known.
inline constexpr double kShorterDelay = 0.1;

/// The causes of all waiting in MPI calls, the largest first. Without what they cost the run.
/// records: says what call sites are; null: nothing is known of them.
std::vector<ReportDelay> delays_of(const Receipts& receipts, const ReplayRecords* records);

/// Replays the program without a tenth of the computing behind each of the two largest delays, for
/// ReportDelay::saves. options: those of accounts_of(); computing that they scale is left out.
void find_savings(ReportAccounts& accounts, const WorldSetting& setting, const ReplaySource& source,
                  const ReplayOptions& options);

/// "64 % of the waiting is for the computing before MPI_Allreduce (main, halo2d.c:43), most of it on rank 3;
/// 10 % less of it makes the run 2.3 % shorter". Empty without delays.
std::string delays_text(const ReportAccounts& accounts);

}  // namespace offramp
