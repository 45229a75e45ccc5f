// Calls that the MPI library carries and that make ranks wait for each other: constructors, windows, files,
// neighbourhood collectives, intercommunicators. They are recorded, because they cost no modelled time, but
// take the clocks of their members in a world to the latest among them.
#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "lib/run/engine/engine.hpp"
#include "lib/run/mpi/marshal/marshal_context.hpp"
#include "lib/run/native/handles.hpp"

namespace offramp {

class Call;
class Session;

/// Where the members of a communicator, a window or a file meet.
struct MeetingPlace {
  Context* context = nullptr;
  std::vector<int> remote;    // of an intercommunicator: the members of the other group
  Context* epochs = nullptr;  // of a window: of MPI_Win_post and the like, which not all members call
  std::vector<int> origins;   // of a window: to whom it is exposed
  std::vector<int> targets;   // of a window: whose windows this rank may access
};

/// The places of what is not a communicator of Offramp's own: windows, files and intercommunicators whose
/// members are all ranks of MPI_COMM_WORLD. Used by one thread at a time.
class Meetings {
 public:
  /// A handle of any kind: those of different kinds have different bits, too.
  struct Key {
    template <typename Handle>
    Key(Handle handle) : bits(bits_of(handle)) {}  // NOLINT(google-explicit-constructor)
    std::uintptr_t bits;
  };

  explicit Meetings(Engine& engine) : engine_(engine) {}

  void open(Key handle, std::uint64_t id, int rank, std::vector<int> world, std::vector<int> remote = {});
  /// Of a window, which is open: where origins and targets meet.
  void open_epochs(Key handle, std::uint64_t id);
  /// Null: its members do not meet. Valid until it is closed.
  MeetingPlace* find(Key handle);
  /// The handle is about to go; its members have met for the last time.
  void close(Key handle);

 private:
  Engine& engine_;
  std::unordered_map<std::uintptr_t, MeetingPlace> places_;
};

Context* place_of_communicator(Session& session, MPI_Comm comm);
Context* place_of_other(Session& session, Meetings::Key handle);
/// Of a communicator, a window or a file. Null: the members do not meet. Where windows have the type of
/// communicators, they are never found as one: their bits differ.
template <typename Handle>
Context* meeting_place(Session& session, Handle handle) {
  if constexpr (std::is_same_v<Handle, MPI_Comm>) {
    return place_of_communicator(session, handle);
  } else {
    return place_of_other(session, handle);
  }
}

/// Whether a call that returned this code took part in what the others do. A wrong argument is found before
/// anybody waits; a file that one rank cannot open keeps no other rank from opening it.
bool took_part(int code);

/// What clocks are told about, in recordings.
enum Subject : std::uint32_t { kPosted, kCompleted, kUnnamedSubject };
/// Records that this rank tells its clock and hears others'. Returns the request unless it blocks.
std::uint32_t record_exchange(Call& call, const Context& place, std::uint32_t subject,
                              std::span<const int> to, std::span<const int> from, bool blocking);

/// Whom a rank tells its clock, and whose clocks it hears.
struct Neighbours {
  std::vector<int> to;
  std::vector<int> from;
};

/// The same around a call of the MPI library. Where several threads are in calls at once, the recording has
/// its begin too: what another thread does meanwhile may be what the others wait for before they come here.
class MeetingAround {
 public:
  MeetingAround(Call& call, Context* place) : MeetingAround(call, place, std::nullopt) {}
  /// Not all members: the neighbours in the topology, or the other group of an intercommunicator.
  static MeetingAround neighbours(Call& call, MPI_Comm comm);
  static MeetingAround other_group(Call& call, MPI_Comm comm);
  /// Where the clocks meet before the call: the place may be gone afterwards.
  void meet();
  /// The call is over; false: this rank has not taken part in it.
  void end(bool took_part = true);

 private:
  MeetingAround(Call& call, Context* place, std::optional<Neighbours> near);
  std::uint32_t record(bool blocking);

  Call& call_;
  Context* place_;
  std::optional<Neighbours> near_;  // none: all members meet
  std::uint32_t begun_ = 0;
  bool over_ = false;
};

/// A nonblocking call on a communicator, which start() makes: its request is replaced by one of Offramp's,
/// which completes when the neighbours in the topology have met too. Only the call where they do not meet.
int start_beside_neighbours(Call& call, MPI_Comm comm, MPI_Request& request,
                            const std::function<int()>& start) REQUIRES(session_lock);

/// A new window or file over a communicator, or null where it could not be made: its members meet at the new
/// handle. Called on all of them or on none.
void open_meeting_place(Call& call, MPI_Comm comm, MPI_Win window);
void open_meeting_place(Call& call, MPI_Comm comm, MPI_File file);
/// A new intercommunicator: its members agree on an id, natively.
void open_intercommunicator(Call& call, MPI_Comm comm);
/// The members of a new communicator that has no parent in which all take part wait for each other there.
void meet_at_new(Call& call, MPI_Comm comm);

}  // namespace offramp
