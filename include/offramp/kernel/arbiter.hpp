// Arbiter: the timeline of one hardware unit that serves one thing at a time.
//
// Callers charge it in an order that does not depend on when things happen to run (that of modelled time, the
// program's issue order, or a fixed order of sources), so its time stamps are reproducible. A plain value;
// thread rule: its owner's.
#pragma once

#include "offramp/kernel/time.hpp"

namespace offramp {

class Arbiter {
 public:
  struct Grant {
    Time begin;
    Time end;
  };

  /// Occupies the unit for `duration` (not negative), from `at` or from when it is free.
  Grant acquire(Time at, Time duration) {
    const Time begin = later(at, free_);
    if (at > free_) since_ = served_ = at;
    served_ += duration;
    free_ = begin + duration;
    busy_ += duration;
    return {begin, free_};
  }

  [[nodiscard]] Time free_at() const { return free_; }
  /// How long the unit has been occupied in all.
  [[nodiscard]] Time busy() const { return busy_; }
  /// Joins with what an independent user of the unit left behind.
  void merge(Time free) { free_ = later(free_, free); }

  /// Joins with what an operation left behind that worked on a copy (`used`; `taken`: the same copy as it was
  /// when the operation began) while others may have charged the unit itself. The unit cannot have served
  /// both at once: it is free no earlier than after the time for all of them. Returns by how much the
  /// operation ends later than it found by itself; 0 when it had the unit to itself.
  Time join(const Arbiter& used, const Arbiter& taken, Time begun) {
    const Time own = used.busy_ - taken.busy_;
    if (own == Time()) {
      merge(used.free_);
      return {};
    }
    busy_ += own;
    const Time first = later(begun, taken.free_);
    Time end = used.free_;
    if (first > free_) {
      since_ = first;
      served_ = first + own;
    } else if (used.free_ > since_) {
      if (first < since_) {
        served_ -= since_ - first;
        since_ = first;
      }
      served_ += own;
      end = later(end, served_);
    }
    free_ = later(free_, end);
    return end - used.free_;
  }

 private:
  Time free_;
  Time busy_;
  // The present run of work, which began when the unit was idle last, and when it can be over at the
  // earliest: its beginning and the durations of all that belongs to it.
  Time since_;
  Time served_;
};

}  // namespace offramp
