// The result of a replay: times of ranks, functions, and phases, use of shared resources, and unfinished
// ranks. Reports and records need nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/answers/replay/critical_path.hpp"
#include "lib/answers/replay/unit_times.hpp"
#include "lib/base/counters.hpp"
#include "simulators/world/network.hpp"

namespace offramp {

/// The time from MPI_Pcontrol with a positive level until the next call with the same level, its negative, or
/// 0 (which ends all phases), or until the program ends. A phase without a name is named after its level.
struct ReplayPhase {
  std::string name;
  std::int64_t level = 0;
  std::uint64_t count = 0;  // over all ranks
  std::vector<Time> per_rank;
  /// The longest sum over the ranks.
  [[nodiscard]] Time longest() const;
};

/// A unit that ranks share, with its use over the whole run.
struct ReplayResource {
  std::string name;
  int first_rank = 0;  // of the ranks that share it
  Time busy;
  Time waited;
  std::uint64_t bytes = 0;
};

/// The result of one rank.
struct ReplayedRank {
  Time clock;
  Time of_threads = {};  // the sum over its threads; with one thread, its clock
  /// As in a live run, with two exceptions: calls that only polled without success are missing, and `native`
  /// counts only functions without any event.
  Counters counters;
  std::unique_ptr<SizeTable> sizes;  // null unless requested
  std::unique_ptr<UnitTimes> units;  // null unless requested
  // Recorded times between calls and in calls without a model, even if the replay leaves them out.
  Time computing = {};  // with the gaps that ReplayOptions count as computing
  Time blocked = {};
  Time native = {};
  Time brief_gaps = {};  // time between failed polls, see recording::Gaps; always filled
  Time longer_gaps = {};
  Time straggler_delay = {};  // delay of its processor, even if nothing waited for it
  /// A hash of what the rank did and received, and of its clock at the end of each call.
  std::uint64_t certificate = 0;
};

/// One program of a replay: its range of world ranks.
struct ReplayJob {
  int first = 0;
  int ranks = 0;
};

/// A rank that did not reach the end of its program.
struct UnfinishedRank {
  int rank = 0;
  std::string where;   // "rank 3 at event 20 (MPI_Recv)"
  std::string why;     // "signal 15 (Terminated)"; empty: its own recording is complete
  bool waits = false;  // its current event waits for another rank
  /// In words, for messages.
  [[nodiscard]] std::string reason() const { return why.empty() ? "it waits for another rank" : why; }
  [[nodiscard]] std::string text() const {
    return where + ": " + reason() + (waits && !why.empty() ? "; it waits for another rank" : "");
  }
};

/// Movable, and independent of the recording and the world.
struct ReplayResult {
  Time modelled_time;                  // the latest clock
  std::vector<std::string> functions;  // by index in Counters::calls, the same for all ranks
  std::vector<ReplayedRank> ranks;
  std::vector<Time> undisturbed;     // the ranks' clocks without stragglers; empty unless compared
  std::optional<CriticalPath> path;  // with details, if known
  std::vector<ReplayPhase> phases;   // in the order in which a rank first began them
  Deployment deployment;             // hardware that the ranks occupy
  WireCounters wire;
  std::vector<ReplayResource> resources;
  std::vector<LinkUse> links;  // used links of the network between the nodes
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::vector<UnfinishedRank> unfinished;  // by rank
  bool stopped = false;                    // by the progress callback

  /// Completed events if ranks are unfinished.
  [[nodiscard]] std::uint64_t done() const;

  /// By rank.
  [[nodiscard]] std::vector<Time> clocks() const;
  /// The sums over the ranks.
  [[nodiscard]] Counters total() const;
  /// The sum over one job's ranks.
  [[nodiscard]] Counters total(const ReplayJob& job) const;
  /// The latest clock of the job's ranks.
  [[nodiscard]] Time end(const ReplayJob& job) const;
  /// The cost of stragglers: the end without them, and the longest delay of a rank's processor.
  struct Disturbance {
    Time undisturbed;
    Time longest;
  };
  /// nullopt without a comparison.
  [[nodiscard]] std::optional<Disturbance> disturbance(const ReplayJob& job) const;
  [[nodiscard]] std::optional<Disturbance> disturbance() const;
};

/// The recorded time between MPI calls, over the replayed ranks: CPU time and blocked time.
struct Computing {
  Time sum;      // of all ranks
  Time largest;  // of one rank
  int ranks = 0;
  Time blocked = {};     // the blocked part of `sum`
  Time brief_gaps = {};  // over all ranks, see recording::Gaps
  Time longer_gaps = {};

