// What a lane's clock waited for, and the critical path through a run that follows from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/time.hpp"

namespace offramp {

/// One rank's record of one lane. Memory is bounded: with more than kMost of a kind there is no path.
class PathLog {
 public:
  static constexpr std::size_t kMost = 1 << 20;

  /// A message without which the rank could not go on.
  struct Wait {
    Time at;  // when it let the rank go on
    std::uint64_t bytes = 0;
    std::uint32_t source = 0;     // world rank
    std::uint32_t operation = 0;  // of the sender
  };

  /// This rank has begun to send its message number `operation`.
  void issued(std::uint32_t operation, Time at) {
    if (operation >= issues_.size() && !make_room(operation)) return;
    issues_[operation] = at;
  }
  void waited(const Wait& wait) {
    if (waits_.size() < kMost) {
      waits_.push_back(wait);
    } else {
      complete_ = false;
    }
  }

  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] const std::vector<Wait>& waits() const { return waits_; }
  [[nodiscard]] const std::vector<Time>& issues() const { return issues_; }

  /// For another process of the run. end: the lane's clock.
  [[nodiscard]] std::string packed(Time end) const;

 private:
  bool make_room(std::uint32_t operation);

  std::vector<Wait> waits_;
  std::vector<Time> issues_;
  bool complete_ = true;
};

/// The chain of work and messages that ends with the last rank: had any part of it been shorter, so would the
/// run have been.
struct CriticalPath {
  struct Step {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::uint64_t bytes = 0;
    Time begin;
    Time end;
  };
  static constexpr std::size_t kLongest = 10;

  Time on_ranks;               // work of the ranks and their hardware, between the messages
  Time in_messages;            // from the beginning of a send to where its receiver could go on
  std::uint64_t messages = 0;  // one after the other
  std::vector<Time> by_rank;   // on_ranks, per rank
  std::vector<Step> longest;   // messages
};

/// logs: packed, in rank order. Nothing when a log is not complete, or is none.
std::optional<CriticalPath> critical_path(std::span<const std::string> logs);

}  // namespace offramp
