// Calls that the MPI library carries and that synchronize ranks: constructors, windows, files. They cost no
// modelled time. They are recorded because a world advances the clocks of their members to the latest one.
// Neighbourhood collectives, collectives of intercommunicators, and accesses to windows are recorded with
// what they send and receive.
#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

#include "lib/run/engine/engine.hpp"
#include "lib/run/mpi/marshal/marshal_context.hpp"
#include "lib/run/native/handles.hpp"

namespace offramp {

class InterposedCall;
class Session;

/// The synchronization group of a communicator, a window, or a file.
struct SyncGroup {
  Context* context = nullptr;
  std::vector<int> remote;    // intercommunicator: the places of the other group's members; else empty
  Context* epochs = nullptr;  // window: context for MPI_Win_post and the like, which only some members call
  std::vector<int> origins;   // window: ranks that may access this one
  std::vector<int> targets;   // window: ranks that this one may access
  /// An access that the library has begun.
  struct Access {
    int target;
    std::uint32_t request;  // in the recording
  };
  std::vector<Access> accesses;  // window: not known to be complete
};

/// The groups of windows, files, and intercommunicators whose members are all in MPI_COMM_WORLD. Offramp's
/// own communicators are kept elsewhere. Used by one thread at a time.
class SyncGroups {
 public:
  /// A handle of any kind. Handles of different kinds differ in their bits.
  struct Key {
    Key(auto handle) : bits(bits_of(handle)) {}  // NOLINT(google-explicit-constructor)
    std::uintptr_t bits;
  };

  explicit SyncGroups(Engine& engine) : engine_(engine) {}

  /// Opens the group of a handle: its members by world rank, and this rank's place among them.
  void open(Key handle, std::uint64_t id, int rank, std::vector<int> world, std::vector<int> remote = {});
  /// Opens the context in which origins and targets of an open window synchronize.
  void open_epochs(Key handle, std::uint64_t id);
  /// Returns null if the members do not synchronize. Valid until close().
  SyncGroup* find(Key handle);
  /// Call it before the handle is freed, after the members' last synchronization.
  void close(Key handle);

 private:
  Engine& engine_;
  std::unordered_map<std::uintptr_t, SyncGroup> places_;
};

/// The two cases of sync_group_of().
Context* context_of_communicator(Session& session, MPI_Comm comm);
Context* context_of_other(Session& session, SyncGroups::Key handle);
/// The context of a communicator, a window, or a file. Null if the members do not synchronize. Some MPI
/// libraries use one C type for windows and communicators; their handles still differ in their bits.
template <typename Handle>
Context* sync_group_of(Session& session, Handle handle) {
  if constexpr (std::is_same_v<Handle, MPI_Comm>) {
    return context_of_communicator(session, handle);
  } else {
    return context_of_other(session, handle);
  }
}

/// Returns true if a call that returned this code has synchronized with the other ranks. Wrong arguments are
/// detected before any rank waits. A file that one rank cannot open does not stop the others.
bool participated(int code);

/// What a message of the library for a window says.
enum Subject : std::uint32_t { kPosted, kCompleted };

/// The blocks that a rank sends to its peers in one collective and receives from them, ranks and bytes in
/// turn: to and from its neighbours, or the other group of an intercommunicator.
struct PeerBlocks {
  std::vector<std::uint64_t> to;
  std::vector<std::uint64_t> from;
};
/// The bytes of the block at a place in the order of the peers.
using BlockBytes = std::function<std::uint64_t(std::size_t place)>;
/// The functions read arguments of the program: call them during the call only.
struct BlockSizes {
  BlockBytes sent;
  BlockBytes received;
  /// Which peers send and receive: neighbours, or those of a collective of an intercommunicator.
  enum class Flow : std::uint8_t { kNeighbours, kNone, kAll, kFromRoot, kToRoot } flow = Flow::kNeighbours;
  int root = MPI_PROC_NULL;  // as in the call
};
/// The members' context if the communicator is an intercommunicator, otherwise null.
Context* context_between_groups(Session& session, MPI_Comm comm);
/// Records a collective of such blocks on the communicator. Returns the request, if any.
std::uint32_t record_blocks(InterposedCall& call, const Context& place, const PeerBlocks& blocks,
                            bool blocking);
/// The blocks of a call on a communicator with a topology, or on an intercommunicator.
PeerBlocks blocks_of(Session& session, MPI_Comm comm, const BlockSizes& sizes);

/// Bytes of a collective that has succeeded on a communicator with processes outside of MPI_COMM_WORLD: of
/// one block, or those to all neighbours.
std::uint64_t bytes_outside(MPI_Comm comm, const BlockSizes& sizes);
/// Records such a collective; nothing on other communicators.
void note_uncarried(InterposedCall& call, MPI_Comm comm, const BlockSizes& sizes);

/// Records the synchronization around a call of the MPI library. In threaded programs the begin is recorded
/// too: the other ranks may have to wait for what another thread does before they enter.
class ScopedSync {
 public:
  ScopedSync(InterposedCall& call, Context* place) : ScopedSync(call, place, Who()) {}
  /// Records a collective of blocks. place: null if the members do not synchronize.
  static ScopedSync blocks(InterposedCall& call, Context* place, MPI_Comm comm, const BlockSizes& sizes);
  /// Records a barrier of the library.
  static ScopedSync barrier(InterposedCall& call, Context* place) { return {call, place, Barrier()}; }
  /// Records the synchronization before the call, which may remove the group.
  void before_call();
  /// The call has returned. participated = false: this rank has not synchronized.
  void end(bool took_part = true);

