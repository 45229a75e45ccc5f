// The timeline of a unit whose requests are not made in order of arrival. Each request uses the idle time
// that earlier ones have left after its arrival. A unit that works on packets or words can alternate between
// users, so the idle time may be fragmented; no idle time is lost while work is available.
#pragma once

#include <cstddef>
#include <vector>

#include "offramp/kernel/arbiter.hpp"

namespace offramp::cclo {

/// Serves requests that come late: each may use idle time before work that was accepted earlier. One thread.
class Calendar {
 public:
  /// Occupies `duration` of the unit's idle time from `at` on.
  /// The work may be split among several gaps. Returns its first and last moment, gaps included.
  Arbiter::Grant acquire(Time at, Time duration) {
    if (busy_.size() >= kMost) forget();
    if (busy_.empty() || busy_.back().end < at)  // the common case
      return busy_.emplace_back(Arbiter::Grant{at, at + duration});
    std::size_t next = busy_.size();
    while (next > 0 && busy_[next - 1].end >= at) --next;
    Time from = at;
    if (next < busy_.size() && busy_[next].begin <= at) from = busy_[next].end;
    const Time begin = from;
    std::size_t last = next;  // behind the last occupation that the work merges with
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

  /// Forgets the older half of the gaps; late requests find them occupied.
  void forget() {
    busy_[kMost / 2].begin = busy_.front().begin;
    busy_.erase(busy_.begin(), busy_.begin() + kMost / 2);
  }

  std::vector<Arbiter::Grant> busy_;  // in order and disjoint
};

}  // namespace offramp::cclo
