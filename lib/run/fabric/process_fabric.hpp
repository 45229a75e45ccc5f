// A fabric between processes: adds an orderly shutdown to Fabric.
#pragma once

#include <string>
#include <thread>

#include "lib/run/fabric/fabric.hpp"

namespace offramp {

/// Shutdown has two phases, because peers may still write to this rank's memory: close() sends all queued
/// messages, then the ranks synchronise, and the destructor frees the memory. After close() no waiter is
/// notified: sends that were not pulled stay incomplete, and handles may still be dropped.
class ProcessFabric : public Fabric {
 public:
  /// See above. Delivers arrivals to the sink meanwhile. Every rank calls it once.
  virtual void close(Sink& sink) = 0;
  /// The UCX version, such as "1.13.1"; empty for a fabric without UCX.
  [[nodiscard]] virtual std::string version() const { return {}; }

 protected:
  /// For close(): progresses until done() is true. Gives up after kPatience calls without an event, because
  /// the receiver may have stopped reading. That loses no data: all ranks have received everything by then,
  /// and queued messages only complete sends of unwanted payloads.
  void drain_until(Sink& sink, auto done) {
    constexpr int kPatience = 100'000;
    for (int idle = 0; idle < kPatience && !done();) {
      idle = progress(sink) > 0 ? 0 : idle + 1;
      if (idle % 64 == 63) std::this_thread::yield();  // the receiver may have no core of its own
    }
  }
};

}  // namespace offramp
