// Data movement of the eager reductions that cut their memory into chunks. Each chunk travels once around the
// ring of ranks and is summed on the way, as in simulators/cclo/firmware_eager.cpp.
#pragma once

#include "offramp/model/backend.hpp"
#include "simulators/cclo/spec.hpp"
#include "simulators/world/dataflow.hpp"

namespace offramp::cclo {

/// The root combines all contributions. The hardware does so in the order of arrival. Without modelled time,
/// the order is that of a simultaneous start: the rank before the root first.
[[nodiscard]] Fold flat_fold(const Team& team, int root);

Task<Outcome> reduce_scatter_on_ring(Team& team, const CollectiveBuffers& buffers);
Task<Outcome> allreduce_on_ring(const Spec& spec, Team& team, const CollectiveBuffers& buffers,
                                std::uint64_t element_bytes);

}  // namespace offramp::cclo
