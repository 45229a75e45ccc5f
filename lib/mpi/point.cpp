#include "lib/mpi/point.hpp"

namespace offramp {
namespace {

/// The MPI library's own test for a null buffer: MPI_BOTTOM is null too, and then the type says where the
/// data is.
bool null_buffer(const void* buffer, int count, const TypeInfo& type) {
  return buffer == nullptr && count > 0 && (type.predefined || (type.size > 0 && type.true_lb == 0));
}

bool set_buffer(Session& session, const void* buffer, int count, MPI_Datatype type, Point& point) {
  if (count < 0) return false;
  point.type = session.datatypes.find(type);
  if (point.type == nullptr || null_buffer(buffer, count, *point.type)) return false;
  point.buffer = const_cast<void*>(buffer);
  point.count = count;
  return true;
}

}  // namespace

bool send_point(Session& session, const void* buffer, int count, MPI_Datatype type, int destination, int tag,
                MPI_Comm comm, Point& point) {
  const auto guard = session.lock();
  point.communicator = session.communicators.find(comm);
  if (point.communicator == nullptr || destination < 0 || destination >= point.communicator->size || tag < 0)
    return false;
  point.peer = destination;
  point.tag = tag;
  return set_buffer(session, buffer, count, type, point);
}

bool probe_point(Session& session, int source, int tag, MPI_Comm comm, Point& point) {
  const auto guard = session.lock();
  point.communicator = session.communicators.find(comm);
  if (point.communicator == nullptr || source >= point.communicator->size ||
      (source < 0 && source != MPI_ANY_SOURCE))
    return false;
  if (tag < 0 && tag != MPI_ANY_TAG) return false;
  point.peer = source == MPI_ANY_SOURCE ? kAnySource : source;
  point.tag = tag == MPI_ANY_TAG ? kAnyTag : tag;
  return true;
}

bool receive_point(Session& session, void* buffer, int count, MPI_Datatype type, int source, int tag,
                   MPI_Comm comm, Point& point) {
  if (!probe_point(session, source, tag, comm, point)) return false;
  const auto guard = session.lock();
  return set_buffer(session, buffer, count, type, point);
}

void fill_status(MPI_Status* status, int source, int tag, std::size_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  status->_ucount = bytes;
  status->_cancelled = 0;
}

}  // namespace offramp
