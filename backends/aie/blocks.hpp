// Collectives that move blocks along the tree's edges, to its top or from there.
#pragma once

#include "backends/aie/collectives.hpp"

namespace offramp::aie {

Task<Outcome> gather(const Model& model, const Need& need, Team& team, CollectiveBuffers buffers, int root);
/// in_tile: the top's kernel has the data in its own memory.
Task<Outcome> scatter(const Model& model, const Need& need, Team& team, CollectiveBuffers buffers, int root,
                      bool in_tile);
/// All blocks go to the top, change places in the memory there, and come back.
Task<Outcome> alltoall(const Model& model, const Need& need, Team& team, CollectiveBuffers buffers);

}  // namespace offramp::aie
