// How long each unit of a lane's hardware was busy, from its spans.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "offramp/kernel/span.hpp"

namespace offramp {

/// Adds up spans by unit, and hands them on. Not thread safe.
class UnitTimes final : public SpanSink {
 public:
  struct Unit {
    std::string_view name;
    std::uint64_t spans = 0;
    Time busy;
  };

  /// next: who else wants the spans; may be null.
  explicit UnitTimes(SpanSink* next = nullptr) : next_(next) {}

  void record(const Span& span) override {
    Unit& unit = find(span.unit);
    ++unit.spans;
    unit.busy += later(span.end - span.begin, {});
    if (next_ != nullptr) next_->record(span);
  }
  [[nodiscard]] const std::vector<Unit>& units() const { return units_; }

 private:
  /// Hardware has few units, and their names are literals: mostly the same address again.
  Unit& find(std::string_view name) {
    for (Unit& unit : units_) {
      if (unit.name.data() == name.data() && unit.name.size() == name.size()) return unit;
    }
    for (Unit& unit : units_) {
      if (unit.name == name) return unit;
    }
    units_.push_back({name, 0, {}});
    return units_.back();
  }

  SpanSink* next_;
  std::vector<Unit> units_;
};

}  // namespace offramp
