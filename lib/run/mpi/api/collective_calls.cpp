#include "lib/run/mpi/api/collective_calls.hpp"

#include <utility>

#include "lib/run/native/native.h"

namespace offramp {

Outcome run(InterposedCall& call, CollectiveCall& collective) {
  collective.start();
  call.wait([&] { return collective.done(); });
  collective.deliver();
  collective.observe();
  return collective.outcome();
}

namespace {

/// Resources of a persistent request of the MPI library, released with it: its types, which Open MPI 4.1 does
/// not retain, and its place in the recording.
struct KeptByRequest {
  KeptByRequest(std::vector<MPI_Datatype> all, MpiCommunicator where) : types(std::move(all)), place(where) {
    for (MPI_Datatype type : types) offramp_native_type_retain(type);
  }
  ~KeptByRequest() {
    for (MPI_Datatype type : types) offramp_native_type_release(type);
    if (Session::current != nullptr) Session::current->marshal().communicators.close_persistent(place);
  }
  KeptByRequest(const KeptByRequest&) = delete;
  KeptByRequest& operator=(const KeptByRequest&) = delete;
  std::vector<MPI_Datatype> types;
  MpiCommunicator place;
};

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

// Each start builds the operation again from the arguments, which the program must keep until it frees the
// request. Reductions with a user-defined operation stay with the MPI library, which retains the operation
// beyond MPI_Op_free. So do reductions whose result the library computes. Every rank makes the same choice.
int make_persistent(InterposedCall& call, MPI_Comm comm, MPI_Request* handle, MPI_Op op,
                    std::function<BuiltCall()> build, const std::function<int()>& library) {
  build = [made = std::move(build)] {
    BuiltCall collective = made();
    if (collective != nullptr) collective->operation.nonblocking = true;
    return collective;
  };
  const bool user_defined = op != MPI_OP_NULL && op != MPI_Op{} && function_of(op) == ReduceFunction::kUser;
  std::shared_ptr<CollectiveCall> built;
  std::vector<MPI_Datatype> types;  // may be freed before a start, so they are recorded now
  if (handle != nullptr && !user_defined) {
    const CheckedTypes noting(call.session.marshal(), types);
    built = build();
  }
  if (built == nullptr || built->native_result) {
    call.session.library_has_work();
    return pass_through(call, call.function(), library);
  }
  if (!call.session.carries()) {
    const int code = call.leave_to_library(library);
    if (code != MPI_SUCCESS) return code;
    auto kept = std::make_shared<KeptByRequest>(std::move(types), open_persistent(call, comm));
    built->communicator = kept->place.recorded;
    track(call.session, comm, *handle, 0).add_more().repeat = [built, kept = std::move(kept)] {
      return record_start(*Session::current, *built);
    };
    return code;
  }
  Request& request = acquire_collective_request(comm, Request::Kind::kCollective, true);
  for (MPI_Datatype type : types) offramp_native_type_retain(type);
  request.repeat->types = std::move(types);
  request.repeat->build = std::move(build);
  request.repeat->communicator = open_persistent(call, comm);
  *handle = request.handle;
  return MPI_SUCCESS;
}

}  // namespace offramp
