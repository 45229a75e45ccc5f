// Arbiter: the timeline of one hardware unit that serves one thing at a time.
//
// Callers charge it in an order that does not depend on when things happen to run (the program's issue order,
// or a fixed order of sources), so its time stamps are reproducible. A plain value; thread rule: its owner's.
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
    free_ = begin + duration;
    return {begin, free_};
  }

  [[nodiscard]] Time free_at() const { return free_; }
  /// Joins with what an independent user of the unit left behind.
  void merge(Time free) { free_ = later(free_, free); }

 private:
  Time free_;
};

}  // namespace offramp
