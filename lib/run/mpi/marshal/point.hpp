// Arguments of point-to-point calls: checks which calls Offramp carries.
#pragma once

#include "lib/run/mpi/marshal/buffers.hpp"
#include "lib/run/mpi/marshal/marshal_context.hpp"

namespace offramp {

/// The four modes of MPI's sends. Ready sends are carried as standard ones.
enum class SendMode : std::uint8_t { kStandard, kBuffered, kSynchronous, kReady };

/// The checked arguments of a point-to-point call.
struct Point {
  void* buffer;  // const for sends
  const TypeInfo* type;
  MpiCommunicator* communicator;
  // Peer and tag are not adjacent, as they are in SendArguments: one load of both, soon after two stores,
  // would stall until all earlier stores have left the processor, those of the previous message too.
  int peer;
  std::int64_t count;
  int tag;
};

/// The data of a send. Valid as long as the program's buffer and `buffer`.
inline Bytes data_of(const Point& point, SendBuffer& buffer, const Engine& engine, SendRecord& record) {
  return buffer.set(point.buffer, point.count, *point.type, engine,
                    {*point.communicator->context, point.peer, record});
}
/// The memory for a receive. Valid as long as the program's buffer and `buffer`.
inline MutableBytes room_of(const Point& point, MessageBuffer& buffer, ReceiveRecord& record) {
  return buffer.set(point.buffer, point.count, *point.type, record);
}

/// The MPI library's test for a null buffer. MPI_BOTTOM is null too, but then the type contains the address.
inline bool is_null_buffer(const void* buffer, std::int64_t count, const TypeInfo& type) {
  return buffer == nullptr && count > 0 && (type.predefined || (type.size > 0 && type.true_lb == 0));
}

/// The functions below check arguments on the path of every message.
inline bool set_buffer(MarshalContext& context, const void* buffer, std::int64_t count, MPI_Datatype type,
                       Point& point) REQUIRES(session_lock) {
  point.type = context.datatypes.find(type);
  if (count < 0 || point.type == nullptr || is_null_buffer(buffer, count, *point.type)) return false;
  point.buffer = const_cast<void*>(buffer);
  point.count = count;
  return true;
}

/// False for MPI_PROC_NULL and for values that only the library should report.
inline bool set_destination(MarshalContext& context, int destination, int tag, MPI_Comm comm, Point& point)
    REQUIRES(session_lock) {
  point.communicator = context.communicators.find(comm);
  point.peer = destination;
  point.tag = tag;
  return point.communicator != nullptr && destination >= 0 && destination < point.communicator->size &&
         tag >= 0;
}

inline bool set_source(MarshalContext& context, int source, int tag, MPI_Comm comm, Point& point)
    REQUIRES(session_lock) {
  static_assert(MPI_ANY_TAG == kAnyTag);
  point.communicator = context.communicators.find(comm);
  /// The libraries have different values for MPI_ANY_SOURCE.
  point.peer = source == MPI_ANY_SOURCE ? kAnySource : source;
  point.tag = tag;
  return point.communicator != nullptr && (source >= 0 || source == MPI_ANY_SOURCE) &&
         source < point.communicator->size && tag >= kAnyTag;
}

}  // namespace offramp
