// How long each unit of a lane's hardware was busy, computed from its spans.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "offramp/kernel/span.hpp"

namespace offramp {

/// The length of the union of intervals, in any order. Bounds its memory: beyond thousands of disjoint
/// intervals, it reduces the earlier half to a sum, and ignores time before the end of that half.
class BusyTime {
 public:
  /// Intervals usually come in order, so most extend the last one.
  void add(Time begin, Time end) {
    begin = later(begin, counted_to_);
    if (end <= begin) return;
    if (!intervals_.empty() && begin >= intervals_.back().begin && begin <= intervals_.back().end) {
      intervals_.back().end = later(intervals_.back().end, end);
      return;
    }
    intervals_.push_back({begin, end});
    if (intervals_.size() >= kMost) tidy();
  }
  /// Merges a copy, so it may be called at any time.
  [[nodiscard]] Time total() const {
    BusyTime all = *this;
    all.merge();
    for (const Interval& interval : all.intervals_) all.counted_ += interval.end - interval.begin;
    return all.counted_;
  }

 private:
  struct Interval {
    Time begin;
    Time end;
  };
  /// Intervals in memory.
  static constexpr std::size_t kMost = 4096;

  /// Sorts the intervals and joins those that overlap.
  void merge() {
    std::sort(intervals_.begin(), intervals_.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    std::size_t last = 0;
    for (std::size_t i = 1; i < intervals_.size(); ++i) {
      if (intervals_[i].begin <= intervals_[last].end) {
        intervals_[last].end = later(intervals_[last].end, intervals_[i].end);
      } else {
        intervals_[++last] = intervals_[i];
      }
    }
    if (!intervals_.empty()) intervals_.resize(last + 1);
  }
  /// Reduces the earlier half to a sum if there are many disjoint intervals.
  void tidy() {
    merge();
    if (intervals_.size() < kMost / 2) return;
    const auto half = intervals_.begin() + static_cast<std::ptrdiff_t>(intervals_.size() / 2);
    for (auto interval = intervals_.begin(); interval != half; ++interval)
      counted_ += interval->end - interval->begin;
    counted_to_ = (half - 1)->end;
    intervals_.erase(intervals_.begin(), half);
  }

  std::vector<Interval> intervals_;
  Time counted_;     // of the intervals that were reduced
  Time counted_to_;  // the end of the last of these
};

/// Adds up spans by unit, and passes them on. Not thread safe.
class UnitTimes final : public SpanSink {
 public:
  /// A unit by its name. Names are literals, which outlive everything.
  struct Unit {
    std::string_view name;
    std::uint64_t spans = 0;
    Time busy;        // the sum of all spans: overlapping work counts several times
    BusyTime in_use;  // the union of all spans
  };

  /// next: receives every span, too; may be null.
  explicit UnitTimes(SpanSink* next = nullptr) : next_(next) {}

  void record(const Span& span) override {
    Unit& unit = find(span.unit);
    ++unit.spans;
    unit.busy += later(span.end - span.begin, {});
    unit.in_use.add(span.begin, span.end);
    if (next_ != nullptr) next_->record(span);
  }
  /// In the order of their first spans.
  [[nodiscard]] const std::vector<Unit>& units() const { return units_; }

 private:
  /// Unit names are literals, so comparing addresses finds most of them.
  Unit& find(std::string_view name) {
    for (Unit& unit : units_) {
      if (unit.name.data() == name.data() && unit.name.size() == name.size()) return unit;
    }
    for (Unit& unit : units_) {
      if (unit.name == name) return unit;
    }
    units_.push_back({name, 0, {}, {}});
    return units_.back();
  }

  SpanSink* next_;
  std::vector<Unit> units_;
};

}  // namespace offramp
