// What `offramp replay` replays and prints, of one program or of several jobs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "lib/core/replay.hpp"
#include "lib/report/report.hpp"
#include "tools/replay.hpp"
#include "tools/setup.hpp"

namespace offramp::tool {

using Json = nlohmann::ordered_json;

struct Replayed {
  std::string_view backend;
  ReplayResult result;
  std::string receipts;          // JSON; empty: not wanted
  std::vector<SettledJob> jobs;  // empty: one program
};

/// What is replayed: a recording, or a pattern.
struct Played {
  recording::Description description;
  std::optional<recording::Recording> recorded;  // which the source reads, if it is one
  ReplaySource source;

  explicit Played(const std::string& name);
  Played(const Played&) = delete;
  Played& operator=(const Played&) = delete;
};

/// Each of its lines as it can be shown.
std::string lines_of(const std::string& text);

/// The first Ctrl-C ends the replay that runs, a second one the command.
void watch_for_interrupt();
bool is_interrupted();

// JSON.
Json nanoseconds_of(const std::vector<Time>& times);
Json calls_of(const ReplayResult& result, const Counters& counters);
Json resources_of(const ReplayResult& result);
Json links_of(const ReplayResult& result);
/// What stragglers cost what ends then.
Json json_of(const ReplayResult::Disturbance& disturbance, Time end);
Json json_of(const Replayed& replayed);

// Tables.
double microseconds(Time time);
void print_resources(const ReplayResult& result);
/// The busiest links of the network, and what sharing cost.
void print_links(const ReplayResult& result);
/// What stragglers cost, if there are any.
void print_disturbance(const ReplayResult& result);
void print_result(const Replayed& replayed);

/// Throws Misuse for a report that cannot be written.
void check_reports(const ReplayToolOptions& options);
/// --report and --html. Returns the exit code. Nothing is left of `all`.
int write_reports(const ReplayToolOptions& options, std::vector<Replayed>& all,
                  const recording::Description& description, const Setup& setup);

/// `offramp replay --job ...`: several programs in one world.
int replay_jobs(const ReplayToolOptions& options);

}  // namespace offramp::tool
