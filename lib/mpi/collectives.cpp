// Chapter 5: the collectives that backends carry. Whether Offramp carries a call is decided from what all
// ranks know alike; a mistake in one rank's arguments goes to the MPI library, which reports it.
#include "lib/mpi/collective_call.hpp"
#include "lib/mpi/pmpi.hpp"
#include "lib/mpi/request.hpp"

namespace offramp {
namespace {

struct Target {
  Communicator* communicator = nullptr;
  const TypeInfo* type = nullptr;
};

bool null_buffer(const void* buffer, int count, const TypeInfo& type) {
  return buffer == nullptr && count > 0 && type.size > 0 && (type.predefined || type.true_lb == 0);
}

/// The communicator and a type of a call; false when something about them is the MPI library's to say.
bool find_target(Session& session, MPI_Comm comm, int count, MPI_Datatype type, int root, Target& target) {
  target.communicator = session.communicators.find(comm);
  if (target.communicator == nullptr || count < 0 || root < 0 || root >= target.communicator->size)
    return false;
  target.type = session.datatypes.find(type);
  return target.type != nullptr;
}

void describe(CollectiveCall& call, OperationKind kind, const Target& target, int count, int root) {
  Operation& operation = call.operation;
  operation.kind = kind;
  operation.element = target.type->element;
  operation.bytes = target.type->bytes(count);
  operation.ranks = target.communicator->size;
  operation.root = root;
  call.buffers.block = operation.bytes;
}

Outcome run(Call& call, CollectiveCall& collective) {
  collective.start();
  call.wait([&] { return collective.done(); });
  collective.deliver();
  collective.observe();
  return collective.outcome();
}

/// Hands the call to a request, which completes when the operation does.
int run_nonblocking(MPI_Comm comm, std::unique_ptr<CollectiveCall> collective, MPI_Request* handle) {
  Request& request = take_request(comm, Request::Kind::kCollective);
  *handle = request.handle;
  request.collective = std::move(collective);
  Collective& running = request.collective->collective;
  running.owner = &request;
  running.on_complete = [](Collective& self) {
    auto& done = *static_cast<Request*>(self.owner);
    const Outcome outcome = done.collective->outcome();
    done.collective->deliver();
    complete_request(done, MPI_ANY_SOURCE, MPI_ANY_TAG, outcome, 0);
  };
  request.collective->start();
  return MPI_SUCCESS;
}

// Each builder returns null when the call is not Offramp's. They need the lock.

std::unique_ptr<CollectiveCall> build_bcast(Call& call, void* buffer, int count, MPI_Datatype type, int root,
                                            MPI_Comm comm) {
  Target target;
  if (!find_target(call.session, comm, count, type, root, target) || null_buffer(buffer, count, *target.type))
    return nullptr;
  auto made = std::make_unique<CollectiveCall>(call.engine, *target.communicator);
  describe(*made, OperationKind::kBcast, target, count, root);
  if (target.communicator->rank == root) {
    // The algorithm only reads the root's buffer.
    const Bytes data = made->outgoing.set(buffer, count, *target.type);
    made->buffers.receive = {const_cast<std::byte*>(data.data()), data.size()};
  } else {
    made->buffers.receive = made->incoming.set(buffer, count, *target.type);
  }
  made->buffers.send = made->buffers.receive;
  return made;
}

std::unique_ptr<CollectiveCall> build_reduce(Call& call, const void* sendbuf, void* recvbuf, int count,
                                             MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  Target target;
  if (op == MPI_OP_NULL || op == nullptr || !find_target(call.session, comm, count, type, root, target))
    return nullptr;
  const bool at_root = target.communicator->rank == root;
  const bool in_place = sendbuf == MPI_IN_PLACE;
  if ((in_place && !at_root) || recvbuf == MPI_IN_PLACE || (at_root && sendbuf == recvbuf && count > 0) ||
      (!in_place && null_buffer(sendbuf, count, *target.type)) ||
      (at_root && null_buffer(recvbuf, count, *target.type)))
    return nullptr;
  const ReduceFunction function = function_of(op);
  if (!reducible(function, *target.type)) return nullptr;
  auto made = std::make_unique<CollectiveCall>(call.engine, *target.communicator);
  describe(*made, OperationKind::kReduce, target, count, root);
  int commutative = 1;
  pmpi::Op_commutative(op, &commutative);
  made->operation.function = function;
  made->operation.elements = static_cast<std::size_t>(count);
  made->operation.commutative = commutative != 0;
  made->reducer.set(op, *target.type);
  made->buffers.send = made->outgoing.set(in_place ? recvbuf : sendbuf, count, *target.type);
  if (at_root) made->buffers.receive = made->incoming.set(recvbuf, count, *target.type);
  return made;
}

std::unique_ptr<CollectiveCall> build_gather(Call& call, const void* sendbuf, int sendcount,
                                             MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                             MPI_Datatype recvtype, int root, MPI_Comm comm) {
  Communicator* communicator = call.session.communicators.find(comm);
  if (communicator == nullptr) return nullptr;
  const bool at_root = communicator->rank == root;
  const bool in_place = sendbuf == MPI_IN_PLACE;
  if (in_place && !at_root) return nullptr;
  Target sent;
  Target received;
  if (!in_place && (!find_target(call.session, comm, sendcount, sendtype, root, sent) ||
                    null_buffer(sendbuf, sendcount, *sent.type)))
    return nullptr;
  if (at_root && (!find_target(call.session, comm, recvcount, recvtype, root, received) ||
                  null_buffer(recvbuf, recvcount, *received.type)))
    return nullptr;
  auto made = std::make_unique<CollectiveCall>(call.engine, *communicator);
  describe(*made, OperationKind::kGather, at_root ? received : sent, at_root ? recvcount : sendcount, root);
  if (at_root) {
    const auto total = static_cast<std::int64_t>(recvcount) * communicator->size;
    made->buffers.receive = made->incoming.set(recvbuf, total, *received.type);
  }
  if (in_place) {
    const std::size_t block = made->buffers.block;
    const MutableBytes own = made->buffers.receive.subspan(block * static_cast<std::size_t>(root), block);
    if (received.type->contiguous(static_cast<std::int64_t>(recvcount) * communicator->size)) {
      made->buffers.send = own;
    } else {
      const auto* mine = static_cast<const std::byte*>(recvbuf) +
                         static_cast<MPI_Aint>(root) * recvcount * received.type->extent;
      made->buffers.send = made->outgoing.copy(mine, recvcount, *received.type);
    }
  } else {
    made->buffers.send = made->outgoing.set(sendbuf, sendcount, *sent.type);
    if (made->buffers.send.size() >
        made->buffers.block) {  // a mistake, but the others are in the call already
      made->buffers.send = made->buffers.send.first(made->buffers.block);
      made->truncated = true;
    }
  }
  return made;
}

/// The MPI library carries this call.
template <typename Native>
int pass_through(Call& call, Function function, Native otherwise) {
  for (auto& lane : call.engine.lanes()) ++lane->counters.calls[static_cast<std::uint16_t>(function)].native;
  return call.unlocked(otherwise);
}

/// Runs what a builder made, or the MPI library's function when it made nothing.
template <typename Build, typename Native>
int blocking(Function function, MPI_Comm comm, Build build, Native otherwise) {
  Outcome outcome = Outcome::kOk;
  {
    Call call(function);
    const std::unique_ptr<CollectiveCall> collective = build(call);
    if (collective == nullptr) return pass_through(call, function, otherwise);
    outcome = run(call, *collective);
  }
  return finish(comm, outcome);
}

template <typename Build, typename Native>
int nonblocking(Function function, MPI_Comm comm, MPI_Request* handle, Build build, Native otherwise) {
  Call call(function);
  std::unique_ptr<CollectiveCall> collective = handle != nullptr ? build(call) : nullptr;
  if (collective == nullptr) return pass_through(call, function, otherwise);
  return run_nonblocking(comm, std::move(collective), handle);
}

}  // namespace

namespace face {

int Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return blocking(
      Function::kBcast, comm, [&](Call& call) { return build_bcast(call, buffer, count, type, root, comm); },
      [&] { return native.Bcast(buffer, count, type, root, comm); });
}

int Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      Function::kIbcast, comm, request,
      [&](Call& call) { return build_bcast(call, buffer, count, type, root, comm); },
      [&] { return native.Ibcast(buffer, count, type, root, comm, request); });
}

int Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm) {
  return blocking(
      Function::kReduce, comm,
      [&](Call& call) { return build_reduce(call, sendbuf, recvbuf, count, type, op, root, comm); },
      [&] { return native.Reduce(sendbuf, recvbuf, count, type, op, root, comm); });
}

int Ireduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, int root,
            MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      Function::kIreduce, comm, request,
      [&](Call& call) { return build_reduce(call, sendbuf, recvbuf, count, type, op, root, comm); },
      [&] { return native.Ireduce(sendbuf, recvbuf, count, type, op, root, comm, request); });
}

int Gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return blocking(
      Function::kGather, comm,
      [&](Call& call) {
        return build_gather(call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
      },
      [&] { return native.Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm); });
}

int Igather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
            MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request* request) {
  return nonblocking(
      Function::kIgather, comm, request,
      [&](Call& call) {
        return build_gather(call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
      },
      [&] {
        return native.Igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
                              request);
      });
}

}  // namespace face
}  // namespace offramp
