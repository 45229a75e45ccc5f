// Reads reports back (docs/report.md). Files come from anywhere: every field is checked before it is used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/configuration/configuration.hpp"
#include "lib/report/carried.hpp"

namespace offramp {

/// Receipts may make a report large. It is read into memory whole.
inline constexpr std::size_t kLargestReport = std::size_t{1} << 30;

struct ReportCall {
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offloaded = 0;
  std::uint64_t routed = 0;  // absent in older reports
  std::uint64_t declined = 0;
  std::uint64_t native = 0;
  double modelled_ns = 0;
};

struct ReportDecline {
  std::string operation;
  std::string reason;
  std::uint64_t count = 0;
};

/// Operations whose sizes are in a class; the limits are inclusive.
struct ReportSize {
  std::string kind;  // "send", "receive", "collective"
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  double modelled_ns = 0;
};

struct ReportUnit {
  std::string name;
  std::uint64_t spans = 0;
  double busy_ns = 0;    // of all ranks
  double in_use_ns = 0;  // the same, with what goes on at once counted once; busy in older reports
};

struct ReportRank {
  std::uint64_t rank = 0;
  double modelled_ns = 0;
  double communication_ns = 0;
  std::string certificate;
};

/// The chain of work and messages that ends with the last rank.
struct ReportPath {
  struct Step {
    std::uint64_t source = 0;
    std::uint64_t destination = 0;
    std::uint64_t bytes = 0;
    double begin_ns = 0;
    double end_ns = 0;
    double shared_links_ns = 0;  // of it; absent in older reports
  };
  double on_ranks_ns = 0;
  double in_messages_ns = 0;
  double shared_links_ns = 0;  // of these, for other messages on their links; absent in older reports
  std::uint64_t messages = 0;
  std::vector<double> by_rank_ns;
  std::vector<Step> longest;
};

/// What the program has named by MPI_Pcontrol.
struct ReportPhase {
  std::string name;
  std::uint64_t count = 0;
  double longest_ns = 0;  // of the rank that spends most there
};

/// One direction of a link of the network.
struct ReportLink {
  std::string name;
  double busy_ns = 0;
  double waited_ns = 0;  // by which it made messages later, all together
  double longest_ns = 0;
  std::uint64_t bytes = 0;
};

/// What stragglers cost.
struct ReportDisturbance {
  double undisturbed_ns = 0;  // the end without them
  double longest_ns = 0;      // for which they held up one rank's processor
};

/// A run in which the program computes as well, or the computing alone.
struct ReportWholeRun {
  double end_ns = 0;
  double in_calls_ns = 0;  // all ranks together
  double sum_ns = 0;       // of all ranks' ends
  /// Of the run, on the average of the ranks.
  [[nodiscard]] double share_in_calls() const { return sum_ns > 0 ? in_calls_ns / sum_ns : 0; }
};
/// One of several programs that were replayed at the same time.
struct ReportJob {
  std::string program;
  std::uint64_t first_rank = 0;
  std::uint64_t ranks = 0;
  std::string nodes;  // "0-3,8"
  double modelled_ns = 0;
  double alone_ns = 0;  // with nothing beside it
  // With its computing; none: not recorded, or in all times.
  std::optional<ReportWholeRun> run = {};
  ReportWholeRun free = {};  // with communication that takes no time
};

struct ReportComputing {
  double sum_ns = 0;      // of all ranks
  double largest_ns = 0;  // of one rank
  std::string gaps;       // what time between questions that found nothing counts as; empty: there is little
  ReportWholeRun free;    // with communication that takes no time
};

/// The run over one backend.
struct ReportLane {
  std::string backend;
  double modelled_ns = 0;             // of the rank that ends last
  double communication_ns = 0;        // in MPI calls, of the rank that spends most there
  std::optional<ReportWholeRun> run;  // with the program's computing; none: not recorded, or in all times
  CarriedTime time;                   // of operations, of all ranks together; none in older reports
  Footing footing;                    // no text in older reports
  std::uint64_t given_up = 0;
  std::string certificate;  // empty: none was made
  std::vector<ReportCall> calls;
  std::vector<ReportDecline> declines;
  std::map<std::string, std::uint64_t> wire;
  std::vector<ReportSize> sizes;
  std::vector<ReportUnit> units;
  std::vector<ReportRank> ranks;
  std::vector<ReportPhase> phases;  // none: the program names none, or the times are live
  std::optional<ReportPath> path;
  std::optional<ReportDisturbance> stragglers;
  std::vector<ReportJob> jobs;    // none: one program
  std::vector<ReportLink> links;  // the busiest first; none: no network, or the times are live
};

/// A call of the program where the order of arrival decides, or whether something has arrived.
struct ReportPlace {
  std::string call;
  std::string communicator;  // empty: the call names none
  std::string where;
  std::uint64_t times = 0;
};

/// A machine on which ranks ran.
struct ReportHost {
  std::string name;
  std::string cpu;  // empty: not known
  std::uint64_t cores = 0;
  std::uint64_t ranks = 0;
};

/// What a replay was made from.
struct ReportRecording {
  std::string file;
  std::string checksum;  // empty: it is a pattern, or several files
  std::string date;      // of the recorded run; empty: not known
  std::string host;
};

struct RunReport {
  std::string file;
  // Empty in reports of earlier versions.
  std::string date;
  std::string mpi;
  std::string ucx;
  std::vector<ReportHost> hosts;            // of a replay: where it was made, without ranks
  std::vector<ReportRecording> recordings;  // none: it is of a run
  std::vector<SettingInForce> settings;
  std::string version;
  std::string command;
  std::string clock;
  std::string compute;
  std::uint64_t ranks = 0;
  std::uint64_t arrival_order_dependences = 0;
  std::uint64_t place_count = 0;    // of the places with them; absent in older reports
  std::vector<ReportPlace> places;  // those with the most
  std::uint64_t clock_reads = 0;
  std::string data_certificate;
  std::vector<std::string> warnings;
  std::optional<ReportComputing> computing;
  std::vector<ReportLane> lanes;  // the first carried the data
};

/// file: its name, for messages. An error names the field.
Result<RunReport> parse_report(std::string_view text, const std::string& file);
Result<RunReport> read_report(const std::string& file);

}  // namespace offramp
