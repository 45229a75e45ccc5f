// The fabric of a run whose ranks are all on one node and can read each other's memory. Messages pass rings
// in shared memory; the kernel copies larger payloads once (process_vm_readv). It needs no library, whose
// loading would be the longest part of the start.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "lib/run/fabric/node_rings.hpp"
#include "lib/run/fabric/process_fabric.hpp"

namespace offramp {

/// With more ranks, too much of the rings' memory, which is reserved at once, would belong to pairs that
/// never communicate.
inline constexpr std::size_t kMostRanksOfNodeFabric = 16;

/// Collective over all ranks of the run; arguments as for NodeRings::open(). Returns null on all ranks if the
/// node lacks memory for all rings.
std::unique_ptr<ProcessFabric> open_node_fabric(int rank, int ranks, double bytes,
                                                const NodeRings::Exchange& exchange);

}  // namespace offramp
