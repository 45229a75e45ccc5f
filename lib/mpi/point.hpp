// Arguments of point-to-point calls: what Offramp carries, and what it leaves to the MPI library.
#pragma once

#include "lib/mpi/request.hpp"

namespace offramp {

/// The MPI library's own test for a null buffer: MPI_BOTTOM is null too, and then the type says where the
/// data is.
inline bool is_null_buffer(const void* buffer, std::int64_t count, const TypeInfo& type) {
  return buffer == nullptr && count > 0 && (type.predefined || (type.size > 0 && type.true_lb == 0));
}

/// What follows has the arguments checked on the path of every message, and needs the lock.
inline bool set_buffer(Session& session, const void* buffer, std::int64_t count, MPI_Datatype type,
                       Point& point) {
  point.type = session.datatypes.find(type);
  if (count < 0 || point.type == nullptr || is_null_buffer(buffer, count, *point.type)) return false;
  point.buffer = const_cast<void*>(buffer);
  point.count = count;
  return true;
}

inline bool set_destination(Session& session, int destination, int tag, MPI_Comm comm, Point& point) {
  point.communicator = session.communicators.find(comm);
  point.peer = destination;
  point.tag = tag;
  return point.communicator != nullptr && destination >= 0 && destination < point.communicator->size &&
         tag >= 0;
}

inline bool set_source(Session& session, int source, int tag, MPI_Comm comm, Point& point) {
  static_assert(MPI_ANY_TAG == kAnyTag);
  point.communicator = session.communicators.find(comm);
  point.peer = source == MPI_ANY_SOURCE ? kAnySource : source;
  point.tag = tag;
  return point.communicator != nullptr && (source >= 0 || source == MPI_ANY_SOURCE) &&
         source < point.communicator->size && tag >= kAnyTag;
}

/// Fills `point` and returns true when the call is Offramp's. Everything else goes to the MPI library:
/// communicators that are not carried, MPI_PROC_NULL, and every mistake in the arguments, which the library
/// then reports in its own way.
inline bool send_point(Session& session, const void* buffer, std::int64_t count, MPI_Datatype type,
                       int destination, int tag, MPI_Comm comm, Point& point) {
  const auto guard = session.lock();
  return set_destination(session, destination, tag, comm, point) &&
         set_buffer(session, buffer, count, type, point);
}
inline bool receive_point(Session& session, void* buffer, std::int64_t count, MPI_Datatype type, int source,
                          int tag, MPI_Comm comm, Point& point) {
  const auto guard = session.lock();
  return set_source(session, source, tag, comm, point) && set_buffer(session, buffer, count, type, point);
}
/// The same for a probe, which has no buffer.
inline bool probe_point(Session& session, int source, int tag, MPI_Comm comm, Point& point) {
  const auto guard = session.lock();
  return set_source(session, source, tag, comm, point);
}

/// The bit of a recorded send.
constexpr std::uint8_t flag_of(SendMode mode) {
  std::uint8_t flag = 0;
  if (mode == SendMode::kSynchronous) flag = recording::kSynchronous;
  if (mode == SendMode::kBuffered) flag = recording::kBuffered;
  return flag;
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
