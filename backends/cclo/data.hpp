// The data of the eager reductions that cut their memory into chunks: each chunk goes once around the ring of
// ranks and is summed up on its way, as in simulators/cclo/firmware_eager.cpp.
#pragma once

#include "offramp/model/backend.hpp"
#include "simulators/cclo/spec.hpp"
#include "simulators/world/dataflow.hpp"

namespace offramp::cclo {

/// The root adds up all contributions. The hardware takes them in the order of their arrival; without
/// modelled time that is the one in which they come if all begin at once: the rank before the root first.
[[nodiscard]] Fold flat_fold(const Team& team, int root);

Task<Outcome> reduce_scatter_on_ring(Team& team, const CollectiveBuffers& buffers);
Task<Outcome> allreduce_on_ring(const Spec& spec, Team& team, const CollectiveBuffers& buffers,
                                std::uint64_t element_bytes);

}  // namespace offramp::cclo
