// A fabric between processes, as a run has it: what its end needs beyond Fabric.
#pragma once

#include <string>

#include "lib/fabric/fabric.hpp"

namespace offramp {

/// Two phases, since what a peer still writes to must not be gone: close() lets out what is queued (then the
/// ranks synchronise), the destructor frees it. Nobody is notified of anything after close(): sends that
/// nobody pulled stay unfinished, and handles may still be dropped.
class ProcessFabric : public Fabric {
 public:
  virtual void close(Sink& sink) = 0;
  /// Of the UCX library: "1.13.1"; empty: it is not used.
  [[nodiscard]] virtual std::string version() const { return {}; }
};

}  // namespace offramp
