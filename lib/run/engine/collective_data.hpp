// The data of collectives in a run: moved by the library, for all backends.
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp {

/// Moves the data of a collective that carrier.supports() has accepted. Reductions combine in the carrier's
/// order: along its Fold or Ring, or by its own algorithm. The result is a failure only if a message fails.
/// operation, buffers: need not outlive the call; the memory of the buffers must be valid until the end.
Task<Outcome> move_data(DataCarrier& carrier, const Operation& operation, Team& team,
                        const CollectiveBuffers& buffers);

}  // namespace offramp
