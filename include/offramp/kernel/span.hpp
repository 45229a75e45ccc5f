// Spans: the activity of a hardware unit, from when to when, for which operation.
//
// They are the source of the trace, the per-call receipt, and the share per hardware unit in the report.
// Without a sink (the normal case) a model pays one test of a pointer.
#pragma once

#include <cstdint>
#include <string_view>

#include "offramp/kernel/time.hpp"

namespace offramp {

/// unit and what are literals.
struct Span {
  std::string_view unit;
  std::string_view what;
  Time begin;
  Time end;
  std::uint64_t operation = 0;
  int rank = 0;  // world rank that owns the hardware; optional in a backend that serves one rank
};

/// Receives spans in the order in which the model produces them, which is not the order of time.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  /// Called by the model's thread. Must not throw.
  virtual void record(const Span& span) = 0;
};

/// Forwards spans as those of one rank.
class RankSpans final : public SpanSink {
 public:
  /// The next sink must outlive this object.
  RankSpans(SpanSink& next, int rank) : next_(next), rank_(rank) {}
  void record(const Span& span) override {
    Span own = span;
    own.rank = rank_;
    next_.record(own);
  }

 private:
  SpanSink& next_;
  int rank_;
};

}  // namespace offramp
