// The communicators on which Offramp carries messages: those of ranks of MPI_COMM_WORLD. It leaves the
// collectives of intercommunicators to the MPI library.
#pragma once

#include <mpi.h>

#include <array>
#include <memory>
#include <unordered_map>

#include "lib/run/engine/engine.hpp"
#include "lib/run/native/handles.hpp"

namespace offramp {

/// One communicator of the program, as this rank sees it. The contexts belong to the engine.
struct MpiCommunicator {
  MPI_Comm handle = MPI_COMM_NULL;
  /// Point-to-point. Its members are the peers: on an intercommunicator, the other group.
  Context* context = nullptr;
  Context* collective = nullptr;  // messages of collective algorithms; null on an intercommunicator
  int rank = 0;                   // in the own group
  int size = 0;                   // the number of peers
  std::uint32_t derived = 0;      // number of ids derived from this one's; equal on all members
  std::uint32_t recorded = 0;     // as Context::recorded
};

/// Sets the communicator's number in this rank's recording.
void set_recorded(MpiCommunicator& communicator, std::uint32_t number);

/// Used by one thread at a time. Members agree on context ids, which are used only once in a run.
class Communicators {
 public:
  explicit Communicators(Engine& engine) : engine_(engine) {}

  /// Null if it is not carried: members outside of MPI_COMM_WORLD, no communicator.
  MpiCommunicator* find(MPI_Comm comm) {
    Slot& slot = recent_[slot_of(comm)];
    if (slot.comm == comm) [[likely]]
      return slot.communicator;
    return look_up(comm, slot);
  }

  /// Adds MPI_COMM_WORLD and MPI_COMM_SELF.
  void add_predefined();
  /// The world rank of a new communicator's first member. Negative, on all members, if it is not carried.
  [[nodiscard]] static int leader_of(MPI_Comm comm);
  /// A new id, unique across the threads of this rank and across ranks.
  [[nodiscard]] std::uint64_t next_id();
  /// Adds a communicator with the agreed id. Returns null if it is not carried.
  MpiCommunicator* add(MPI_Comm comm, std::uint64_t id);
  /// Adds an intercommunicator with the agreed id. rank: in the own group; peers: the other group's world
  /// ranks.
  MpiCommunicator* add_between_groups(MPI_Comm comm, std::uint64_t id, int rank, std::vector<int> peers);
  /// The id of the next object made from a communicator (another one, a window, a file): a function of what
  /// all members know, without communication.
  static std::uint64_t next_derived_id(MpiCommunicator& parent);
  /// The id of one of the communicators into which such an operation divides the members.
  static std::uint64_t id_of_part(std::uint64_t derived, int leader);
  /// The world ranks of both groups of an intercommunicator. Returns false for other communicators, and if a
  /// member is outside of MPI_COMM_WORLD.
  [[nodiscard]] static bool are_ranks_of_world(MPI_Comm comm, std::vector<int>& local,
                                               std::vector<int>& remote);
  /// The id of the number-th partitioned message of a tag between two world ranks.
  static std::uint64_t id_of_partitioned(std::uint64_t context, int source, int destination, int tag,
                                         std::uint32_t number);
  /// The context of one persistent collective, opened in the order of the `_init` calls. Its starts match
  /// those of the same collective on the other members, even if a rank starts several in another order. It
  /// has no point-to-point context and outlives its communicator.
  [[nodiscard]] MpiCommunicator open_persistent(MpiCommunicator& parent);
  void close_persistent(const MpiCommunicator& place) { engine_.close_context(*place.collective); }
  /// Call it before the communicator is freed: keeps its name if a report needs it.
  void keep_name(const MpiCommunicator& communicator);
  /// The MPI library's name of the communicator with this context. Empty if it is unknown.
  [[nodiscard]] std::string name_of(std::uint64_t context) const;
  /// Removes the communicator with this context after the MPI library has freed it. The handle may already be
  /// another thread's communicator.
  void remove(MPI_Comm comm, std::uint64_t context);
  /// Removes the old meaning of a handle that the MPI library has reused for a new communicator. The thread
  /// that freed the old one may not have called remove() yet.
  void forget_freed(MPI_Comm made);
  /// Changes whenever a handle loses its meaning.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 private:
  /// A cache of one entry per slot, in front of the hash table: a program uses few communicators.
  struct Slot {
    MPI_Comm comm{};
    MpiCommunicator* communicator = nullptr;
  };
  static std::size_t slot_of(MPI_Comm comm) { return slot_of_handle<kSlots>(comm); }
  /// find() beyond the cache. Fills the slot if the communicator is known.
  MpiCommunicator* look_up(MPI_Comm comm, Slot& slot);
  /// Owns the communicator and puts it into the cache.
  MpiCommunicator* keep(std::unique_ptr<MpiCommunicator> communicator);
  /// Closes both contexts. Operations in progress on them still complete.
  void close(const MpiCommunicator& communicator);
  /// True if all members are ranks of MPI_COMM_WORLD. Fills their world ranks.
  [[nodiscard]] static bool is_own(MPI_Comm comm, std::vector<int>& world);

  static constexpr std::size_t kSlots = 32;
  Engine& engine_;
  std::array<Slot, kSlots> recent_{};
  std::unordered_map<MPI_Comm, std::unique_ptr<MpiCommunicator>> known_;
  std::unordered_map<std::uint64_t, std::string> names_;  // of freed communicators
  std::uint32_t next_ = 1;
  std::uint64_t generation_ = 0;
};

}  // namespace offramp
