// The timeline of a unit whose users are not asked in the order in which they come: each of them gets what
// idle time the others have left from its arrival on. A unit that works on packets or words may serve two
// users alternately, so the idle time need not be in one piece; none is lost while there is work.
#pragma once

#include <cstddef>
#include <vector>

#include "offramp/kernel/arbiter.hpp"

namespace offramp::cclo {

class Calendar {
 public:
  /// Occupies the unit for `duration` of its idle time from `at` on.
  Arbiter::Grant acquire(Time at, Time duration) {
    if (busy_.size() >= kMost) forget();
    if (busy_.empty() || busy_.back().end < at)  // mostly
      return busy_.emplace_back(Arbiter::Grant{at, at + duration});
    std::size_t next = busy_.size();
    while (next > 0 && busy_[next - 1].end >= at) --next;
    Time from = at;
    if (next < busy_.size() && busy_[next].begin <= at) from = busy_[next].end;
    const Time begin = from;
    std::size_t last = next;  // behind what the work joins
    while (last < busy_.size() && (busy_[last].begin <= from || busy_[last].begin - from <= duration)) {
      if (busy_[last].begin > from) duration -= busy_[last].begin - from;
      from = later(from, busy_[last++].end);
    }
    const Time end = from + duration;
    const Time first = next < last ? earlier(busy_[next].begin, begin) : begin;
    busy_.erase(busy_.begin() + static_cast<std::ptrdiff_t>(next),
                busy_.begin() + static_cast<std::ptrdiff_t>(last));
    busy_.insert(busy_.begin() + static_cast<std::ptrdiff_t>(next), {first, end});
    return {begin, end};
  }

 private:
  static constexpr std::size_t kMost = 128;

  /// The older half of the gaps: work that comes for them later finds them taken.
  void forget() {
    busy_[kMost / 2].begin = busy_.front().begin;
    busy_.erase(busy_.begin(), busy_.begin() + kMost / 2);
  }

  std::vector<Arbiter::Grant> busy_;  // in order, and apart from each other
};

}  // namespace offramp::cclo
