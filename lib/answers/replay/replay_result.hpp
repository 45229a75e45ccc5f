// What a replay tells: times of ranks, functions and phases, what was shared, and what did not come to its
// end. Reports and records are made of it; they need nothing else of the replay.
#pragma once

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

/// From MPI_Pcontrol with a level above 0 to the next one with that level, with its negative, or with 0,
/// which ends all; or to the end of the program. A phase without a name is named after its level.
struct ReplayPhase {
  std::string name;
  std::int64_t level = 0;
  std::uint64_t count = 0;  // over all ranks
  std::vector<Time> per_rank;
  [[nodiscard]] Time longest() const;
};

struct ReplayResource {
  std::string name;
  int first_rank = 0;  // of those that share it
  Time busy;
  Time waited;
  std::uint64_t bytes = 0;
};

/// What a replay tells of one rank.
struct ReplayedRank {
  Time clock;
  Time of_threads = {};  // what its threads took, added up; of one, its clock
  /// As a live run counts them, but for what a recording does not tell: which calls asked and found nothing
  /// (they are none here), and which the MPI library carried (native are those without any event).
  Counters counters;
  std::unique_ptr<SizeTable> sizes;  // null: not asked for
  std::unique_ptr<UnitTimes> units;  // the same
  Time computing = {};               // as recorded and as ReplayOptions say, whether or not the replay has it
  Time brief_gaps = {};              // between questions that found nothing, whether or not it is computing
  Time longer_gaps = {};
  Time straggler_delay = {};  // its processor by stragglers, whether or not anything waited for it
  /// Of what the rank did and took, and of its clock at the end of each call.
  std::uint64_t certificate = 0;
};

/// One program of a replay: the ranks of the world that it has.
struct ReplayJob {
  int first = 0;
  int ranks = 0;
};

/// A rank that did not come to the end of its program.
struct UnfinishedRank {
  int rank = 0;
  std::string where;   // "rank 3 at event 20 (MPI_Recv)"
  std::string why;     // "signal 15 (Terminated)"; empty: its own recording is whole
  bool waits = false;  // for another rank, and that event is not done
  [[nodiscard]] std::string reason() const { return why.empty() ? "it waits for another rank" : why; }
  [[nodiscard]] std::string text() const {
    return where + ": " + reason() + (waits && !why.empty() ? "; it waits for another rank" : "");
  }
};

struct ReplayResult {
  Time modelled_time;                  // the latest clock
  std::vector<std::string> functions;  // names of Counters::calls, which are alike for all ranks
  std::vector<ReplayedRank> ranks;
  std::vector<Time> undisturbed;     // the ranks' clocks without stragglers; empty: there are none
  std::optional<CriticalPath> path;  // with details, if it is known
  std::vector<ReplayPhase> phases;   // in the order in which the first rank began them
  Deployment deployment;             // what the ranks stand on
  WireCounters wire;
  std::vector<ReplayResource> resources;
  std::vector<LinkUse> links;  // of the network between the nodes, those that were used
  std::uint64_t events = 0;
  std::uint64_t messages = 0;
  std::vector<UnfinishedRank> unfinished;  // in the order of ranks
  bool stopped = false;                    // by the progress callback

  /// Events that are done, where ranks are unfinished.
  [[nodiscard]] std::uint64_t done() const;

  [[nodiscard]] std::vector<Time> clocks() const;
  /// The sums over the ranks.
  [[nodiscard]] Counters total() const;
  /// The same of one job, and its latest clock.
  [[nodiscard]] Counters total(const ReplayJob& job) const;
  [[nodiscard]] Time end(const ReplayJob& job) const;
  /// What stragglers cost, where there are any: the end without them, and of how long they held up ranks'
  /// processors, the longest.
  struct Disturbance {
    Time undisturbed;
    Time longest;
  };
  [[nodiscard]] std::optional<Disturbance> disturbance(const ReplayJob& job) const;
  [[nodiscard]] std::optional<Disturbance> disturbance() const;
};

/// The CPU time between MPI calls that a recording holds, of the ranks that a replay had.
struct Computing {
  Time sum;      // of all ranks
  Time largest;  // of one rank
  int ranks = 0;
  Time brief_gaps = {};  // of all ranks, see recording::Gaps
  Time longer_gaps = {};

  /// Enough CPU time between questions that found nothing for it to matter what it counts as.
  [[nodiscard]] bool is_ambiguous() const {
    constexpr double kShare = 0.01;
    const Time gaps = brief_gaps + longer_gaps;
    return gaps.seconds() > kShare * (sum + gaps).seconds();
  }

  [[nodiscard]] bool any() const { return sum > Time(); }
  [[nodiscard]] Time mean() const { return ranks > 0 ? Time::ps(sum.count() / ranks) : Time(); }
  /// The largest over the mean.
  [[nodiscard]] double imbalance() const { return any() ? largest.seconds() * ranks / sum.seconds() : 1; }
};
Computing computing_of(const ReplayResult& result);
Computing computing_of(const ReplayResult& result, const ReplayJob& job);

/// A run in which the program computes as well.
struct WholeRun {
  Time end;       // of the rank that ends last
  Time in_calls;  // of MPI, all ranks together; waiting for a rank that still computes is part of it
  Time sum;       // of all ranks' ends

  /// Of the run, on the average of the ranks.
  [[nodiscard]] double share_in_calls() const {
    return sum > Time() ? in_calls.seconds() / sum.seconds() : 0;
  }
};
WholeRun whole_run_of(const ReplayResult& result);
/// The same of one job.
WholeRun whole_run_of(const ReplayResult& result, const ReplayJob& job);

/// What a program is without any hardware.
struct ProgramTimes {
  Computing computing;
  WholeRun free;  // with communication that takes no time
};

/// The part of a program's communication, which alone takes so long, that does not make its run longer: it
/// goes on while the program computes, or waits for others anyway.
double hidden_share(Time communication, const WholeRun& run, const WholeRun& free);

/// Where a run loses its ranks' time: the efficiencies of the POP project, each a share of 1.
struct Efficiencies {
  double load_balance = 1;   // the mean computing of a rank over the largest
  double serialisation = 1;  // the largest computing over the run with communication that takes no time
  double transfer = 1;       // that run over the run

  /// The computing of all ranks over their time.
  [[nodiscard]] double parallel() const { return load_balance * serialisation * transfer; }
};
/// `nullopt`: nothing is computed, or the threads of a rank compute longer together than the run lasts.
std::optional<Efficiencies> efficiencies_of(const Computing& computing, const WholeRun& run,
                                            const WholeRun& free);

}  // namespace offramp
