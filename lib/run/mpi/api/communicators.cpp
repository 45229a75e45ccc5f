// MPI chapter 6: the MPI library creates and frees communicators; Offramp gives each an id.
#include <optional>

#include "lib/run/mpi/api/constructors.hpp"
#include "lib/run/mpi/runtime/background_progress.hpp"
#include "lib/run/mpi/runtime/request.hpp"
#include "lib/run/native/pmpi.hpp"

namespace offramp {

void adopt(InterposedCall& call, MPI_Comm made, std::optional<std::uint64_t> derived) {
  Communicators& communicators = call.session.marshal().communicators;
  const int leader = Communicators::leader_of(made);
  // An intercommunicator, or no communicator at all.
  if (leader < 0) {
    communicators.forget_freed(made);
    return open_intercommunicator(call, made);
  }
  std::uint64_t id = 0;
  if (derived) {
    id = Communicators::id_of_part(*derived, leader);
  } else {
    // The leader chooses the id, and the others get it with a broadcast of the library on the new
    // communicator.
    if (leader == call.engine.rank()) id = communicators.next_id();
    call.unlocked([&] { return native.Bcast(&id, 1, MPI_UINT64_T, 0, made); });
  }
  MpiCommunicator* const added = communicators.add(made, id);
  if (call.recorder() != nullptr)
    set_recorded(*added, call.recorder()->communicator(call.function(), *added->context));
}

std::optional<std::uint64_t> derive_id(Session& session, MPI_Comm parent) {
  MpiCommunicator* const carried = session.marshal().communicators.find(parent);
  return carried != nullptr ? std::optional(Communicators::next_derived_id(*carried)) : std::nullopt;
}

namespace {

/// Runs a constructor on an unused communicator with the same members. The result has the parent's error
/// handler, and errors are raised on the parent.
int construct_over_unused(Function function, MPI_Comm parent, MPI_Comm* made, auto constructor) {
  MPI_Group members = MPI_GROUP_NULL;
  pmpi::Comm_group(parent, &members);
  MPI_Comm unused = MPI_COMM_NULL;
  int code = native.Comm_create(parent, members, &unused);
  pmpi::Group_free(&members);
  if (code != MPI_SUCCESS) return code;
  pmpi::Comm_set_errhandler(unused, MPI_ERRORS_RETURN);
  code = constructor(unused);
  native.Comm_free(&unused);
  if (code != MPI_SUCCESS) return raise_error(function, parent, code);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  pmpi::Comm_get_errhandler(parent, &handler);
  pmpi::Comm_set_errhandler(*made, handler);
  pmpi::Errhandler_free(&handler);
  return MPI_SUCCESS;
}

bool is_carried(MPI_Comm comm) {
  const Session::Lock guard(*Session::current);
  return Session::current->marshal().communicators.find(comm) != nullptr;
}

/// library(request): the MPI library's own function, which starts the duplication.
int duplicate_nonblocking(Function function, MPI_Comm comm, MPI_Comm* made, MPI_Request* handle,
                          auto library) {
  InterposedCall call(function);
  Session& session = call.session;
  MpiCommunicator* parent = session.marshal().communicators.find(comm);
  if (parent == nullptr || made == nullptr || handle == nullptr)
    return call.unlocked([&] { return library(handle); });
  MPI_Request inner = MPI_REQUEST_NULL;
  *made = MPI_COMM_NULL;
  ProgramRecorder* const recorder = call.recorder();
  // The duplication synchronizes its members in the recording, as its agreement on an id does in the library.
  const std::uint32_t recorded =
      recorder != nullptr ? recorder->synchronize(call.function(), parent->recorded, false) : 0;
  const int code = call.unlocked([&] { return library(&inner); });
  if (code != MPI_SUCCESS) {
    // The operation never began, so no wait of the program belongs to it.
    if (recorder != nullptr) recorder->free(call.function(), recorded);
    return code;
  }
  // Open MPI returns the handle at once, and the Fortran bindings read it at once: the variable behind `made`
  // may no longer exist when the request completes.
  const MPI_Comm early = *made;
  std::function<void(MPI_Comm)> add;
  if (std::optional<Intercommunicator> between = duplicate_of(session, comm)) {
    between->record(call);
    add = [&session, between = *std::move(between)](MPI_Comm added) { between.add(session, added); };
  } else {
    const std::uint64_t id = session.marshal().communicators.next_derived_id(*parent);
    const std::uint32_t number =  // the same members
        recorder != nullptr ? recorder->communicator(call.function(), *parent->context, id) : 0;
    add = [&session, id, number](MPI_Comm handle_of) {
      MpiCommunicator* const added = session.marshal().communicators.add(handle_of, id);
      if (added != nullptr) set_recorded(*added, number);
    };
  }
  const auto finish = [made, early, add] { add(early != MPI_COMM_NULL ? early : *made); };
  if (!session.carries()) {
    *handle = inner;
    track(session, comm, *handle, recorded).add_more().complete = finish;
    return MPI_SUCCESS;
  }
  *handle = follow(session, comm, inner, recorded, finish);
  return MPI_SUCCESS;
}

}  // namespace

namespace api {

int Dist_graph_create(MPI_Comm comm, int n, const int nodes[], const int degrees[], const int targets[],
                      const int weights[], MPI_Info info, int reorder, MPI_Comm* made) {
  const auto create = [&](MPI_Comm over) {
    return native.Dist_graph_create(over, n, nodes, degrees, targets, weights, info, reorder, made);
  };
  // Open MPI 4.1 distributes the edges with receives from any source, with tags -50 and -51 on the old
  // communicator. Its nonblocking collectives there, which also agree on the new context id, use tags that
  // count down from -27. A collective with tag -50 or -51 would be matched as edges by a late rank, and all
  // ranks would hang. An unused communicator has no such collectives.
  return construct(Function::kDist_graph_create, comm, made, [&] {
    return is_carried(comm) ? construct_over_unused(Function::kDist_graph_create, comm, made, create)
                            : create(comm);
  });
}

int Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* handle) {
  return duplicate_nonblocking(Function::kComm_idup, comm, made, handle,
                               [&](MPI_Request* request) { return native.Comm_idup(comm, made, request); });
}
#ifdef OFFRAMP_HAS_Comm_idup_with_info
int Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* handle) {
  return duplicate_nonblocking(Function::kComm_idup_with_info, comm, made, handle, [&](MPI_Request* request) {
    return native.Comm_idup_with_info(comm, info, made, request);
  });
}
#endif

