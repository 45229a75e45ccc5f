// A report as data. A run or a replay fills it once (report.hpp); the summary, the page, comparisons and the
// JSON are made from it. report_fields.hpp names its fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "lib/answers/replay/replay_result.hpp"
#include "lib/answers/report/answer.hpp"
#include "lib/answers/report/backend_result.hpp"
#include "lib/answers/report/call_sites.hpp"
#include "lib/answers/report/run_facts.hpp"
#include "lib/answers/report/time_kind.hpp"
#include "lib/base/configuration/configuration.hpp"

namespace offramp {

// Rows of tables have a key; those of ranks with the same key add up.

struct ReportCall : CallCounter {
  std::string name;
  [[nodiscard]] const std::string& key() const { return name; }
};

struct ReportDecline {
  std::string operation;
  std::string reason;
  std::uint64_t count = 0;
  [[nodiscard]] auto key() const { return std::tie(operation, reason); }
  void operator+=(const ReportDecline& more) { count += more.count; }
};

/// Operations whose sizes are in a class; the limits are inclusive.
struct ReportSize {
  std::string kind;  // "send", "receive", "collective"
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  Time modelled;
  [[nodiscard]] auto key() const { return std::tie(kind, min_bytes, max_bytes); }
  void operator+=(const ReportSize& more) {
    count += more.count;
    bytes += more.bytes;
    modelled += more.modelled;
  }
};

struct ReportUnit {
  std::string name;
  std::uint64_t spans = 0;
  Time busy;    // of all ranks
  Time in_use;  // the same, with what goes on at once counted once; busy in older reports
  [[nodiscard]] const std::string& key() const { return name; }
  void operator+=(const ReportUnit& more) {
    spans += more.spans;
    busy += more.busy;
    in_use += more.in_use;
  }
};

struct ReportRank {
  std::uint64_t rank = 0;
  Time modelled_time;
  Time communication;
  std::uint64_t arrival_order_dependences = 0;
  std::string certificate;  // empty: none was made
  std::vector<ReportCall> calls;
};

/// What ranks or operations share, of all places with this name.
struct ReportResource {
  std::string name;
  std::uint64_t count = 0;
  Time busy;
  Time waited;
  std::uint64_t bytes = 0;
  Time busiest;
  std::uint64_t busiest_first_rank = 0;
};

struct ReportComputing {
  Time sum;      // of all ranks
  Time largest;  // of one rank
  Time brief_gaps;
  Time longer_gaps;
  std::string gaps;  // what time between questions that found nothing counts as; empty: there is little
  WholeRun free;     // with communication that takes no time
};

/// One of several programs that were replayed at the same time.
struct ReportJob {
  std::string program;
  std::uint64_t first_rank = 0;
  std::uint64_t ranks = 0;
  std::string nodes;  // "0-3,8"
  Time modelled_time;
  Time alone;  // with nothing beside it
  // With its computing; none: not recorded, or in all times.
  std::optional<WholeRun> run;
  std::optional<ReportComputing> computing;
  std::optional<ReplayResult::Disturbance> stragglers;
  std::vector<ReportCall> calls;
};

/// What the calls of one function, of all ranks, spend their time on.
struct ReportAccount {
  std::string function;
  std::uint64_t calls = 0;
  TimeParts parts;
  bool has_model = true;  // false: most of the time is in calls that last as long as natively
};

/// The account of calls whose operation moves so many bytes.
struct ReportSizeAccount {
  bool has_size = false;  // it is about an operation; a call that is about several counts with its largest
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  std::uint64_t calls = 0;
  TimeParts parts;
};

/// The account of calls in a phase. Of nested phases, the innermost counts.
struct ReportPhaseAccount {
  std::string phase;       // empty: outside of phases
  std::int64_t level = 0;  // 0: outside of phases
  std::uint64_t calls = 0;
  TimeParts parts;
};

/// The time in calls by rank, over the ranks that make any.
struct ReportSpread {
  std::uint64_t ranks = 0;  // 0 in older reports
  Time least;
  Time most;

