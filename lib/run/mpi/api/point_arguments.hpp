// Arguments of point-to-point calls at the entry points: which calls are carried, and what blocking ones
// need.
#pragma once

#include "lib/run/mpi/marshal/point.hpp"
#include "lib/run/mpi/runtime/request.hpp"

namespace offramp {

/// Fills `point` and returns true if Offramp carries the call. The MPI library gets all other calls:
/// communicators that are not carried, MPI_PROC_NULL, and wrong arguments, which it reports in its own way.
inline bool send_point(Session& session, const void* buffer, std::int64_t count, MPI_Datatype type,
                       int destination, int tag, MPI_Comm comm, Point& point) {
  /// The tables of communicators and types change in other threads.
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
/// For a probe, which has no buffer.
inline bool probe_point(Session& session, int source, int tag, MPI_Comm comm, Point& point) {
  const Session::Lock guard(session);
  return set_source(session.marshal(), source, tag, comm, point);
}

/// Passes on a call that Offramp does not carry. With processes outside of MPI_COMM_WORLD it communicates.
[[gnu::always_inline]] inline int leave_uncarried(Function function, std::int64_t count, MPI_Datatype type,
                                                  MPI_Comm comm, auto library) {
  if (!is_outside(*Session::current, comm)) return library();
  const NativeCall call(function);
  const int code = library();
  if (code == MPI_SUCCESS) note_outside(*Session::current, function, count, type);
  return code;
}

/// The records of a blocking call, returned to the session by the destructor.
class Records {
 public:
  /// Needs the session's lock, as its destructor does.
  explicit Records(Session& session) : session_(session), records_(session.acquire_records()) {}
  ~Records() { session_.release_records(records_); }
  Records& operator=(Records&&) = delete;
  SendRecord& send() { return records_.send; }
  ReceiveRecord& receive() { return records_.receive; }

 private:
  Session& session_;
  BlockingRecords& records_;
};

/// Fills the fields of a status that MPI defines for one completed operation. Does not change MPI_ERROR.
inline void fill_status(MPI_Status* status, int source, int tag, std::size_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  offramp_native_status_set(status, source, tag, bytes, 0);
}

}  // namespace offramp
