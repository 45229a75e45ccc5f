// A fabric between processes: adds an orderly end to Fabric.
#pragma once

#include <string>
#include <thread>

#include "lib/run/fabric/fabric.hpp"

namespace offramp {

/// The end has two phases, because peers may still write into the memory of this rank: close() sends all
/// queued messages, then the ranks synchronise, and the destructor frees the memory. close() ends all
/// notifications: unpulled sends stay unfinished, and handles may still be dropped.
class ProcessFabric : public Fabric {
 public:
  virtual void close(Sink& sink) = 0;
  /// The version of the UCX library, such as "1.13.1"; empty if the fabric does not use it.
  [[nodiscard]] virtual std::string version() const { return {}; }

 protected:
  /// Progresses until done() is true, for close(). Gives up after kPatience turns without an event, because
  /// the receiver may have stopped reading. That loses no data: all ranks have received everything by now,
  /// and queued messages only notify senders of unwanted payloads.
  template <typename Done>
  void drain_until(Sink& sink, Done done) {
    constexpr int kPatience = 100'000;
    for (int idle = 0; idle < kPatience && !done();) {
      idle = progress(sink) > 0 ? 0 : idle + 1;
      if (idle % 64 == 63) std::this_thread::yield();  // the receiver may have no core of its own
    }
  }
};

}  // namespace offramp
