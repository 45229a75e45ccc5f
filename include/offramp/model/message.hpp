// One point-to-point message in a model: its contents, and the times at which it passes the stages of the
// hardware.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "offramp/kernel/time.hpp"
#include "offramp/model/operation.hpp"

namespace offramp {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// One point-to-point message between world ranks. number counts the messages of this (source, destination)
/// pair that this backend has carried: those of the program from 0, those of collectives from
/// kFirstOfCollectives. With the seed or script it determines the message's fate.
struct Transfer {
  /// World ranks.
  int source = 0;
  int destination = 0;
  std::size_t bytes = 0;
  ElementType element = ElementType::kByte;
  int tag = 0;
  std::uint64_t context = 0;
  bool synchronous = false;       // complete only after the receive is matched (MPI_Ssend)
  bool signal = false;            // in a world: part of a barrier, without data
  Access access = Access::kNone;  // in a world: moves the data of this access, which no program receives
  std::uint32_t number = 0;
  std::size_t footprint = 0;    // in a world: see Team::footprint
  std::uint64_t operation = 0;  // for spans
  std::uint64_t detail = 0;     // Stamp::detail of a token that crosses the network (Team::send_crossing())
  Bytes data = {};              // payload for a packet capture; otherwise empty
};

/// The condition under which the data of a message may leave.
enum class Protocol : std::uint8_t {
  kDirect,      // none: the sender's device sends it at once
  kGranted,     // the receiver's device answers a request at once, and keeps the data for a later receive
  kRendezvous,  // the receiver's device answers a request once a receive is posted
  kConfirmed,   // as kDirect, but the send completes once the receiver has received the message
};

/// kPosted: the receive was posted before the data came. kUnexpected: later, so the library buffered the
/// data.
enum class Matched : std::uint8_t { kPosted, kUnexpected };

/// More messages than any program sends to one rank. The low bits distinguish both sequences where only those
/// are used.
inline constexpr std::uint32_t kFirstOfCollectives = (1U << 28U) + (1U << 11U);
/// The accesses of a rank to the memory of others, in a world.
inline constexpr std::uint32_t kFirstOfAccesses = (2U << 28U) + (1U << 10U);

/// The modelled times at which one message passes the stages of the hardware. Each stage (see Backend) reads
/// the results of earlier ones and sets its own.
struct Passage {
  Time issued;     // the program's call
  Time host_free;  // a nonblocking call returns to the program
  Time begin;      // the sender's device starts to process it
  // Request and answer; unused by direct messages.
  Time requested;              // the request is at the receiver's device
  Time posted = Time::ps(-1);  // when the matching receive was posted; negative: unknown, assumed early
  Time granted;                // the receiver's device starts to answer
  Time answered;               // the answer is at the sender's device
  // The data, at the sender's port, on the way, and at the receiver's port.
  Time leaves;  // first byte
  Time left;    // last byte
  Time latency;
  Time first;
  Time last;
  Time stored;                   // all of it is in the receiver's memory
  Time by_processor;             // time for which the receiver's processor moved the data itself
  Time complete = Time::ps(-1);  // the send is complete at the sender; negative: not known yet
  Time freed = Time::ps(-1);  // when the sender's kBySender resource is free again; negative: at `complete`
  // Set by a stage that must wait: the time at which it wants to be called again. Negative at its first call.
  Time again = Time::ps(-1);
  Protocol protocol = Protocol::kDirect;
  bool failed = false;      // the protocol gave up: both ends get an error
  bool notified = false;    // the receiver notifies the sender of completion; a slow network delays that
  std::uint8_t reason = 0;  // of a failure, for Backend::failure()

  /// The time at which the sender's kBySender resource is free again.
  [[nodiscard]] Time free_at() const { return freed >= Time() ? freed : complete; }
  /// True if the data arrived before the receive and had to be buffered.
  [[nodiscard]] bool arrived_before(Time receive) const {
    return waits_for_answer() ? protocol == Protocol::kGranted && receive > granted : receive > last;
  }
  /// True if the sender requests permission before it sends the data.
  [[nodiscard]] bool waits_for_answer() const {
    return protocol == Protocol::kGranted || protocol == Protocol::kRendezvous;
  }
};

/// Calls a stage until it requests no further call, for callers without concurrent events.
void to_its_end(Passage& passage, auto stage) {
  for (Time asked = passage.again;; asked = passage.again) {
    stage();
    // A stage requests another call by a new value of `again`.
    if (passage.again == asked) break;
  }
  passage.again = Time::ps(-1);
}

/// The data of a token in a world (Team::send_token()). The algorithm that sends it defines the fields.
struct Stamp {
  Time first;
  Time last;
  std::uint64_t detail = 0;

  /// The topmost bit of `detail`. An algorithm uses the bits below it only.
  static constexpr std::uint64_t kFailed = std::uint64_t{1} << 63;
  /// The protocol gave up on the message: both ends get an error.
  [[nodiscard]] bool failed() const { return (detail & kFailed) != 0; }
};

/// The outcome of a message or an algorithm.
enum class Outcome : std::uint8_t {
  kOk,
  kTruncated,  // the message was longer than the receive
  kFault,      // the modelled protocol could not repair a fault
  kCancelled
};

/// Records the first failure as an algorithm's outcome. The algorithm itself continues, so that other ranks
/// do not wait forever.
inline void note(Outcome& outcome, Outcome step) {
  if (outcome == Outcome::kOk) outcome = step;
}

/// Wildcards of a receive. These are the values of models; an MPI library has its own.
inline constexpr int kAnySource = -1;
inline constexpr int kAnyTag = -1;

/// The reason for an operation's carrier.
enum class Handling : std::uint8_t {
  kOffloaded,  // to the chosen backend
  kRouted,     // to another backend, by a route
  kDeclined    // the host carries it instead
};

/// The result of a receive or a probe.
struct Received {
  Outcome outcome = Outcome::kOk;
  int source = 0;  // rank in the communicator
  int tag = 0;
  std::size_t bytes = 0;
  Handling handling = Handling::kOffloaded;  // for a received message: chosen by its sender
  Time spent = {};                           // how far receiving it has advanced the program's clock
};

}  // namespace offramp