 private:
  struct Barrier {};
  using Who = std::variant<std::monostate, PeerBlocks, Barrier>;
  /// Records the begin at once if the program has threads.
  ScopedSync(InterposedCall& call, Context* place, Who who);
  /// Adds the event of the synchronization. Returns its request unless it blocks.
  std::uint32_t record(bool blocking);

  InterposedCall& call_;
  Context* place_;
  Who who_;  // std::monostate: all members synchronize
  std::uint32_t begun_ = 0;
  bool over_ = false;
};

/// Makes a nonblocking collective of blocks through start(). Replaces its request by a recorded one, unless
/// `place` is null.
int start_blocks(InterposedCall& call, Context* place, MPI_Comm comm, const BlockSizes& sizes,
                 MPI_Request* request, const std::function<int()>& start) REQUIRES(session_lock);

/// What an access moves to another rank's memory, and back.
struct AccessedData {
  Access kind = Access::kWrite;
  std::uint64_t bytes = 0;
  std::uint64_t back = 0;
};
/// The data of `count` elements. A NIC combines one element of up to 8 bytes (Access::kAtomic).
AccessedData accessed_data(Access kind, bool to_target, bool back, std::int64_t count, MPI_Datatype type);
/// Records an access that the library has begun, whose request is null if it has none.
void record_access(InterposedCall& call, const AccessedData& data, MPI_Win window, int target,
                   MPI_Request* request) REQUIRES(session_lock);

/// Opens the group of a new window or file over a communicator; pass a null handle if it could not be
/// created. All members must call it, or none.
void open_sync_group(InterposedCall& call, MPI_Comm comm, MPI_Win window);
void open_sync_group(InterposedCall& call, MPI_Comm comm, MPI_File file);
/// What a rank knows of an intercommunicator whose members are all in MPI_COMM_WORLD.
struct Intercommunicator {
  std::uint64_t id;            // agreed among both groups
  int rank;                    // in the own group
  std::vector<int> peers;      // the other group's world ranks
  int place;                   // this rank's in `world`
  std::vector<int> world;      // the world ranks of both groups
  std::vector<int> places;     // the other group's in `world`
  std::uint32_t recorded = 0;  // its number in the recording

  /// Adds the communicator of both groups to the recording.
  void record(InterposedCall& call);
  /// Opens the contexts of the new intercommunicator.
  void add(Session& session, MPI_Comm comm) const;
};
/// A duplicate that all members make. `nullopt` if the communicator is not such an intercommunicator.
std::optional<Intercommunicator> duplicate_of(Session& session, MPI_Comm comm);
/// Opens the group of a new intercommunicator. Its members agree on an id through the MPI library.
void open_intercommunicator(InterposedCall& call, MPI_Comm comm);
/// Synchronizes the members of a new communicator that has no common parent.
void sync_at_new(InterposedCall& call, MPI_Comm comm);

}  // namespace offramp
