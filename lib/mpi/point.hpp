// Arguments of point-to-point calls: what Offramp carries, and what it leaves to the MPI library.
#pragma once

#include "lib/mpi/request.hpp"

namespace offramp {

/// Fills `point` and returns true when the call is Offramp's. Everything else goes to the MPI library:
/// communicators that are not carried, MPI_PROC_NULL, and every mistake in the arguments, which the library
/// then reports in its own way.
bool send_point(Session& session, const void* buffer, int count, MPI_Datatype type, int destination, int tag,
                MPI_Comm comm, Point& point);
bool receive_point(Session& session, void* buffer, int count, MPI_Datatype type, int source, int tag,
                   MPI_Comm comm, Point& point);
/// The same for a probe, which has no buffer.
bool probe_point(Session& session, int source, int tag, MPI_Comm comm, Point& point);

/// Fills the fields of a status that MPI defines for one completed operation; MPI_ERROR stays as it is.
void fill_status(MPI_Status* status, int source, int tag, std::size_t bytes);

}  // namespace offramp
