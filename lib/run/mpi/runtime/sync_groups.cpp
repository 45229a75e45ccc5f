// Synchronization groups (of communicators, windows, files, and intercommunicators) and class ScopedSync,
// which wraps a synchronizing call of the MPI library. In threaded programs the begin is recorded before the
// call and the end after it. A call that fails because of its arguments has not synchronized with any rank,
// so end(false) withdraws the begin. participated() classifies the library's error codes.
#include "lib/run/mpi/runtime/sync_groups.hpp"

#include <algorithm>
#include <array>

#include "lib/run/mpi/runtime/request.hpp"
#include "lib/run/mpi/runtime/session.hpp"
#include "lib/run/native/pmpi.hpp"
#include "lib/run/native/world_comm.hpp"

namespace offramp {

void SyncGroups::open(Key handle, std::uint64_t id, int rank, std::vector<int> world,
                      std::vector<int> remote) {
  SyncGroup& place = places_[handle.bits];
  place.context = &engine_.open_context(id | kCollectiveContext, rank, std::move(world));
  place.remote = std::move(remote);
}

void SyncGroups::open_epochs(Key handle, std::uint64_t id) {
  SyncGroup& place = places_.at(handle.bits);
  const Context& whole = *place.context;
  std::vector<int> world;
  world.reserve(static_cast<std::size_t>(whole.size()));
  for (int rank = 0; rank < whole.size(); ++rank) world.push_back(whole.world_rank(rank));
  place.epochs = &engine_.open_context(id | kCollectiveContext, whole.rank(), std::move(world));
}

SyncGroup* SyncGroups::find(Key handle) {
  const auto found = places_.find(handle.bits);
  return found != places_.end() ? &found->second : nullptr;
}

void SyncGroups::close(Key handle) {
  const auto found = places_.find(handle.bits);
  if (found == places_.end()) return;
  engine_.close_context(*found->second.context);
  if (found->second.epochs != nullptr) engine_.close_context(*found->second.epochs);
  places_.erase(found);
}

namespace {

void record_place(InterposedCall& call, Context& place) {
  if (call.recorder() != nullptr) place.recorded = call.recorder()->communicator(call.function(), place);
}

/// The ranks to which a rank sends, and those from which it receives.
struct Peers {
  std::vector<int> to;
  std::vector<int> from;
};

/// The neighbours in the order of the topology; MPI_PROC_NULL where there is none.
Peers cartesian_neighbours(MPI_Comm comm) {
  int dimensions = 0;
  pmpi::Cartdim_get(comm, &dimensions);
  Peers near;
  for (int i = 0; i < dimensions; ++i) {
    int below = MPI_PROC_NULL;
    int above = MPI_PROC_NULL;
    pmpi::Cart_shift(comm, i, 1, &below, &above);
    near.to.insert(near.to.end(), {below, above});
  }
  // In a Cartesian topology each neighbour sends and receives.
  near.from = near.to;
  return near;
}

Peers graph_neighbours(MPI_Comm comm) {
  int rank = 0;
  int count = 0;
  pmpi::Comm_rank(comm, &rank);
  pmpi::Graph_neighbors_count(comm, rank, &count);
  Peers near;
  near.to.resize(static_cast<std::size_t>(count));
  pmpi::Graph_neighbors(comm, rank, count, near.to.data());
  near.from = near.to;
  return near;
}

Peers distributed_neighbours(MPI_Comm comm) {
  int in = 0;
  int out = 0;
  int weighted = 0;
  pmpi::Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  Peers near;
  near.from.resize(static_cast<std::size_t>(in));
  near.to.resize(static_cast<std::size_t>(out));
  std::vector<int> from_weights(near.from.size());
  std::vector<int> to_weights(near.to.size());
  // Weights are requested only if there are any: MPI requires the constant otherwise.
  pmpi::Dist_graph_neighbors(comm, in, near.from.data(), weighted != 0 ? from_weights.data() : MPI_UNWEIGHTED,
                             out, near.to.data(), weighted != 0 ? to_weights.data() : MPI_UNWEIGHTED);
  return near;
}

void add(std::vector<std::uint64_t>& blocks, int rank, std::uint64_t bytes) {
  // MPI_PROC_NULL has no block.
  if (rank >= 0) blocks.insert(blocks.end(), {static_cast<std::uint64_t>(rank), bytes});
}

}  // namespace

Context* context_of_other(Session& session, SyncGroups::Key handle) {
  const SyncGroup* place = session.sync_groups().find(handle);
  return place != nullptr ? place->context : nullptr;
}
Context* context_of_communicator(Session& session, MPI_Comm comm) {
  const MpiCommunicator* const own = session.marshal().communicators.find(comm);
  return own != nullptr && own->collective != nullptr ? own->collective : context_of_other(session, comm);
}
Context* context_between_groups(Session& session, MPI_Comm comm) {
  const SyncGroup* const place = session.sync_groups().find(comm);
  return place != nullptr && !place->remote.empty() ? place->context : nullptr;
}

bool participated(int code) {
  if (code == MPI_SUCCESS) return true;
  int kind = MPI_SUCCESS;
  pmpi::Error_class(code, &kind);
  // Errors from outside the program. All other codes mean a wrong argument.
  constexpr std::array kOutside = {
      MPI_ERR_ACCESS, MPI_ERR_BAD_FILE, MPI_ERR_FILE,      MPI_ERR_FILE_EXISTS, MPI_ERR_FILE_IN_USE,
      MPI_ERR_INTERN, MPI_ERR_IO,       MPI_ERR_NO_MEM,    MPI_ERR_NO_SPACE,    MPI_ERR_NO_SUCH_FILE,
      MPI_ERR_OTHER,  MPI_ERR_QUOTA,    MPI_ERR_READ_ONLY, MPI_ERR_UNKNOWN};
  return std::find(kOutside.begin(), kOutside.end(), kind) != kOutside.end();
}

namespace {

// Two messages between the same ranks meet in the order in which both post them. In a Cartesian dimension,
// what one sends up is what the other receives from below, so receives are in the opposite order.
PeerBlocks blocks_of_neighbours(MPI_Comm comm, const BlockSizes& sizes) {
  int topology = MPI_UNDEFINED;
  pmpi::Topo_test(comm, &topology);
  const bool is_cartesian = topology == MPI_CART;
  Peers peers;
  if (is_cartesian) peers = cartesian_neighbours(comm);
  if (topology == MPI_GRAPH) peers = graph_neighbours(comm);
  if (topology == MPI_DIST_GRAPH) peers = distributed_neighbours(comm);
  PeerBlocks near;
  for (std::size_t i = 0; i < peers.to.size(); ++i) add(near.to, peers.to[i], sizes.sent(i));
  for (std::size_t i = 0; i < peers.from.size(); ++i) {
    const std::size_t place = is_cartesian ? i ^ 1U : i;
    add(near.from, peers.from[place], sizes.received(place));
  }
  return near;
}

/// As Open MPI's nonblocking collectives do it: each rank that has data sends it to each that wants it.
PeerBlocks blocks_between_groups(const std::vector<int>& remote, const BlockSizes& sizes) {
  using Flow = BlockSizes::Flow;
  const bool is_root = sizes.root == MPI_ROOT;
  const bool from_root = sizes.flow == Flow::kFromRoot;
  PeerBlocks blocks;
  for (std::size_t i = 0; i < remote.size() && sizes.flow != Flow::kNone; ++i) {
    // Without a root, all ranks of both groups exchange blocks. With one, only the root and the other group
    // do.
    const bool with = sizes.flow == Flow::kAll || is_root || sizes.root == static_cast<int>(i);
    if (with && (sizes.flow == Flow::kAll || is_root == from_root)) add(blocks.to, remote[i], sizes.sent(i));
    if (with && (sizes.flow == Flow::kAll || is_root != from_root))
      add(blocks.from, remote[i], sizes.received(i));
  }
  return blocks;
}

}  // namespace

PeerBlocks blocks_of(Session& session, MPI_Comm comm, const BlockSizes& sizes) {
  if (context_between_groups(session, comm) == nullptr) return blocks_of_neighbours(comm, sizes);
  return blocks_between_groups(session.sync_groups().find(comm)->remote, sizes);
}

std::uint32_t record_blocks(InterposedCall& call, const Context& place, const PeerBlocks& blocks,
                            bool blocking) {
  if (call.recorder() == nullptr) return 0;
  return call.recorder()->neighbours(call.function(), place.recorded, blocks.to, blocks.from, blocking);
}

// Only arguments that are significant on this rank are read: the others need not be valid.
std::uint64_t bytes_outside(MPI_Comm comm, const BlockSizes& sizes) {
  using Flow = BlockSizes::Flow;
  if (sizes.flow == Flow::kAll) return sizes.received(0);
  if (sizes.flow == Flow::kNeighbours) {
    const PeerBlocks blocks = blocks_of_neighbours(comm, sizes);
    std::uint64_t sum = 0;
    for (std::size_t i = 1; i < blocks.to.size(); i += 2) sum += blocks.to[i];
    return sum;
  }
  if (sizes.flow == Flow::kNone || sizes.root == MPI_PROC_NULL) return 0;
  int rank = 0;
  int is_inter = 0;
  pmpi::Comm_rank(comm, &rank);
  pmpi::Comm_test_inter(comm, &is_inter);
  const bool is_root = sizes.root == MPI_ROOT || (is_inter == 0 && sizes.root == rank);
  return is_root == (sizes.flow == Flow::kFromRoot) ? sizes.sent(0) : sizes.received(0);
}

void note_uncarried(InterposedCall& call, MPI_Comm comm, const BlockSizes& sizes) {
  if (call.recorder() != nullptr && is_outside(call.session, comm))
    call.recorder()->communicates(call.function(), bytes_outside(comm, sizes));
}

AccessedData accessed_data(Access kind, bool to_target, bool back, std::int64_t count, MPI_Datatype type) {
  const std::uint64_t bytes = Session::current->marshal().bytes_of(count, type);
  constexpr std::uint64_t kLargestAtomic = 8;
  if (kind == Access::kCombine && count == 1 && bytes <= kLargestAtomic) kind = Access::kAtomic;
  return {kind, to_target ? bytes : 0, back ? bytes : 0};
}

void record_access(InterposedCall& call, const AccessedData& data, MPI_Win window, int target,
                   MPI_Request* request) {
  Session& session = call.session;
  SyncGroup* const place = session.sync_groups().find(window);
  if (call.recorder() == nullptr) return;
  // All other windows are known.
  if (place == nullptr)
    return call.recorder()->communicates(call.function(), std::max(data.bytes, data.back));
  if (target < 0) return call.recorder()->without_cost(call.function());
  const std::uint32_t recorded = call.recorder()->access(call.function(), place->context->recorded, target,
                                                         data.kind, data.bytes, data.back, false);
  if (recorded == 0) return;
  // An access without a request completes at the next flush of its window.
  if (request == nullptr) {
    place->accesses.push_back({target, recorded});
  } else if (session.carries()) {
    *request = follow(session, mpi_world(), *request, recorded);
  } else {
    track(session, mpi_world(), *request, recorded);
  }
}

ScopedSync::ScopedSync(InterposedCall& call, Context* place, Who who)
    : call_(call), place_(place), who_(std::move(who)) {
  // See the head: with threads the begin is an event of its own.
  if (place_ != nullptr && call_.session.has_threads()) begun_ = record(false);
}

ScopedSync ScopedSync::blocks(InterposedCall& call, Context* place, MPI_Comm comm, const BlockSizes& sizes) {
  return {call, place, place != nullptr ? blocks_of(call.session, comm, sizes) : PeerBlocks()};
}

std::uint32_t ScopedSync::record(bool blocking) {
  if (const auto* const blocks = std::get_if<PeerBlocks>(&who_))
    return record_blocks(call_, *place_, *blocks, blocking);
  if (call_.recorder() == nullptr) return 0;
  if (std::holds_alternative<Barrier>(who_))
    return call_.recorder()->barrier(call_.function(), place_->recorded, blocking);
  return call_.recorder()->synchronize(call_.function(), place_->recorded, blocking);
}

void ScopedSync::before_call() {
  over_ = true;
  if (place_ == nullptr) return;
  if (begun_ == 0) record(true);
}

void ScopedSync::end(bool took_part) {
  if (!took_part && begun_ != 0) return call_.recorder()->free(call_.function(), begun_);
  if (took_part && !over_) before_call();
  if (begun_ != 0) call_.recorder()->wait(call_.function(), begun_);
}

int start_blocks(InterposedCall& call, Context* place, MPI_Comm comm, const BlockSizes& sizes,
                 MPI_Request* request, const std::function<int()>& start) {
  if (place == nullptr || request == nullptr) {
    const int code = start();
    if (code == MPI_SUCCESS) note_uncarried(call, comm, sizes);
    return code;
  }
  const std::uint32_t recorded = record_blocks(call, *place, blocks_of(call.session, comm, sizes), false);
  if (const int code = start(); code != MPI_SUCCESS) {
    if (recorded != 0) call.recorder()->free(call.function(), recorded);
    return code;
  }
  if (!call.session.carries()) {
    track(call.session, comm, *request, recorded);
    return MPI_SUCCESS;
  }
  *request = follow(call.session, comm, *request, recorded);
  return MPI_SUCCESS;
}

namespace {

/// Opens the group under one id and returns the next id. `nullopt` if the members do not synchronize.
std::optional<std::uint64_t> open_place(InterposedCall& call, MPI_Comm comm, SyncGroups::Key handle) {
  Session& session = call.session;
  MpiCommunicator* parent = session.marshal().communicators.find(comm);
  if (parent == nullptr || parent->collective == nullptr) return std::nullopt;
  const std::uint64_t id =
      session.marshal().communicators.next_derived_id(*parent);  // counted on every member
  // A member whose object could not be made still counts the id, so that later ids agree.
  if (handle.bits != 0) {
    std::vector<int> world;
    world.reserve(static_cast<std::size_t>(parent->size));
    for (int rank = 0; rank < parent->size; ++rank) world.push_back(parent->collective->world_rank(rank));
    session.sync_groups().open(handle, id, parent->rank, std::move(world));
    record_place(call, *session.sync_groups().find(handle)->context);
  }
  // The second id is for the window's epochs. It is counted for files, too, which keeps the members alike.
  return session.marshal().communicators.next_derived_id(*parent);
}

}  // namespace

void open_sync_group(InterposedCall& call, MPI_Comm comm, MPI_Win window) {
  const std::optional<std::uint64_t> epochs = open_place(call, comm, window);
  if (!epochs) return;
  if (window != MPI_Win{}) {
    call.session.sync_groups().open_epochs(window, *epochs);
    record_place(call, *call.session.sync_groups().find(window)->epochs);
  }
}

void open_sync_group(InterposedCall& call, MPI_Comm comm, MPI_File file) {
  (void)open_place(call, comm, file);
}

void open_intercommunicator(InterposedCall& call, MPI_Comm comm) {
  Communicators& communicators = call.session.marshal().communicators;
  std::vector<int> world;
  std::vector<int> other;
  if (!communicators.are_ranks_of_world(comm, world, other)) return;
  // Both groups in one order.
  world.insert(world.end(), other.begin(), other.end());
  std::sort(world.begin(), world.end());
  // The lowest rank's id identifies the group; no other thread of that rank can draw the same id. The first
  // allreduce brings it to the other group, the second one back to that rank's own.
  const std::uint64_t own = world.front() == call.engine.rank() ? communicators.next_id() : 0;
  std::uint64_t theirs = 0;
  std::uint64_t ours = 0;
  call.unlocked([&] { return native.Allreduce(&own, &theirs, 1, MPI_UINT64_T, MPI_MAX, comm); });
  call.unlocked([&] { return native.Allreduce(&theirs, &ours, 1, MPI_UINT64_T, MPI_MAX, comm); });
  // Each group knows its own id now, or the other's; the lowest rank's is the only one that is not 0.
  const std::uint64_t id = std::max(ours, theirs);
  const auto place_in = [&world](int one) {
    return static_cast<int>(std::lower_bound(world.begin(), world.end(), one) - world.begin());
  };
  Intercommunicator made{id, 0, other, place_in(call.engine.rank()), world, std::move(other)};
  pmpi::Comm_rank(comm, &made.rank);
  std::transform(made.places.begin(), made.places.end(), made.places.begin(), place_in);
  made.record(call);
  made.add(call.session, comm);
}

void Intercommunicator::record(InterposedCall& call) {
  if (call.recorder() != nullptr)
    recorded = call.recorder()->intercommunicator(call.function(), world, id, places);
}

void Intercommunicator::add(Session& session, MPI_Comm comm) const {
  set_recorded(*session.marshal().communicators.add_between_groups(comm, id, rank, peers), recorded);
  session.sync_groups().open(comm, id, place, world, places);
  session.sync_groups().find(comm)->context->recorded = recorded;
}

std::optional<Intercommunicator> duplicate_of(Session& session, MPI_Comm comm) {
  MpiCommunicator* const own = session.marshal().communicators.find(comm);
  const SyncGroup* const both = session.sync_groups().find(comm);
  if (own == nullptr || both == nullptr || both->remote.empty()) return std::nullopt;
  const std::vector<int>& world = *both->context->members();
  // All members of both groups take part in a duplication, so the id needs no message.
  const std::uint64_t id = Communicators::next_derived_id(*own);
  return Intercommunicator{id,    own->rank,   *own->context->members(), both->context->rank(),
                           world, both->remote};
}

void sync_at_new(InterposedCall& call, MPI_Comm comm) {
  Context* const place = sync_group_of(call.session, comm);
  if (place == nullptr) return;
  ScopedSync sync(call, place);
  // The begin could not be recorded before the group was known. Threads of different ranks may create several
  // communicators in different orders, so no rank may record an end before all have recorded their begin. If
  // the program is only recorded, barriers of the library ensure that, on all ranks alike, whatever threads
  // they have. A barrier on an intercommunicator only waits for the other group, hence two.
  if (!call.session.carries()) {
    const int turns = call.session.sync_groups().find(comm) != nullptr ? 2 : 1;
    for (int turn = 0; turn < turns; ++turn) call.unlocked([&] { return native.Barrier(comm); });
  }
  sync.end();
}

}  // namespace offramp
