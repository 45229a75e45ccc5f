// Persistent collectives. A duplicate communicator is opened with each `_init` call, in whose order all
// members agree. Whether the library or Offramp carries a request is decided at `_init`, from arguments that
// are the same on all ranks.
#include "lib/run/mpi/api/collective_calls.hpp"

#include <utility>

namespace offramp {

Outcome run(InterposedCall& call, CollectiveCall& collective) {
  collective.start();
  call.wait([&] { return collective.done(); });
  // The data is unpacked only here, since a waiting loop may run in another thread's call.
  collective.deliver();
  collective.observe();
  return collective.outcome();
}

namespace {

/// Opened in the order of the `_init` calls, which is the same on all members.
MpiCommunicator open_persistent(InterposedCall& call, MPI_Comm comm) {
  Communicators& communicators = call.session.marshal().communicators;
  MpiCommunicator& parent = *communicators.find(comm);
  MpiCommunicator place = communicators.open_persistent(parent);
  if (call.recorder() != nullptr) {
    place.recorded = call.recorder()->persistent(call.function(), *place.collective, parent.recorded);
    place.collective->recorded = place.recorded;
  }
  return place;
}

}  // namespace

int make_persistent_blocks(Function function, MPI_Comm comm, const BlockSizes& sizes, MPI_Request* handle,
                           const std::function<int()>& library) {
  InterposedCall call(function);
  const int code = pass_through(call, function, library);
  const bool is_known = call.session.marshal().find_for_collectives(comm) != nullptr;
  if (code != MPI_SUCCESS || call.recorder() == nullptr) return code;
  if (is_outside(call.session, comm)) follow_outside(call.session, comm, *handle, bytes_outside(comm, sizes));
  if (!is_known) return code;
  const auto kept = std::make_shared<KeptByRequest>();
  kept->place = open_persistent(call, comm);
  follow_starts(call.session, comm, *handle, [kept, blocks = blocks_of(call.session, comm, sizes)] {
    return Session::current->recorder()->neighbours(current_function(), kept->place.recorded, blocks.to,
                                                    blocks.from, false);
  });
  return code;
}

// Each start builds the operation again from the arguments, which the program must keep until it frees the
// request. Reductions with a user-defined operation stay with the MPI library, which retains the operation
// beyond MPI_Op_free. So do reductions whose result the library computes. Every rank makes the same choice.
int make_persistent(InterposedCall& call, MPI_Comm comm, MPI_Request* handle, MPI_Op op,
                    std::function<BuiltCall()> build, const std::function<int()>& library) {
  // Each start builds the operation again, so the flag is set in the builder.
  build = [made = std::move(build)] {
    BuiltCall collective = made();
    if (collective != nullptr) collective->operation.nonblocking = true;
    return collective;
  };
  const bool user_defined = op != MPI_OP_NULL && op != MPI_Op{} && function_of(op) == ReduceFunction::kUser;
  std::shared_ptr<CollectiveCall> built;
  auto kept = std::make_unique<KeptByRequest>();
  if (handle != nullptr && !user_defined) {
    const BuildOn its_types(call.session.marshal(), *kept);
    built = build();
  }
  if (built == nullptr || built->native_result) {
    call.session.library_has_work();
    const int code = pass_through(call, call.function(), library);
    if (code == MPI_SUCCESS && handle != nullptr && is_outside(call.session, comm))
      follow_outside(call.session, comm, *handle, 0);
    return code;
  }
  if (!call.session.carries()) {
    // The library's request does not retain its types in Open MPI 4.1.
    const int code = call.leave_to_library(library);
    if (code != MPI_SUCCESS) return code;
    kept->place = open_persistent(call, comm);
    built->communicator = kept->place.recorded;
    track(call.session, comm, *handle, 0).add_more().repeat =
        [built, kept = std::shared_ptr<KeptByRequest>(std::move(kept))] {
          return record_start(*Session::current, *built);
        };
    return code;
  }
  Request& request = acquire_collective_request(comm, Request::Kind::kCollective, true);
  kept->place = open_persistent(call, comm);
  request.repeat->kept = std::move(kept);
  request.repeat->build = std::move(build);
  *handle = request.handle;
  return MPI_SUCCESS;
}

}  // namespace offramp