int Comm_free(MPI_Comm* comm) {
  InterposedCall call(Function::kComm_free);
  if (comm == nullptr) return call.unlocked([&] { return native.Comm_free(comm); });
  const MPI_Comm freed = *comm;
  MpiCommunicator* communicator = call.session.marshal().communicators.find(freed);
  // Read before the call, which frees the communicator's state.
  const std::uint64_t context = communicator != nullptr ? communicator->context->id() : 0;
  if (communicator != nullptr) call.session.marshal().communicators.keep_name(*communicator);
  call.session.sync_groups().close(freed);  // for intercommunicators
  const int code = call.unlocked([&] { return native.Comm_free(comm); });
  if (code == MPI_SUCCESS && communicator != nullptr)
    call.session.marshal().communicators.remove(freed, context);
  return code;
}

int Comm_disconnect(MPI_Comm* comm) {
  InterposedCall call(Function::kComm_disconnect);
  const MPI_Comm freed = comm != nullptr ? *comm : MPI_COMM_NULL;
  MpiCommunicator* communicator = call.session.marshal().communicators.find(freed);
  const std::uint64_t context = communicator != nullptr ? communicator->context->id() : 0;
  if (communicator != nullptr) {
    call.session.marshal().communicators.keep_name(*communicator);
    // MPI_Comm_disconnect waits for all communication on the communicator.
    if (call.session.carries())
      call.wait([&] {
        const Context* const collective = communicator->collective;
        return !communicator->context->is_active() && (collective == nullptr || !collective->is_active());
      });
  }
  ScopedSync sync(call, sync_group_of(call.session, freed));
  sync.before_call();
  call.session.sync_groups().close(freed);  // for intercommunicators
  const int code = call.unlocked([&] {
    std::optional<BackgroundProgress> serving;  // separate jobs disconnect through the process manager
    if (communicator == nullptr && freed != MPI_COMM_NULL) serving.emplace();
    return native.Comm_disconnect(comm);
  });
  sync.end();
  if (code == MPI_SUCCESS && communicator != nullptr)
    call.session.marshal().communicators.remove(freed, context);
  return code;
}

int Type_free(MPI_Datatype* type) {
  if (type != nullptr) {
    // The handle may be reused for another type at once, so its description is forgotten before.
    const Session::Lock guard(*Session::current);
    Session::current->marshal().datatypes.forget(*type);
  }
  return native.Type_free(type);
}

}  // namespace api
}  // namespace offramp
