// The door of the UCX fabric. It is a module of its own, loaded at MPI_Init only when a backend is on: UCX
// installs signal handlers and patches memory functions as soon as it is loaded, and costs every child
// process start-up time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/run/fabric/process_fabric.hpp"

namespace offramp {

/// How ranks of one node use /dev/shm. Each takes less of it than the one before.
enum class SharedMemory : std::uint8_t {
  kWide,    // buffers through which 16 KiB go at once: where the kernel cannot copy between the processes
  kNarrow,  // a few small buffers
  kNone     // the network between processes, on one node too
};

/// What a rank takes of /dev/shm, in bytes, rounded up.
constexpr double shared_memory_per_rank(SharedMemory way) {
  constexpr double kMebibyte = 0x1p20;
  if (way == SharedMemory::kWide) return 19 * kMebibyte;
  return way == SharedMemory::kNarrow ? kMebibyte : 0;
}

/// As much as there is use for. copied: the kernel copies larger messages from process to process, so they
/// need no buffers, and small ones have their rings.
constexpr SharedMemory most_shared_memory(bool copied) {
  return copied ? SharedMemory::kNarrow : SharedMemory::kWide;
}

struct UcxOptions {
  int rank = 0;
  int ranks = 1;
  bool one_node = false;           // all ranks share this node's memory
  bool one_user_namespace = true;  // of the ranks of a node
  bool cross_memory = true;        // process_vm_readv works between the ranks (tested by the caller)
  SharedMemory shared_memory = SharedMemory::kWide;
  std::vector<int> node;  // the ranks of this one's node, rising
  /// What the rings of shared memory between them may take on this node, in bytes; 0: there are none, and all
  /// messages take UCX.
  double ring_memory = 0;
  /// Gathers every rank's bytes in rank order; collective. Called equally often on all ranks, whatever fails.
  std::function<std::vector<std::string>(const std::string& own)> exchange;
};

/// Exported by the module. On failure returns null and sets error, on every rank if on one. The caller owns
/// the fabric.
using UcxFabricCreate = ProcessFabric* (*)(const UcxOptions& options, std::string& error);
inline constexpr const char* kUcxFabricCreate = "offramp_ucx_fabric_create";

}  // namespace offramp
