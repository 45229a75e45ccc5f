// What the links of a network carry in the course of a run, for the trace: a counter track for each of the
// busiest links. And what sharing them cost in all, for reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/replay/replay_result.hpp"
#include "offramp/kernel/time.hpp"

namespace offramp {

/// Memory is bounded: what comes after kMost intervals is counted only. Not thread safe.
class LinkLoadRecorder {
 public:
  static constexpr std::size_t kMost = 4'000'000;
  static constexpr std::size_t kMostTracks = 256;

  /// As WorldLog::carried() has it.
  void carried(const Network& network, std::size_t link, Time begin, Time end, Bandwidth rate);

  /// Counter events of the trace, in Gb/s, separated as kTraceSeparator says; empty where no link was used.
  /// process, name: those of the process under which the trace shows them.
  [[nodiscard]] std::string trace_events(int process, std::string_view name) const;
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  struct Interval {
    Time begin;
    Time end;
    std::int64_t rate;  // bits per second
  };
  struct Link {
    std::string name;
    double bits = 0;
    std::vector<Interval> intervals;
  };

  std::map<std::size_t, Link> links_;
  std::size_t intervals_ = 0;
  std::uint64_t dropped_ = 0;
};

/// By how much messages came later for others on their links, all together, in nanoseconds.
double waited_for(const std::vector<LinkUse>& links);
/// So many of them at most, the busiest first.
std::vector<const LinkUse*> busiest(const std::vector<LinkUse>& links, std::size_t most);

}  // namespace offramp
