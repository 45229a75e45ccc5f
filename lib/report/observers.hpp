// What a run records of itself besides its counters, each only where the user asked for it.
#pragma once

#include <memory>

#include "lib/report/capture.hpp"
#include "lib/report/receipts.hpp"
#include "lib/report/trace.hpp"

namespace offramp {

struct Observers {
  std::unique_ptr<TraceRecorder> trace;
  std::unique_ptr<ReceiptRecorder> receipts;  // passes spans on to the trace
  std::unique_ptr<CaptureRecorder> capture;

  /// Where the models' spans go. Null: nowhere.
  [[nodiscard]] SpanSink* spans() const {
    return receipts != nullptr ? static_cast<SpanSink*>(receipts.get()) : trace.get();
  }
};

}  // namespace offramp
