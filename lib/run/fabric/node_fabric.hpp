// The fabric of a run on one node whose ranks can read each other's memory. Small messages pass rings in
// shared memory; the kernel copies larger payloads once (process_vm_readv). It needs no UCX, which would take
// most of the start-up time to load.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "lib/run/fabric/node_rings.hpp"
#include "lib/run/fabric/process_fabric.hpp"

namespace offramp {

/// With more ranks, most rings, whose memory is reserved at the start, would stay unused.
inline constexpr std::size_t kMostRanksOfNodeFabric = 16;

/// Collective over all ranks of the run; the arguments are those of NodeRings::open(). Returns null on all
/// ranks if the node has too little memory for all rings.
std::unique_ptr<ProcessFabric> open_node_fabric(int rank, int ranks, double bytes,
                                                const NodeRings::Exchange& exchange);

}  // namespace offramp
