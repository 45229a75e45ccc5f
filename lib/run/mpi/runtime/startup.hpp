// Builds a running session from a configuration.
#pragma once

#include <memory>
#include <string>

#include "lib/run/mpi/runtime/session.hpp"

namespace offramp {

/// OFFRAMP_BACKEND=off: Offramp replaces no MPI function.
bool is_off_by_environment();

/// Reads the configuration, checks that all ranks agree, and builds the session. Returns null if the backend
/// is "off". Collective over MPI_COMM_WORLD. Ends the job with one message if something is wrong.
std::unique_ptr<Session> make_session(bool threads);

/// Notifies offramp run, on the host of the command, that this rank is carried or recorded.
void announce_carried();

/// Prints a line on standard error, once per job if the launcher numbers the ranks.
void print_once(const std::string& text);

/// Makes the exported functions call the MPI library directly.
void resolve_dispatch_to_native();

}  // namespace offramp