  void add(Time time) {
    least = ranks == 0 ? time : earlier(least, time);
    most = later(most, time);
    ++ranks;
  }
  /// sum: of all ranks.
  [[nodiscard]] Time mean(Time sum) const {
    return ranks == 0 ? Time() : Time::ps(sum.count() / static_cast<std::int64_t>(ranks));
  }
};

/// The account of calls from one place in the program.
struct ReportSiteAccount {
  std::string function;
  std::string site;   // "jacobi+0x12a4"; empty: not known
  std::string place;  // "exchange, jacobi.c:42"; empty: not looked up, or the program was not found
  std::uint64_t calls = 0;
  TimeParts parts;
  ReportSpread by_rank;
  std::uint64_t bytes = 0;  // of the calls' operations; 0 in older reports
};

/// What causes waiting: the computing before calls from one place, or the time in these calls (delays.hpp).
struct ReportDelay {
  bool computing = false;
  std::string function;  // empty: the computing after the last call
  std::string site;      // as in ReportSiteAccount
  std::string place;
  Time caused;             // waiting of all ranks
  std::uint64_t rank = 0;  // whose delays cause the most
  Time of_rank;
  std::optional<Time> saves;  // of the run, if the computing took a tenth less; not known for all
};

/// How long one rank waits for another one, in all.
struct ReportWait {
  std::uint64_t rank = 0;
  std::uint64_t peer = 0;
  Time waited;
};

/// Messages of the program itself.
struct ReportTraffic {
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

inline constexpr std::size_t kMostAccountedFunctions = 1024;
inline constexpr std::size_t kMostAccountedSites = 4096;
inline constexpr std::size_t kMostAccountedPairs = 1 << 16;
inline constexpr std::size_t kMostDelays = 64;

/// The activity of the ranks over time, as slices that a page draws. TimelineBuilder makes it.
struct ReportTimeline {
  Time end;                       // of the rank that ends last
  std::uint64_t drawn_ranks = 0;  // from rank 0 on
  std::uint64_t slices = 0;       // of these ranks
  std::uint64_t drawn = 0;        // after short slices were joined with their neighbours
  Time shortest;                  // shorter slices were joined; 0 if all are drawn
  bool is_whole = true;           // false: the memory did not suffice for the last calls
  std::vector<std::string> functions;
  /// A text for each rank that is drawn: its slices one after the other from time 0 on, with blanks between
  /// them. A slice is the digit of its TimeKind (7: computing), its length in ns, and then, after commas, the
  /// index of its function, its bytes, and the number of slices that it joins. The function is decimal, the
  /// other numbers have the base 36. Computing has no function. Trailing bytes of 0 and numbers of 1 are
  /// absent.
  std::vector<std::string> ranks;
};

/// Where the time in MPI calls goes: accounts.hpp.
struct ReportAccounts {
  bool with_computing = false;           // of the run, or else of its communication alone
  std::vector<ReportAccount> functions;  // those with the most time first
  // The same time once more: none in older reports.
  std::vector<ReportSizeAccount> sizes;    // calls without a size, and the smallest first
  std::vector<ReportPhaseAccount> phases;  // as they began, and what is outside of them
  std::vector<ReportSiteAccount> sites;    // those with the most time first; none: no call has a place
  std::vector<ReportWait> waits;           // the longest first
  std::vector<ReportDelay> delays;         // the largest first; none in older reports
  std::vector<ReportTraffic> traffic;      // the most bytes first
  Time not_accounted;                      // in calls, for want of memory
  std::optional<ReportTimeline>
      timeline;  // of the baseline and the fastest other lane; absent in older reports
};

/// The run over one backend.
struct ReportLane : BackendResult {          // without time and deployment in older reports
  Time communication;                        // in MPI calls, of the rank that spends most there
  std::optional<Efficiencies> efficiencies;  // of the run; follow from it and from the report's computing
  std::uint64_t given_up = 0;
  std::string certificate;  // empty: none was made
  std::vector<ReportCall> calls;
  std::vector<ReportDecline> declines;
  WireCounters wire;
  std::vector<ReportSize> sizes;
  std::vector<ReportUnit> units;
  std::vector<ReportRank> ranks;
  std::vector<ReplayPhase> phases;  // none: the program names none, or there are no times
  std::optional<CriticalPath> path;
  std::optional<ReportAccounts> accounts;  // with details
  std::vector<ReportResource> resources;
  std::vector<LinkUse> links;  // none: no network, or there are no times
  std::optional<ReplayResult::Disturbance> stragglers;
  std::vector<ReportJob> jobs;  // none: one program
};

/// A call of the program where the order of arrival decides, or whether something has arrived.
struct ReportPlace {
  std::string call;
  std::string communicator;  // empty: the call names none
  CallSite site;
  std::uint64_t times = 0;
  [[nodiscard]] auto key() const {
    return std::tie(call, communicator, site.object, site.offset, site.symbol);
  }
  void operator+=(const ReportPlace& more) { times += more.times; }
};

/// The kinds of Dependence.
struct ReportDependences {
  std::uint64_t any_source = 0;
  std::uint64_t polling = 0;
  std::uint64_t choice = 0;
};
inline constexpr CounterField<ReportDependences> kDependenceFields[] = {
    {"any_source", "times", "a receive or a probe from any source", &ReportDependences::any_source},
    {"polling", "times", "a failed poll", &ReportDependences::polling},
    {"choice", "times", "a wait for one or some of several requests", &ReportDependences::choice},
};
static_assert(std::size(kDependenceFields) == static_cast<std::size_t>(Dependence::kCount));

/// A machine on which ranks ran.
struct ReportHost : HostFacts {
  std::uint64_t ranks = 0;
  [[nodiscard]] auto key() const { return std::tie(name, cpu, cores); }
  void operator+=(const ReportHost& more) { ranks += more.ranks; }
};

/// Ranks that did not come to the end.
struct ReportEnd {
  std::vector<std::uint64_t> ranks;
  std::string reason;
  [[nodiscard]] const std::string& key() const { return reason; }
  void operator+=(const ReportEnd& more) { ranks.insert(ranks.end(), more.ranks.begin(), more.ranks.end()); }
};

struct RunReport {
  std::string file;                     // from which it was read
  std::string version_of_program = {};  // the name of several recordings of one version; empty: there is one
  std::string version;
  std::string command;
  // Its parts; these and the next three are empty in reports of earlier versions.
  std::string program;
  std::vector<std::string> arguments;
  std::string date;
  std::string mpi;
  std::string ucx;
  std::vector<ReportHost> hosts;           // of a replay: where it was made, without ranks
  std::vector<RecordingFacts> recordings;  // none: it is of a run
  std::vector<LoadedObject> objects;       // that calls come from, where places in the program are known
  std::vector<SettingInForce> settings;
  std::uint64_t ranks = 0;
  std::string clock;
  std::string compute;
  std::optional<ReportComputing> computing;
  bool complete = true;
  bool settled = false;
  std::uint64_t arrival_order_dependences = 0;
  ReportDependences dependences;
  std::uint64_t place_count = 0;    // of the places with them; absent in older reports
  std::vector<ReportPlace> places;  // those with the most
  std::uint64_t elsewhere = 0;      // times, at other places
  std::string data_certificate;
  std::vector<ReportEnd> ended;
  std::optional<ReportAnswer> answer;  // of offramp advise
  std::vector<std::string> warnings;
  std::vector<ReportLane> lanes;  // the first carried the data
  std::string receipts;  // a JSON array, see ReplayRecords; written and not read, see read_receipts()
};

}  // namespace offramp
