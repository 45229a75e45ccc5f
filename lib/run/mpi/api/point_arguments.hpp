// The arguments of point-to-point calls at the entry points: which calls are Offramp's, and what a blocking
// one needs.
#pragma once

#include "lib/run/mpi/marshal/point.hpp"
#include "lib/run/mpi/runtime/request.hpp"

namespace offramp {

/// Fills `point` and returns true when the call is Offramp's. Everything else goes to the MPI library:
/// communicators that are not carried, MPI_PROC_NULL, and every mistake in the arguments, which the library
/// then reports in its own way.
inline bool send_point(Session& session, const void* buffer, std::int64_t count, MPI_Datatype type,
                       int destination, int tag, MPI_Comm comm, Point& point) {
  const Session::Lock guard(session);
  return set_destination(session.marshal(), destination, tag, comm, point) &&
         set_buffer(session.marshal(), buffer, count, type, point);
}
inline bool receive_point(Session& session, void* buffer, std::int64_t count, MPI_Datatype type, int source,
                          int tag, MPI_Comm comm, Point& point) {
  const Session::Lock guard(session);
  return set_source(session.marshal(), source, tag, comm, point) &&
         set_buffer(session.marshal(), buffer, count, type, point);
}
/// The same for a probe, which has no buffer.
inline bool probe_point(Session& session, int source, int tag, MPI_Comm comm, Point& point) {
  const Session::Lock guard(session);
  return set_source(session.marshal(), source, tag, comm, point);
}

/// The records of a blocking call, returned to the session at its end.
class Records {
 public:
  explicit Records(Session& session) : session_(session), records_(session.take_records()) {}
  ~Records() { session_.give_back(records_); }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  SendRecord& send() { return records_.send; }
  ReceiveRecord& receive() { return records_.receive; }

 private:
  Session& session_;
  BlockingRecords& records_;
};

/// Fills the fields of a status that MPI defines for one completed operation; MPI_ERROR stays as it is.
inline void fill_status(MPI_Status* status, int source, int tag, std::size_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  offramp_native_status_set(status, source, tag, bytes, 0);
}

}  // namespace offramp
