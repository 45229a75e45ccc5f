// All ranks of the run, and how they exchange data and errors while Offramp's session starts and ends.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace offramp {

/// MPI_COMM_WORLD, or Offramp's own communicator of all ranks if the program only has MPI sessions.
MPI_Comm mpi_world();
/// Collective: creates Offramp's own communicator in a separate MPI session. level: thread support, as for
/// MPI_Init_thread. Returns false if it is impossible.
bool open_own_world(int level);
/// Collective; the last call. Frees that communicator, if any.
void close_own_world();

/// This rank and the number of ranks in mpi_world().
int world_rank();
int world_size();

/// Every rank's bytes, in rank order. Collective.
std::vector<std::string> exchange_strings(const std::string& own);

/// The largest of the ranks' values. Collective.
int largest_of_all(int own);

/// Collective. Each rank passes its error or an empty text. Ends the job on errors; the lowest rank prints
/// its.
void agree(const std::string& error);

}  // namespace offramp
