// Calls that the MPI library carries while a backend is active, and that affect modelled time.
#pragma once

#include "lib/run/mpi/runtime/session.hpp"
#include "lib/run/mpi/runtime/sync_groups.hpp"

namespace offramp {

/// Passes a call to the MPI library.
template <typename Body>
int pass_through(InterposedCall& call, Function function, Body body) {
  ++call.session.counter(function).native;
  return call.unlocked(body);
}

/// Ends a call in which the library made a communicator that Offramp does not carry. Returns the code.
inline int made_by_library(int code, const MPI_Comm* made) {
  if (code != MPI_SUCCESS || Session::current == nullptr) return code;
  const Session::Lock guard(*Session::current);
  Session::current->marshal().communicators.forget_freed(*made);
  return code;
}

/// Passes on a call that no member of the handle's group leaves before all have entered.
template <typename Handle, typename Body>
int pass_and_sync(Function function, Handle handle, Body body) {
  InterposedCall call(function);
  ScopedSync sync(call, sync_group_of(call.session, handle));
  const int code = pass_through(call, function, body);
  sync.end(participated(code));
  return code;
}

/// Passes on a call that waits for the neighbours in the topology.
template <typename Body>
int pass_and_sync_neighbours(Function function, MPI_Comm comm, Body body) {
  InterposedCall call(function);
  ScopedSync sync = ScopedSync::neighbours(call, comm);
  const int code = pass_through(call, function, body);
  sync.end(participated(code));
  return code;
}

/// Nonblocking form: the clocks synchronize when its completion is observed.
template <typename Body>
int start_and_sync_neighbours(Function function, MPI_Comm comm, MPI_Request* request, Body body) {
  InterposedCall call(function);
  return start_beside_neighbours(call, comm, *request, [&] { return pass_through(call, function, body); });
}

}  // namespace offramp
