// MPI chapter 4: partitioned messages, which the MPI library carries. The recording has a communicator of
// both processes for each request. A part that is ready is written into the receiver's memory, the last one
// is the message for which the receiver waits: links keep their order. So the two sides may divide the data
// differently.
#include "lib/run/mpi/runtime/native_calls.hpp"
#include "lib/run/mpi/runtime/request.hpp"

#ifdef OFFRAMP_HAS_Psend_init
namespace offramp {
namespace {

using recording::EventKind;

/// Adds the communicator of a partitioned request to the recording. `nullopt` if it is not recorded.
std::optional<Partitions::Message> record_partitioned(InterposedCall& call, bool sends, int parts,
                                                      MPI_Count count, MPI_Datatype type, int peer, int tag,
                                                      MPI_Comm comm) {
  Session& session = call.session;
  const MpiCommunicator* const place = session.marshal().communicators.find(comm);
  const TypeInfo* const known = session.marshal().datatypes.find(type);
  if (call.recorder() == nullptr || place == nullptr || known == nullptr) return std::nullopt;
  if (peer < 0 || peer >= place->size || count < 0) return std::nullopt;
  const int own = call.engine.rank();
  const int other = place->context->world_rank(peer);
  const int source = sends ? own : other;
  const int destination = sends ? other : own;
  const std::uint64_t context = place->context->id();
  // Messages of one pair and tag match in the order of their `_init` calls, so both sides count the same
  // number.
  const std::uint32_t number = session.partitions().made[{sends, context, source, destination, tag}]++;
  const std::uint64_t id = Communicators::id_of_partitioned(context, source, destination, tag, number);
  const std::uint64_t bytes = known->bytes(count);
  constexpr std::uint64_t kTags = std::uint64_t{1} << 30;
  // A message to oneself stays on one rank, whose tag distinguishes it from others.
  if (own == other)
    return Partitions::Message{recording::kSelf, 0, static_cast<int>(id % kTags), parts, bytes};
  return Partitions::Message{call.recorder()->pair(call.function(), own, other, id), other > own ? 1 : 0, 0,
                             parts, bytes};
}

/// MPICH 4.0 declares the list without const.
template <typename List>
List list_of(int (*)(int, List, MPI_Request));
using PartitionList = decltype(list_of(MpiTable().Pready_list));

/// The library's functions with the request behind the program's, for partitions that are ready:
/// body(request).
int make_ready(Function function, MPI_Request handle, int parts, auto body) {
  InterposedCall call(function);
  const MPI_Request library = library_request(handle);
  const int code = pass_through(call, function, [&] { return body(library); });
  const auto sent = call.session.partitions().sent.find(handle);
  if (code != MPI_SUCCESS || call.recorder() == nullptr || sent == call.session.partitions().sent.end())
    return code;
  Partitions::Message& message = sent->second;
  for (int i = 0; i < parts; ++i) {
    if (++message.ready < message.parts) {
      const std::uint32_t part = call.recorder()->access(function, message.communicator, message.peer,
                                                         Access::kWrite, message.bytes, 0, false);
      call.recorder()->free(function, part);
      continue;
    }
    message.ready = 0;
    set_recorded(call.session, handle,
                 call.recorder()->library_message(function, EventKind::kSend, message.communicator,
                                                  message.peer, message.tag, message.bytes, true));
  }
  return code;
}

}  // namespace

namespace api {

int Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  InterposedCall call(Function::kPsend_init);
  const int code = pass_through(call, Function::kPsend_init, [&] {
    return native.Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request);
  });
  if (code != MPI_SUCCESS) return code;
  call.session.partitions().sent.erase(*request);  // of an earlier request with this handle
  const auto message = record_partitioned(call, true, partitions, count, datatype, dest, tag, comm);
  if (!message) return code;
  // A start sends nothing, so that its completion is that of the last part.
  follow_starts(call.session, comm, *request, [] { return std::uint32_t{0}; });
  call.session.partitions().sent[*request] = *message;
  return code;
}

int Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source, int tag,
               MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  InterposedCall call(Function::kPrecv_init);
  const int code = pass_through(call, Function::kPrecv_init, [&] {
    return native.Precv_init(buf, partitions, count, datatype, source, tag, comm, info, request);
  });
  if (code != MPI_SUCCESS) return code;
  const auto message = record_partitioned(call, false, partitions, count, datatype, source, tag, comm);
  if (!message) return code;
  follow_starts(call.session, comm, *request, [message = *message] {
    const std::uint64_t room = message.bytes * static_cast<std::uint64_t>(message.parts);
    return Session::current->recorder()->library_message(
        current_function(), EventKind::kReceive, message.communicator, message.peer, message.tag, room, true);
  });
  return code;
}

int Pready(int partition, MPI_Request request) {
  return make_ready(Function::kPready, request, 1,
                    [&](MPI_Request library) { return native.Pready(partition, library); });
}

int Pready_range(int partition_low, int partition_high, MPI_Request request) {
  return make_ready(
      Function::kPready_range, request, partition_high - partition_low + 1,
      [&](MPI_Request library) { return native.Pready_range(partition_low, partition_high, library); });
}

int Pready_list(int length, PartitionList array_of_partitions, MPI_Request request) {
  return make_ready(Function::kPready_list, request, length, [&](MPI_Request library) {
    return native.Pready_list(length, array_of_partitions, library);
  });
}

int Parrived(MPI_Request request, int partition, int* flag) {
  InterposedCall call(Function::kParrived);
  const MPI_Request library = library_request(request);
  const int code =
      pass_through(call, Function::kParrived, [&] { return native.Parrived(library, partition, flag); });
  if (code != MPI_SUCCESS || call.recorder() == nullptr) return code;
  if (*flag != 0) {
    call.recorder()->without_cost(call.function());
  } else {
    call.engine.count_arrival_order_dependence(Dependence::kPolling);
    call.recorder()->polled(call.function());
  }
  return code;
}

}  // namespace api
}  // namespace offramp
#endif
