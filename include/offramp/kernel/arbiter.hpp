// Arbiter: the timeline of one hardware unit that serves one request at a time.
//
// Callers charge it in a reproducible order: modelled time, the program's issue order, or a fixed order of
// sources. Its time stamps are therefore reproducible, too. A plain value; used by its owner's thread.
#pragma once

#include "offramp/kernel/time.hpp"

namespace offramp {

/// The unit is free at time 0. Copies are independent: a copy can run ahead and be joined later (join()).
class Arbiter {
 public:
  /// The service of one request: the unit is occupied from `begin` until `end`.
  struct Grant {
    Time begin;
    Time end;
  };

  /// Occupies the unit for `duration` (not negative), from `at` or as soon as it is free.
  Grant acquire(Time at, Time duration) {
    const Time begin = later(at, free_);
    // The unit was idle: a new busy period begins.
    if (at > free_) since_ = served_ = at;
    served_ += duration;
    free_ = begin + duration;
    busy_ += duration;
    return {begin, free_};
  }

  /// A request that is made now begins no earlier than this.
  [[nodiscard]] Time free_at() const { return free_; }
  /// Total time for which the unit has been occupied.
  [[nodiscard]] Time busy() const { return busy_; }
  /// Merges the free time of an independent user of the unit.
  void merge(Time free) { free_ = later(free_, free); }

  /// Merges an operation that charged a copy of the unit while others may have charged the unit itself.
  /// `used` is that copy now, `taken` the copy when the operation began. The unit serves both one after the
  /// other, so it is free no earlier than after the sum of their times. Returns how much later the operation
  /// ends than on its copy; 0 if it had the unit to itself.
  Time join(const Arbiter& used, const Arbiter& taken, Time begun) {
    const Time own = used.busy_ - taken.busy_;
    if (own == Time()) {
      merge(used.free_);
      return {};
    }
    busy_ += own;
    const Time first = later(begun, taken.free_);
    Time end = used.free_;
    // The unit was idle when the operation came: its requests are a busy period of their own.
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
  // The current busy period: its beginning, after the unit was last idle, and its earliest end, which is the
  // beginning plus the durations of all its requests.
  Time since_;
  Time served_;
};

}  // namespace offramp
