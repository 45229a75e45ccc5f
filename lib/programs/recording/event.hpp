// What a recording holds of one rank: its calls as events in program order, without payload. Where several
// threads call, each event is one thread's, and they stand in the order in which the rank came to them.
//
// Events are the same whichever hardware carried the program, or none: sizes, ranks and tags as the program
// gave them, and requests by how many were begun since. What the order of arrival decided (which message a
// wildcard took, which of several requests was done first, how often a question found nothing) and the CPU
// time between calls stand beside the events, not in them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "offramp/model/operation.hpp"

namespace offramp::recording {

enum class EventKind : std::uint8_t {
  kSend,          // a message: peer, tag, bytes, element
  kReceive,       // a receive: peer, tag (either may be a wildcard), bytes of room
  kCollective,    // operation, element, function, peer (root), bytes, extra, lists: see Event
  kWait,          // the program learns that requests are done: extra or list
  kProbe,         // it learns of a message, and leaves it there: peer, tag
  kClaim,         // the same, and the message is taken (MPI_Mprobe): begins a request, as a receive
  kCancel,        // takes a receive back; it is waited for (or freed) all the same: extra
  kFree,          // the program does not want to know of a request any more: extra
  kCommunicator,  // the next communicator of this rank, persistent collective, or place where clocks meet:
                  // list (members), extra
  kMeet,          // the clocks of a communicator's members go to the latest one
  kExchange,      // this rank tells some its clock and hears those of others: tag (subject), lists
  kPhase,         // MPI_Pcontrol: tag (level), list (name, a character each; empty: none)
  kNative,        // a call that takes no modelled time
  kClock,         // MPI_Wtime, which is to say modelled time: extra (calls since the one before)
  kCount
};

/// Bits of Event::flags.
enum EventFlag : std::uint8_t {
  kBlocking = 1,     // begun and over in one call: no request. Else a kSend, kReceive, kClaim,
                     // kCollective, kMeet or kExchange begins one
  kContinues = 2,    // part of the same call as the event before
  kSynchronous = 4,  // of a send
  kPersistent = 4,   // of a kCommunicator: a persistent collective (MPI_Bcast_init and so on), whose starts
                     // are collectives on it; the event's communicator is the one that it was made on
  kBuffered = 8,     // of a send: the program never waits for it; no request
  kInPlace = 16,     // of a collective: one buffer is both
  kNotCommutative = 32,
  kAny = 64,    // of a wait: one of the list, see Reader::choice()
  kSome = 128,  // the same: one or several
};

/// One event. Equal ones are written once. Plain words without holes: compared and hashed as memory.
struct Event {
  EventKind kind = EventKind::kNative;
  std::uint8_t flags = 0;
  ElementType element = ElementType::kByte;
  ReduceFunction function = ReduceFunction::kNone;
  OperationKind operation = OperationKind::kSend;  // of a collective
  std::uint8_t zero = 0;
  std::uint16_t call = 0;          // the MPI function: an index into the names of the recording
  std::uint32_t communicator = 0;  // 0: world, 1: self, then as kCommunicator counts them
  std::int32_t peer = 0;           // rank in the communicator
  std::int32_t tag = 0;
  std::uint32_t list = 0;  // 0: none
  std::uint32_t second_list = 0;
  std::uint32_t site = 0;  // where in the program the call is: see Reader::site(); 0: not known
  /// Of a message, its size or the room for it; of a collective Operation::bytes, or with blocks of
  /// different sizes what this rank sends.
  std::uint64_t bytes = 0;
  /// kWait, kCancel and kFree of one request: which one, by how many this rank has begun since: 1 is the
  /// newest; 0: the list says which. A reduction: Operation::elements. Other collectives with blocks of
  /// different sizes: bytes that this rank receives. Their lists are the blocks sent and received (empty
  /// where CollectiveBuffers has none). kCommunicator: an id on which its members agree, so that those of
  /// the same members are told apart in whatever order the ranks make them.
  std::uint64_t extra = 0;

  friend bool operator==(const Event&, const Event&) = default;
};
static_assert(sizeof(Event) == 48);

/// The communicators that need no event.
inline constexpr std::uint32_t kWorld = 0;
inline constexpr std::uint32_t kSelf = 1;
/// The first one that kCommunicator makes.
inline constexpr std::uint32_t kFirstMade = 2;

constexpr bool begins_request(const Event& event) {
  constexpr std::uint32_t kKinds =
      1U << static_cast<int>(EventKind::kSend) | 1U << static_cast<int>(EventKind::kReceive) |
      1U << static_cast<int>(EventKind::kCollective) | 1U << static_cast<int>(EventKind::kClaim) |
      1U << static_cast<int>(EventKind::kMeet) | 1U << static_cast<int>(EventKind::kExchange);
  const auto kind = static_cast<unsigned>(event.kind);
  return kind < static_cast<unsigned>(EventKind::kCount) && (kKinds >> kind & 1U) != 0 &&
         (event.flags & (kBlocking | kBuffered)) == 0;
}

/// CPU time from a question that found nothing to the next question, in nanoseconds: whether the program
/// computes there or only waits, the recording cannot know.
struct Gaps {
  std::uint64_t brief = 0;   // of gaps up to kBriefGap: what a loop takes that only asks
  std::uint64_t longer = 0;  // of the others

  [[nodiscard]] bool any() const { return brief > 0 || longer > 0; }
  friend bool operator==(const Gaps&, const Gaps&) = default;
};
/// In nanoseconds; assumed: a loop around MPI_Test takes some tens of nanoseconds a turn, a step of a
/// computation that is worth a question many microseconds.
inline constexpr std::uint64_t kBriefGap = 1000;

/// What a wildcard took.
struct Match {
  std::int32_t source = 0;  // rank in the communicator; negative: the receive was cancelled
  std::int32_t tag = 0;
};

}  // namespace offramp::recording
