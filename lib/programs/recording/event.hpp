// The events of one rank in a recording: its calls in program order, without payload. In threaded programs
// each event belongs to one thread, and they are in the order in which the rank recorded them.
//
// Events do not depend on the hardware that carried the program. Sizes, ranks, and tags are those of the
// program, and requests are numbered by how many were begun since. Results of arrival order are stored beside
// the events: matches of wildcards, which of several requests completed first, and numbers of failed polls.
// So are the time between calls, and how long calls without a model took natively.
#pragma once

#include <cstdint>

#include "offramp/model/operation.hpp"

namespace offramp::recording {

/// The numbers are part of the format: new kinds come before kCount.
enum class EventKind : std::uint8_t {
  kSend,          // a message: peer, tag, bytes, element
  kReceive,       // peer, tag (either may be a wildcard), bytes of room
  kCollective,    // operation, element, function, peer (root), bytes, extra, lists: see Event
  kWait,          // the program learns that requests are complete: extra or list
  kProbe,         // finds a message and leaves it there: peer, tag
  kClaim,         // finds and takes a message (MPI_Mprobe): begins a request, as a receive
  kCancel,        // cancels a receive, which is still waited for or freed: extra
  kFree,          // the program releases a request without waiting: extra
  kCommunicator,  // next communicator, persistent collective, or group: list (members), extra
  kMeet,          // advances the clocks of a communicator's members to the latest, plus Times::native
  kNeighbours,    // messages to and from listed ranks at once; the lists are ranks and bytes in turn
  kPhase,         // MPI_Pcontrol: tag (level), list (one character each; empty: no name)
  kNative,        // a call without a model, which lasts Times::native
  kClock,         // MPI_Wtime in modelled time: extra (calls since the previous one)
  kAccess,        // to another rank's memory: peer (target), tag (an Access), bytes (to it), extra (from it)
  kCount
};

/// Bits of Event::flags.
enum EventFlag : std::uint8_t {
  // Begun and completed in one call, without a request. Without this flag, kSend, kReceive, kClaim,
  // kCollective, kNeighbours, kAccess, and kMeet begin a request.
  kBlocking = 1,
  kContinues = 2,    // part of the same call as the previous event
  kSynchronous = 4,  // of a send
  // On a kCommunicator: a persistent collective (MPI_Bcast_init and so on). Its starts are collectives on it.
  // The event's communicator is its parent.
  kPersistent = 4,
  kCommunicates = 4,  // of a kNative: with processes outside of the program, or waits for such; bytes
  kBuffered = 8,      // of a send: never waited for, without a request
  kInPlace = 16,      // of a collective: send and receive buffer are the same
  kNotCommutative = 32,
  kAny = 64,    // of a wait: for one of the list, see Reader::choice()
  kSome = 128,  // of a wait: for one or several
};

/// One event. Equal events are stored once. Plain words without padding, compared and hashed as memory.
struct Event {
  EventKind kind = EventKind::kNative;
  std::uint8_t flags = 0;
  ElementType element = ElementType::kByte;
  ReduceFunction function = ReduceFunction::kNone;
  OperationKind operation = OperationKind::kSend;  // of a collective
  /// Fills the gap before `call`; always 0, so that equal events have equal memory.
  std::uint8_t zero = 0;
  std::uint16_t call = 0;          // the MPI function: an index into the names of the recording
  std::uint32_t communicator = 0;  // 0: world, 1: self, then in the order of kCommunicator
  std::int32_t peer = 0;           // rank in the communicator
  std::int32_t tag = 0;
  std::uint32_t list = 0;  // 0: no list
  std::uint32_t second_list = 0;
  std::uint32_t site = 0;  // the call site, see Reader::site(); 0: unknown
  /// The size of a message, or a receive's room, also of a kNative that communicates; of a collective
  /// Operation::bytes, or all that this rank sends if blocks differ in size.
  std::uint64_t bytes = 0;
  /// Depends on the kind:
  /// - kWait, kCancel, kFree of one request: how many requests this rank has begun since, 1 for the newest.
  ///   0: see the list.
  /// - Reductions: Operation::elements.
  /// - Other collectives whose blocks differ in size: bytes that this rank receives. The lists are the sizes
  ///   of the blocks sent and received, empty if CollectiveBuffers has none.
  /// - kAccess: bytes that this rank gets.
  /// - kCommunicator: an id agreed among the members, which distinguishes communicators with the same members
  ///   even if ranks make them in different orders.
  std::uint64_t extra = 0;

  friend bool operator==(const Event&, const Event&) = default;
};
static_assert(sizeof(Event) == 48);

/// Communicators without an event.
inline constexpr std::uint32_t kWorld = 0;
inline constexpr std::uint32_t kSelf = 1;
/// The first communicator made by kCommunicator.
inline constexpr std::uint32_t kFirstMade = 2;

/// The tag of the messages of neighbourhood collectives, where they are written as messages.
inline constexpr std::int32_t kNeighboursTag = (1 << 22) - 1;

/// True if the event begins a request that a later event completes.
constexpr bool begins_request(const Event& event) {
  /// A bit per kind: this is asked for every event of a replay.
  constexpr std::uint32_t kKinds =
      1U << static_cast<int>(EventKind::kSend) | 1U << static_cast<int>(EventKind::kReceive) |
      1U << static_cast<int>(EventKind::kCollective) | 1U << static_cast<int>(EventKind::kClaim) |
      1U << static_cast<int>(EventKind::kMeet) | 1U << static_cast<int>(EventKind::kNeighbours) |
      1U << static_cast<int>(EventKind::kAccess);
  const auto kind = static_cast<unsigned>(event.kind);
  return kind < static_cast<unsigned>(EventKind::kCount) && (kKinds >> kind & 1U) != 0 &&
         (event.flags & (kBlocking | kBuffered)) == 0;
}

/// Times beside one event, in nanoseconds. The two before it exclude the time in which the thread was ready
/// to run and had no processor.
struct Times {
  std::uint64_t computing = 0;  // CPU time since the previous event
  std::uint64_t blocked = 0;    // the rest since then: an accelerator, a file, a sleep, another thread
  /// How long the call took in the recorded run, if the event is a kNative or a kMeet. A kMeet
  /// lasts, from its last member's entry on, as long as the shortest of its members' calls; of one on a file,
  /// each member's also lasts as long as its own.
  std::uint64_t native = 0;
};

/// Time from a failed poll to the next, in nanoseconds. It may be work or only waiting.
struct Gaps {
  std::uint64_t brief = 0;   // gaps up to kBriefGap: loops that only poll
  std::uint64_t longer = 0;  // all other gaps

  /// True if there was any time between polls.
  [[nodiscard]] bool any() const { return brief > 0 || longer > 0; }
  friend bool operator==(const Gaps&, const Gaps&) = default;
};
/// In nanoseconds. Assumed: a loop around MPI_Test takes some tens of nanoseconds per iteration, a useful
/// step of computation many microseconds.
inline constexpr std::uint64_t kBriefGap = 1000;

/// The message that a wildcard matched.
struct Match {
  std::int32_t source = 0;  // rank in the communicator; negative: the receive was cancelled
  std::int32_t tag = 0;
};

}  // namespace offramp::recording
