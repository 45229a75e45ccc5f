// The communicators whose point-to-point traffic Offramp carries: intracommunicators of ranks of
// MPI_COMM_WORLD.
#pragma once

#include <mpi.h>

#include <array>
#include <memory>
#include <unordered_map>

#include "lib/run/engine/engine.hpp"
#include "lib/run/native/handles.hpp"

namespace offramp {

struct MpiCommunicator {
  MPI_Comm handle = MPI_COMM_NULL;
  Context* context = nullptr;     // point-to-point
  Context* collective = nullptr;  // the messages of collective algorithms
  int rank = 0;
  int size = 0;
  std::uint32_t derived = 0;   // ids derived from this one's so far; equal on all members
  std::uint32_t recorded = 0;  // as Context::recorded
};

/// Which communicator it is in the recording of this rank.
void set_recorded(MpiCommunicator& communicator, std::uint32_t number);

/// Used by one thread at a time. Context ids are agreed by the members and never used twice in a run.
class Communicators {
 public:
  explicit Communicators(Engine& engine) : engine_(engine) {}

  /// Null: not carried by Offramp (an intercommunicator, strangers in the group, or not a communicator at
  /// all).
  MpiCommunicator* find(MPI_Comm comm) {
    Slot& slot = recent_[slot_of(comm)];
    if (slot.comm == comm) [[likely]]
      return slot.communicator;
    return look_up(comm, slot);
  }

  /// MPI_COMM_WORLD and MPI_COMM_SELF.
  void add_predefined();
  /// The world rank of the first member of a communicator that has just been made. Negative: it is not
  /// carried (alike on all members).
  [[nodiscard]] static int leader_of(MPI_Comm comm);
  /// An id that this rank gives to one thing and to no other, whatever its threads do meanwhile.
  [[nodiscard]] std::uint64_t take_id();
  /// Takes over a communicator with the id that is agreed. Null: it is not carried.
  MpiCommunicator* add(MPI_Comm comm, std::uint64_t id);
  /// An id for what is made next from a communicator (another one, a window, a file): a function of what all
  /// members know, without communication.
  static std::uint64_t next_derived_id(MpiCommunicator& parent);
  /// The same for one of the communicators into which such an operation divides the members.
  static std::uint64_t id_of_part(std::uint64_t derived, int leader);
  /// Of an intercommunicator, the world ranks of both groups; false: it is none, or some are strangers.
  [[nodiscard]] static bool are_ranks_of_world(MPI_Comm comm, std::vector<int>& local,
                                               std::vector<int>& remote);
  /// A place for one persistent collective, made in the order of the `_init` calls. Its starts match those of
  /// the same collective on the other members, in whatever order a rank starts several. It has no context for
  /// messages between ranks, and outlives its communicator.
  [[nodiscard]] MpiCommunicator open_persistent(MpiCommunicator& parent);
  void close_persistent(const MpiCommunicator& place) { engine_.close_context(*place.collective); }
  /// The communicator is about to be freed: keeps its name if a report will need it.
  void keep_name(const MpiCommunicator& communicator);
  /// The name that the MPI library knows of the communicator with this context; empty: not known.
  [[nodiscard]] std::string name_of(std::uint64_t context) const;
  /// Forgets the communicator with this context after the MPI library freed it. Another thread's communicator
  /// may have the handle by now.
  void remove(MPI_Comm comm, std::uint64_t context);
  /// Forgets what the handle meant before the MPI library gave it to a new communicator. The thread that
  /// freed the old one may not have come to remove() yet.
  void forget_freed(MPI_Comm made);

 private:
  struct Slot {
    MPI_Comm comm{};
    MpiCommunicator* communicator = nullptr;
  };
  static std::size_t slot_of(MPI_Comm comm) { return slot_of_handle<kSlots>(comm); }
  MpiCommunicator* look_up(MPI_Comm comm, Slot& slot);
  void close(const MpiCommunicator& communicator);
  [[nodiscard]] static bool is_own(MPI_Comm comm, std::vector<int>& world);

  static constexpr std::size_t kSlots = 32;
  Engine& engine_;
  std::array<Slot, kSlots> recent_{};
  std::unordered_map<MPI_Comm, std::unique_ptr<MpiCommunicator>> known_;
  std::unordered_map<std::uint64_t, std::string> names_;  // of those that are freed
  std::uint32_t next_ = 1;
};

}  // namespace offramp
