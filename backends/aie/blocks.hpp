// Collectives that move blocks along the tree's edges, to its top or from it.
#pragma once

#include "backends/aie/collectives.hpp"

namespace offramp::aie {

/// block: bytes of one rank's block.
Task<Outcome> gather(const Model& model, const ArrayRequirements& required, Team& team, std::size_t block,
                     int root);
/// in_tile: the data is already in the memory of the top's kernel.
Task<Outcome> scatter(const Model& model, const ArrayRequirements& required, Team& team, std::size_t block,
                      int root, bool in_tile);
/// Sends all blocks to the top, which transposes them and sends them back.
Task<Outcome> alltoall(const Model& model, const ArrayRequirements& required, Team& team, std::size_t block);

}  // namespace offramp::aie
