// All ranks of the run, and what they have to know or to agree on while Offramp's session is built and ended.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace offramp {

/// MPI_COMM_WORLD; or one of Offramp's own with the same ranks, where the program has only sessions of MPI.
MPI_Comm mpi_world();
/// Collective: makes that one, in a session of MPI that the program knows nothing of. The session asks for a
/// level of thread support as MPI_Init_thread does. False: there is no way to.
bool open_own_world(int level);
/// Collective, last of all; without one nothing happens.
void close_own_world();

int world_rank();
int world_size();

/// Every rank's bytes, in rank order. Collective.
std::vector<std::string> exchange_strings(const std::string& own);

/// The largest of the ranks' values. Collective.
int largest_of_all(int own);

/// Every rank calls it, with its own error or none; ends the job when any has one. Rank order decides who
/// speaks.
void agree(const std::string& error);

}  // namespace offramp