  /// More than 1 % of the time lies between failed polls, so what it counts as matters.
  [[nodiscard]] bool is_ambiguous() const {
    constexpr double kShare = 0.01;
    const Time gaps = brief_gaps + longer_gaps;
    return gaps.seconds() > kShare * (sum + gaps).seconds();
  }

  /// True if something was computed.
  [[nodiscard]] bool any() const { return sum > Time(); }
  /// Per rank.
  [[nodiscard]] Time mean() const { return ranks > 0 ? Time::ps(sum.count() / ranks) : Time(); }
  /// The largest over the mean.
  [[nodiscard]] double imbalance() const { return any() ? largest.seconds() * ranks / sum.seconds() : 1; }
};
/// Over all ranks.
Computing computing_of(const ReplayResult& result);
Computing computing_of(const ReplayResult& result, const ReplayJob& job);

/// A run that includes the program's computing.
struct WholeRun {
  Time end;  // of the rank that ends last
  /// Time in MPI calls, all ranks together, with the waiting for ranks that compute, and without calls that
  /// have no model and last as long as natively.
  Time in_calls;
  Time sum;                 // the sum of all ranks' ends
  Time without_model = {};  // the time in calls without a model, all ranks together
  /// Communication without a model, all ranks together, and the function with most of it.
  Time unmodelled = {};
  std::string unmodelled_function = {};
  int unmodelled_functions = 0;
  std::uint64_t bytes_unmodelled = 0;
  std::uint64_t bytes = 0;  // of messages with a model

  /// Its share of the time in MPI calls that communicate, and of their bytes.
  /// 0 if all communication has a model.
  [[nodiscard]] double share_unmodelled() const {
    return unmodelled > Time() ? unmodelled.seconds() / (in_calls + unmodelled).seconds() : 0;
  }
  [[nodiscard]] double share_of_bytes_unmodelled() const {
    return static_cast<double>(bytes_unmodelled) /
           std::max(1.0, static_cast<double>(bytes) + static_cast<double>(bytes_unmodelled));
  }
  /// Which of the two shares is larger, for the wording of reports.
  [[nodiscard]] bool is_unmodelled_by_time() const {
    return share_unmodelled() >= share_of_bytes_unmodelled();
  }
  [[nodiscard]] double largest_share_unmodelled() const {
    return std::max(share_unmodelled(), share_of_bytes_unmodelled());
  }
  /// The average share of the run over the ranks.
  [[nodiscard]] double share_in_calls() const {
    return sum > Time() ? in_calls.seconds() / sum.seconds() : 0;
  }
  [[nodiscard]] double share_without_model() const {
    return sum > Time() ? without_model.seconds() / sum.seconds() : 0;
  }
};
/// Over all ranks. Needs a replay with the program's computing.
WholeRun whole_run_of(const ReplayResult& result);
/// Covers the job's ranks only.
WholeRun whole_run_of(const ReplayResult& result, const ReplayJob& job);

/// Facts of a program that do not depend on hardware.
struct ProgramTimes {
  Computing computing;
  WholeRun free;  // with communication that takes no time
};

/// The share of the program's communication, whose duration alone is `communication`, that does not prolong
/// the run: it overlaps with computing or with waiting.
double hidden_share(Time communication, const WholeRun& run, const WholeRun& free);

/// Parallel efficiencies as the POP project defines them, each between 0 and 1.
struct Efficiencies {
  double load_balance = 1;   // the mean computing of a rank over the largest
  double serialisation = 1;  // the largest computing over the run with communication that takes no time
  double transfer = 1;       // that run over the run

  /// The computing of all ranks over their total time.
  [[nodiscard]] double parallel() const { return load_balance * serialisation * transfer; }
};
/// `nullopt` if nothing is computed, or if a rank's threads together compute longer than the run lasts.
std::optional<Efficiencies> efficiencies_of(const Computing& computing, const WholeRun& run,
                                            const WholeRun& free);

}  // namespace offramp
