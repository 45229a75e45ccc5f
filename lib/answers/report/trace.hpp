// Traces: every span of a run, as a file that Perfetto (ui.perfetto.dev) and chrome://tracing open. One
// process per rank (of each hardware, where several are compared), one track per hardware unit, in modelled
// time; arrows follow messages from rank to rank. A slice says which operation it belongs to, and what that
// is about: bytes, peer, tag, communicator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "offramp/kernel/span.hpp"
#include "simulators/world/world_log.hpp"

namespace offramp {

/// Collects the spans of one rank. Memory is bounded: what comes after kMost is counted only. Not thread
/// safe.
class TraceRecorder {
 public:
  static constexpr std::size_t kMost = 4'000'000;

  explicit TraceRecorder(int rank) : rank_(rank) {}

  void record(const Span& span) {
    if (spans_.size() < kMost) {
      spans_.push_back(span);
    } else {
      ++dropped_;
    }
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  int rank_;
  std::vector<Span> spans_;
  std::uint64_t dropped_ = 0;
};

/// The unit of the program's calls, whose track comes first.
inline constexpr std::string_view kTraceCalls = "MPI";

/// By the operation's number.
using TraceFacts = std::unordered_map<std::uint64_t, OperationFacts>;

/// Where a replay's processes stand among those of the others in the same file.
struct TracePlace {
  std::string label;  // in front of a process's name, "cclo: "; empty where there is one replay
  int replays = 1;    // how many the file has
  int processes = 0;  // of the replays before it
};

/// What precedes and follows the ranks' parts in the file; between two parts stands kTraceSeparator.
inline constexpr const char* kTraceBegin = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
inline constexpr const char* kTraceSeparator = ",\n";
inline constexpr const char* kTraceEnd = "\n]}\n";

/// In JSON's quotes. Units and names are literals of models, but plugins are models too.
std::string trace_quoted(std::string_view text);
/// Microseconds to the picosecond, as the format counts, without zeros at the end.
std::string trace_microseconds(Time time);

/// One rank's part: events, separated by commas. Never empty. Spans of one unit that overlap in time stand on
/// further tracks of its name.
std::string trace_events(const TraceRecorder& recorder, const TraceFacts& facts, const TracePlace& place);

/// The events that name a process and give it its place.
std::string trace_process(int process, std::string_view name);

}  // namespace offramp
