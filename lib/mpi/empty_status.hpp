// The status of a request that is null or not active, whole. The standard's empty status has MPI_SUCCESS as
// its error; Open MPI 4.1 leaves that field as it was, so that a program which looks at it sees what the
// calls before, natively or through Offramp, have left on the stack.
#pragma once

#include "lib/mpi/dispatch.hpp"

namespace offramp {

/// Puts functions before those of the library that tell of a single request.
void fill_empty_statuses(MpiTable& table);

}  // namespace offramp
