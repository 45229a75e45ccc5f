// Calls that the MPI library carries while a backend is on, and that take part in modelled time.
#pragma once

#include "lib/run/mpi/runtime/meetings.hpp"
#include "lib/run/mpi/runtime/session.hpp"

namespace offramp {

/// The MPI library carries this call.
template <typename Body>
int pass_through(Call& call, Function function, Body body) {
  ++call.session.counter(function).native;
  return call.unlocked(body);
}

/// Ends a call in which the library made a communicator that is not carried. Returns the code.
inline int made_by_library(int code, const MPI_Comm* made) {
  if (code != MPI_SUCCESS || Session::current == nullptr) return code;
  const Session::Lock guard(*Session::current);
  Session::current->marshal().communicators.forget_freed(*made);
  return code;
}

/// The library carries a call that none of the handle's members leaves before all have entered.
template <typename Handle, typename Body>
int pass_and_meet(Function function, Handle handle, Body body) {
  Call call(function);
  MeetingAround meeting(call, meeting_place(call.session, handle));
  const int code = pass_through(call, function, body);
  meeting.end(took_part(code));
  return code;
}

/// For one that waits for the neighbours in the topology.
template <typename Body>
int pass_and_meet_neighbours(Function function, MPI_Comm comm, Body body) {
  Call call(function);
  MeetingAround meeting = MeetingAround::neighbours(call, comm);
  const int code = pass_through(call, function, body);
  meeting.end(took_part(code));
  return code;
}

/// The same for the nonblocking form: the clocks meet when its completion is observed.
template <typename Body>
int start_and_meet_neighbours(Function function, MPI_Comm comm, MPI_Request* request, Body body) {
  Call call(function);
  return start_beside_neighbours(call, comm, *request, [&] { return pass_through(call, function, body); });
}

}  // namespace offramp
