// MPI chapter 14, performance variables: Offramp's follow those of the MPI library.
#pragma once

#include "lib/run/mpi/runtime/session.hpp"

namespace offramp {

/// Call it when the session ends and the other entries are the MPI library's again. Tools may continue
/// reading: the variables keep their last values, and the entries of the tools interface stay Offramp's.
void close_tools_interface(Session& session);

}  // namespace offramp
