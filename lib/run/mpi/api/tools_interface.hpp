// Chapter 14, performance variables: Offramp's own stand behind those of the MPI library.
#pragma once

#include "lib/run/mpi/runtime/session.hpp"

namespace offramp {

/// The session ends, but tools may go on reading: the variables keep their last values, and the entries of
/// the tools interface stay Offramp's. Called when the other entries are the MPI library's again.
void close_tools_interface(Session& session);

}  // namespace offramp
