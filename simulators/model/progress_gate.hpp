// When a rank's processor is there for MPI: while its program is in a call that waits or asks. What moves on
// only then (Progress::kCalls) is served at the next such moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "offramp/kernel/time.hpp"

namespace offramp::world {

/// Is told of a program's computing and of its calls in the order of the program, which may be ahead of the
/// world; is asked in the order of modelled time.
class ProgressGate {
 public:
  /// The program computes from `begin` on, until open().
  void close(Time begin, Time now);
  /// A call that waits or asks begins.
  void open(Time at);
  /// The program computes, and asks each `period` from `begin` on. Between open(begin) and open() or
  /// close() at the last question.
  void close_between_questions(Time begin, std::uint64_t questions, Time period);

  /// When what comes at `at` is served; Time::never(): the program has not come to that call yet. Not asked
  /// of earlier moments later on.
  [[nodiscard]] Time served(Time at);
  /// The program computes at that moment, or asks a question between two times of computing.
  [[nodiscard]] bool is_beside_computing(Time at) {
    pass(at);
    return first_ < closed_.size() && closed_[first_].begin < at;
  }
  [[nodiscard]] bool is_open() const { return closed_.empty() || closed_.back().end < Time::never(); }

 private:
  struct Interval {
    Time begin;
    Time end;     // never: of the last one, while it is not known
    Time period;  // of the questions in it; 0: there are none
  };
  void pass(Time at);

  static constexpr std::size_t kForgotten = 64;  // intervals at a time

  std::vector<Interval> closed_;
  std::size_t first_ = 0;  // those before it are past
};

inline void ProgressGate::pass(Time at) {
  while (first_ < closed_.size() && closed_[first_].end <= at) ++first_;
  if (first_ == closed_.size()) {
    closed_.clear();
    first_ = 0;
  }
}

inline void ProgressGate::close(Time begin, Time now) {
  if (!is_open()) return;
  pass(now);
  if (first_ > kForgotten) {
    closed_.erase(closed_.begin(), closed_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  closed_.push_back({begin, Time::never(), Time()});
}

inline void ProgressGate::open(Time at) {
  if (!is_open()) closed_.back().end = at;
}

inline void ProgressGate::close_between_questions(Time begin, std::uint64_t questions, Time period) {
  if (questions > 1)
    closed_.push_back({begin, begin + period * static_cast<std::int64_t>(questions - 1), period});
}

inline Time ProgressGate::served(Time at) {
  pass(at);
  if (first_ == closed_.size() || closed_[first_].begin >= at) return at;
  const Interval& interval = closed_[first_];
  if (interval.period == Time()) return interval.end;
  const std::int64_t period = interval.period.count();
  const std::int64_t since = (at - interval.begin).count();
  return interval.begin + interval.period * ((since + period - 1) / period);
}

}  // namespace offramp::world
