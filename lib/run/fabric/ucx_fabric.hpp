// The entry point of the UCX fabric. It is a module of its own, loaded at MPI_Init only while a backend is
// on: UCX installs signal handlers and patches memory functions when it is loaded, and slows down the start
// of every child process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/run/fabric/process_fabric.hpp"

namespace offramp {

/// How ranks of one node use /dev/shm, in falling order of memory.
enum class SharedMemory : std::uint8_t {
  kWide,    // buffers for 16 KiB at once: if the kernel cannot copy between the processes
  kNarrow,  // a few small buffers
  kNone     // the network between processes, on one node too
};

/// A rank's memory in /dev/shm, in bytes, rounded up.
constexpr double shared_memory_per_rank(SharedMemory way) {
  constexpr double kMebibyte = 0x1p20;
  if (way == SharedMemory::kWide) return 19 * kMebibyte;
  return way == SharedMemory::kNarrow ? kMebibyte : 0;
}

/// The most memory that is useful. copied: the kernel copies larger messages between the processes, so they
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
  std::vector<int> node;  // the ranks of this node in rising order
  /// Limit for the memory of shared-memory rings on this node, in bytes; 0: no rings, all messages use UCX.
  double ring_memory = 0;
  /// Gathers every rank's bytes in rank order; collective. Every rank calls it equally often, even after
  /// failures.
  std::function<std::vector<std::string>(const std::string& own)> exchange;
};

/// Exported by the module. Returns null and sets error on failure, on every rank if on one. The caller owns
/// the fabric.
using UcxFabricCreate = ProcessFabric* (*)(const UcxOptions& options, std::string& error);
inline constexpr const char* kUcxFabricCreate = "offramp_ucx_fabric_create";

}  // namespace offramp
