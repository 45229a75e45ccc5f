// Tracks when a rank's processor makes progress for MPI: while its program is in a call that waits or polls.
// Work with Progress::kCalls is deferred until the next such moment. One gate per thread of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "offramp/kernel/time.hpp"

namespace offramp::world {

/// Receives the computing periods and calls of a program in program order, possibly ahead of modelled time.
/// Queries come in the order of modelled time.
class ProgressGate {
 public:
  /// The program computes from `begin` until open().
  void close(Time begin, Time now);
  /// The program enters a call that waits or polls.
  void open(Time at);
  /// The program computes and polls every `period` from `begin` on. Called between open(begin) and the open()
  /// or close() at the last poll.
  void close_between_questions(Time begin, std::uint64_t questions, Time period);

  /// Returns the time when an event at `at` is served. Time::never(): the program has not reached that call
  /// yet. Successive queries must not go back in time.
  [[nodiscard]] Time served(Time at);
  /// Returns whether the program computes at `at`, or polls between two computing periods.
  [[nodiscard]] bool is_beside_computing(Time at) {
    pass(at);
    return next_.exists() && next_.begin < at;
  }
  [[nodiscard]] bool is_open() { return !next_.exists() || last().end < Time::never(); }

 private:
  struct Interval {
    Time begin = Time::ps(-1);
    Time end;     // never while it is unknown, in the last interval
    Time period;  // between polls; 0: without polls
    [[nodiscard]] bool exists() const { return begin >= Time(); }
  };
  /// Most programs are at most one interval ahead of the world.
  struct Later {
    std::vector<Interval> intervals;
    std::size_t first = 0;  // earlier ones are past
    [[nodiscard]] bool empty() const { return first == intervals.size(); }
  };
  void pass(Time at) {
    while (next_.exists() && next_.end <= at) next_ = pop();
  }
  [[nodiscard]] Interval& last() {
    return later_ == nullptr || later_->empty() ? next_ : later_->intervals.back();
  }
  Interval pop();
  void add(const Interval& interval);

  static constexpr std::size_t kForgotten = 64;  // intervals erased at a time

  Interval next_;
  std::unique_ptr<Later> later_;  // those after next_
};

inline ProgressGate::Interval ProgressGate::pop() {
  if (later_ == nullptr || later_->empty()) return {};
  auto& [intervals, first] = *later_;
  const Interval taken = intervals[first++];
  if (first == intervals.size() || first > kForgotten) {
    intervals.erase(intervals.begin(), intervals.begin() + static_cast<std::ptrdiff_t>(first));
    first = 0;
  }
  return taken;
}

inline void ProgressGate::add(const Interval& interval) {
  if (!next_.exists()) {
    next_ = interval;
    return;
  }
  if (later_ == nullptr) later_ = std::make_unique<Later>();
  later_->intervals.push_back(interval);
}

inline void ProgressGate::close(Time begin, Time now) {
  if (!is_open()) return;
  pass(now);
  add({begin, Time::never(), Time()});
}

inline void ProgressGate::open(Time at) {
  if (!is_open()) last().end = at;
}

inline void ProgressGate::close_between_questions(Time begin, std::uint64_t questions, Time period) {
  if (questions > 1) add({begin, begin + period * static_cast<std::int64_t>(questions - 1), period});
}

inline Time ProgressGate::served(Time at) {
  pass(at);
  if (!next_.exists() || next_.begin >= at) return at;
  if (next_.period == Time()) return next_.end;
  const std::int64_t period = next_.period.count();
  const std::int64_t since = (at - next_.begin).count();
  return next_.begin + next_.period * ((since + period - 1) / period);
}

}  // namespace offramp::world
