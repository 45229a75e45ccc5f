// The fabric of a run whose ranks are all on one node, if they can read each other's memory: messages go
// through the rings of shared memory, and payloads that are too large for them are copied once, by the kernel
// (process_vm_readv). It needs no library, whose loading would cost more than anything else at the start.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "lib/run/fabric/node_rings.hpp"
#include "lib/run/fabric/process_fabric.hpp"

namespace offramp {

/// More ranks than these leave too much of the rings' memory, which is taken at once, to pairs that never
/// talk.
inline constexpr std::size_t kMostRanksOfNodeFabric = 16;

/// Collective over all ranks of the run, which are as many as in NodeRings::open(), with its arguments. Null
/// on all ranks: the node has not got the memory for all of the rings.
std::unique_ptr<ProcessFabric> open_node_fabric(int rank, int ranks, double bytes,
                                                const NodeRings::Exchange& exchange);

}  // namespace offramp
