// A fabric between processes, as a run has it: what its end needs beyond Fabric.
#pragma once

#include <string>
#include <thread>

#include "lib/run/fabric/fabric.hpp"

namespace offramp {

/// Two phases, since what a peer still writes to must not be gone: close() lets out what is queued (then the
/// ranks synchronise), the destructor frees it. Nobody is notified of anything after close(): sends that
/// nobody pulled stay unfinished, and handles may still be dropped.
class ProcessFabric : public Fabric {
 public:
  virtual void close(Sink& sink) = 0;
  /// Of the UCX library: "1.13.1"; empty: it is not used.
  [[nodiscard]] virtual std::string version() const { return {}; }

 protected:
  /// For close(): what is queued goes out, until done() holds, unless its receiver has stopped to take
  /// messages. All have received what they ever will by now: what is queued tells a sender that its message
  /// is not wanted, and so has time to lose but no data.
  template <typename Done>
  void let_out(Sink& sink, Done done) {
    constexpr int kPatience = 100'000;
    for (int idle = 0; idle < kPatience && !done();) {
      idle = progress(sink) > 0 ? 0 : idle + 1;
      if (idle % 64 == 63) std::this_thread::yield();  // the receiver may have no core of its own
    }
  }
};

}  // namespace offramp
