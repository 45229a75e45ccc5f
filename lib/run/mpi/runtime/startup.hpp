// From a configuration to a running session.
#pragma once

#include <memory>
#include <string>

#include "lib/run/mpi/runtime/session.hpp"

namespace offramp {

/// OFFRAMP_BACKEND=off: nothing of MPI is taken over at all.
bool is_off_by_environment();

/// Reads the configuration, checks that all ranks agree, and builds the session. Null when the backend is
/// "off". Collective over MPI_COMM_WORLD. Ends the job with one clear message when something is wrong.
std::unique_ptr<Session> make_session(bool threads);

/// Prints a line on standard error, once per job where the launcher tells the ranks apart.
void say_once(const std::string& text);

/// The exported functions become the MPI library's own.
void resolve_dispatch_to_native();

}  // namespace offramp
