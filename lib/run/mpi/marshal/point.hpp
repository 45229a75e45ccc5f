// Arguments of point-to-point calls: what Offramp carries, and what it leaves to the MPI library.
#pragma once

#include "lib/run/mpi/marshal/buffers.hpp"
#include "lib/run/mpi/marshal/marshal_context.hpp"

namespace offramp {

enum class SendMode : std::uint8_t { kStandard, kBuffered, kSynchronous, kReady };

/// The arguments of a point-to-point call, checked.
struct Point {
  void* buffer;  // const for sends
  const TypeInfo* type;
  MpiCommunicator* communicator;
  // Peer and tag are not side by side, as they are in SendArguments: copying both with one load, so soon
  // after two stores, would wait until all earlier stores have left the processor, those of the last message
  // too.
  int peer;
  std::int64_t count;
  int tag;
};

/// The data of a send; valid while the program's buffer and `buffer` are.
inline Bytes data_of(const Point& point, SendBuffer& buffer, const Engine& engine, SendRecord& record) {
  return buffer.set(point.buffer, point.count, *point.type, engine,
                    {*point.communicator->context, point.peer, record});
}
/// Where the data of a receive goes; valid as long.
inline MutableBytes room_of(const Point& point, MessageBuffer& buffer, ReceiveRecord& record) {
  return buffer.set(point.buffer, point.count, *point.type, record);
}

/// The MPI library's own test for a null buffer: MPI_BOTTOM is null too, and then the type says where the
/// data is.
inline bool is_null_buffer(const void* buffer, std::int64_t count, const TypeInfo& type) {
  return buffer == nullptr && count > 0 && (type.predefined || (type.size > 0 && type.true_lb == 0));
}

/// What follows has the arguments checked on the path of every message.
inline bool set_buffer(MarshalContext& context, const void* buffer, std::int64_t count, MPI_Datatype type,
                       Point& point) REQUIRES(session_lock) {
  point.type = context.datatypes.find(type);
  if (count < 0 || point.type == nullptr || is_null_buffer(buffer, count, *point.type)) return false;
  point.buffer = const_cast<void*>(buffer);
  point.count = count;
  return true;
}

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
  point.peer = source == MPI_ANY_SOURCE ? kAnySource : source;
  point.tag = tag;
  return point.communicator != nullptr && (source >= 0 || source == MPI_ANY_SOURCE) &&
         source < point.communicator->size && tag >= kAnyTag;
}

}  // namespace offramp
