// Spans: what a hardware unit did, from when to when, for which operation.
//
// The one source of the trace, the per-call receipt and the share per hardware unit in the report. A model
// that has no sink (the normal case) pays one test of a pointer.
#pragma once

#include <cstdint>
#include <string_view>

#include "offramp/kernel/time.hpp"

namespace offramp {

/// unit and what refer to text that lives as long as the process (literals).
struct Span {
  std::string_view unit;
  std::string_view what;
  Time begin;
  Time end;
  std::uint64_t operation = 0;
  int rank = 0;  // world rank whose hardware it is; a backend that serves one rank may leave it out
};

/// Receives spans in the order in which the model produces them, which is not the order of time.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void record(const Span& span) = 0;
};

/// Hands on spans as those of one rank.
class RankSpans final : public SpanSink {
 public:
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
