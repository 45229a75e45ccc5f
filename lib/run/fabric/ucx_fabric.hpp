// The entry point of the UCX fabric, a module that MPI_Init loads only if a backend is enabled: when loaded,
// UCX installs signal handlers, patches memory functions, and slows down the start of child processes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/run/fabric/process_fabric.hpp"

namespace offramp {

/// How ranks of one node use /dev/shm, from the most memory to the least.
enum class SharedMemory : std::uint8_t {
  kWide,    // 16 KiB buffers, if the kernel cannot copy between the processes
  kNarrow,  // a few small buffers
  kNone     // the network, even within a node
};

/// A rank's memory in /dev/shm in bytes, rounded up.
constexpr double shared_memory_per_rank(SharedMemory way) {
  constexpr double kMebibyte = 0x1p20;
  if (way == SharedMemory::kWide) return 19 * kMebibyte;
  return way == SharedMemory::kNarrow ? kMebibyte : 0;
}

/// The largest useful amount. copied: the kernel copies larger messages between the processes, so they need
/// no buffers, and small ones use rings.
constexpr SharedMemory most_shared_memory(bool copied) {
  return copied ? SharedMemory::kNarrow : SharedMemory::kWide;
}

/// Equal on all ranks, except for rank, node, and the limit of ring memory.
struct UcxOptions {
  int rank = 0;
  int ranks = 1;
  bool one_node = false;           // all ranks share this node's memory
  bool one_user_namespace = true;  // of the ranks on a node
  bool cross_memory = true;        // process_vm_readv works between the ranks (the caller has tested it)
  SharedMemory shared_memory = SharedMemory::kWide;
  std::vector<int> node;  // the ranks of this node, ascending
  /// Limit in bytes for the rings on this node. 0: no rings, all messages use UCX.
  double ring_memory = 0;
  /// Gathers all ranks' bytes in rank order. Collective: every rank calls it equally often, even on failure.
  std::function<std::vector<std::string>(const std::string& own)> exchange;
};

/// Exported by the module. On failure, returns null and sets `error` on all ranks. The caller owns it.
using UcxFabricCreate = ProcessFabric* (*)(const UcxOptions& options, std::string& error);
inline constexpr const char* kUcxFabricCreate = "offramp_ucx_fabric_create";

}  // namespace offramp
