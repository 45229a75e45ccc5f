// What a run records of itself besides its counters, each only where the user asked for it.
#pragma once

#include <memory>
#include <vector>

#include "lib/report/capture.hpp"
#include "lib/report/receipts.hpp"
#include "lib/report/trace.hpp"
#include "lib/report/unit_times.hpp"

namespace offramp {

struct Observers {
  std::unique_ptr<TraceRecorder> trace;
  std::unique_ptr<ReceiptRecorder> receipts;  // passes spans on to the trace
  std::unique_ptr<CaptureRecorder> capture;

  std::vector<std::unique_ptr<UnitTimes>> units;  // of the lanes; empty: nobody asked for them

  /// Receives the operations; null when nothing records them.
  [[nodiscard]] OperationLog* log() const {
    return receipts != nullptr ? static_cast<OperationLog*>(receipts.get()) : trace.get();
  }
  /// Where the spans of a lane's hardware go. Null: nowhere. The lanes come in order, each once.
  SpanSink* spans(std::size_t lane, bool unit_times) {
    SpanSink* recorder = nullptr;
    if (lane == 0) recorder = receipts != nullptr ? static_cast<SpanSink*>(receipts.get()) : trace.get();
    if (!unit_times) return recorder;
    units.push_back(std::make_unique<UnitTimes>(recorder));
    return units.back().get();
  }
};

}  // namespace offramp
