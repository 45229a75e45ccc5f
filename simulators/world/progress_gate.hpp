// When a rank's processor is there for MPI: while its program is in a call that waits or asks. What moves on
// only then (Progress::kCalls) is served at the next such moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
    return next_.exists() && next_.begin < at;
  }
  [[nodiscard]] bool is_open() { return !next_.exists() || last().end < Time::never(); }

 private:
  struct Interval {
    Time begin = Time::ps(-1);
    Time end;     // never: of the last one, while it is not known
    Time period;  // of the questions in it; 0: there are none
    [[nodiscard]] bool exists() const { return begin >= Time(); }
  };
  /// Most programs are ahead of the world by one interval at most.
  struct Later {
    std::vector<Interval> intervals;
    std::size_t first = 0;  // those before it are past
    [[nodiscard]] bool empty() const { return first == intervals.size(); }
  };
  void pass(Time at) {
    while (next_.exists() && next_.end <= at) next_ = take();
  }
  [[nodiscard]] Interval& last() {
    return later_ == nullptr || later_->empty() ? next_ : later_->intervals.back();
  }
  Interval take();
  void add(const Interval& interval);

  static constexpr std::size_t kForgotten = 64;  // intervals at a time

  Interval next_;
  std::unique_ptr<Later> later_;  // behind it
};

inline ProgressGate::Interval ProgressGate::take() {
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
