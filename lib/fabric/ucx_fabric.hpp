// The door of the UCX fabric. It is a module of its own, loaded at MPI_Init only when a backend is on: UCX
// installs signal handlers and patches memory functions as soon as it is loaded, and costs every child
// process start-up time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/fabric/fabric.hpp"

namespace offramp {

struct UcxOptions {
  int rank = 0;
  int ranks = 1;
  bool one_node = false;     // all ranks share this node's memory
  bool cross_memory = true;  // process_vm_readv works between the ranks (tested by the caller)
  /// Gathers every rank's bytes in rank order; collective.
  std::function<std::vector<std::string>(const std::string& own)> exchange;
};

/// Two phases, since destroying a worker that a peer still writes to is an error there: close() lets out what
/// is queued (then the ranks synchronise), the destructor destroys the worker. Nobody is notified of anything
/// after close(): sends that nobody pulled stay unfinished, and handles may still be dropped.
class UcxFabricBase : public Fabric {
 public:
  virtual void close(Sink& sink) = 0;
};

/// Exported by the module. On failure returns null and sets error. The caller owns the fabric.
using UcxFabricCreate = UcxFabricBase* (*)(const UcxOptions& options, std::string& error);
inline constexpr const char* kUcxFabricCreate = "offramp_ucx_fabric_create";

}  // namespace offramp
