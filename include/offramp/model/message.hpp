// One point-to-point message as a model sees it: what is sent, and when it passes the stages of the hardware.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "offramp/kernel/time.hpp"
#include "offramp/model/operation.hpp"

namespace offramp {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// One point-to-point message. Ranks are world ranks. number counts the messages of this (source,
/// destination) pair that this backend has carried, those of the program from 0, those of collectives from
/// kFirstOfCollectives: with the seed of the fault script it fixes the message's fate.
struct Transfer {
  int source = 0;
  int destination = 0;
  std::size_t bytes = 0;
  ElementType element = ElementType::kByte;
  int tag = 0;
  std::uint64_t context = 0;
  bool synchronous = false;  // complete only after the receive is matched (MPI_Ssend)
  bool signal = false;  // in a world: says that a rank has come so far, and carries nothing: of a barrier
  std::uint32_t number = 0;
  std::size_t footprint = 0;    // in a world: see Team::footprint
  std::uint64_t operation = 0;  // for spans
  std::uint64_t detail = 0;     // of a token that crosses the network (Team::send_crossing()): Stamp::detail
  Bytes data = {};              // the payload for a packet capture; empty where it is not wanted or not known
};

/// What decides when the data of a message may leave.
enum class Protocol : std::uint8_t {
  kDirect,      // the sender's device alone: the data leaves at once
  kGranted,     // the receiver's device answers a request by itself, and keeps the data for a later receive
  kRendezvous,  // the receiver's device answers a request once a receive was posted
  kConfirmed,   // as kDirect, but the send is complete only once the receiver has taken the message
};

/// Where a message found its receive: among those that were posted before its data came, or only later, so
/// that the data waited in memory of the library.
enum class Matched : std::uint8_t { kPosted, kUnexpected };

/// No program sends so many messages to one rank. The low bits keep the numbers of both kinds apart where
/// only those count.
inline constexpr std::uint32_t kFirstOfCollectives = (1U << 28U) + (1U << 11U);

/// One message on its way: the moments of modelled time at which it passes the stages of the hardware. Each
/// stage (see Backend) reads what earlier ones have found, and sets its own.
struct Passage {
  Time issued;     // the program calls
  Time host_free;  // a nonblocking call returns to the program
  Time begin;      // the sender's device begins with it
  // Between the devices, unless the data leaves at once.
  Time requested;              // the request is at the receiver's device
  Time posted = Time::ps(-1);  // the receive that the message is for; negative: not known, taken to be early
  Time granted;                // the receiver's device answers
  Time answered;               // the answer is at the sender's device
  // The data: at the sender's port, how long the way is, at the receiver's port.
  Time leaves;  // first byte
  Time left;    // last byte
  Time latency;
  Time first;
  Time last;
  Time stored;                   // all of it is in the receiver's memory
  Time by_processor;             // so long the receiver's processor has moved the data there itself
  Time complete = Time::ps(-1);  // the send is complete at the sender; negative: not known yet
  Time freed = Time::ps(-1);  // what one message holds at the sender takes the next; negative: once complete
  // A stage that has to wait for what it needs sets this, and is called again then. Negative at its first
  // call.
  Time again = Time::ps(-1);
  Protocol protocol = Protocol::kDirect;
  bool failed = false;      // the protocol gave up on the message: both ends get an error
  bool notified = false;    // the receiver tells the sender that it has the data: a slow network delays that
  std::uint8_t reason = 0;  // of a failure, for Backend::failure()

  /// When a resource that is held by senders is free again.
  [[nodiscard]] Time free_at() const { return freed >= Time() ? freed : complete; }
  /// Whether the data came before the receive and had to be kept.
  [[nodiscard]] bool came_before(Time receive) const {
    return asks() ? protocol == Protocol::kGranted && receive > granted : receive > last;
  }
  /// Whether the data waits for an answer.
  [[nodiscard]] bool asks() const {
    return protocol == Protocol::kGranted || protocol == Protocol::kRendezvous;
  }
};

/// Calls a stage until it has nothing more to wait for: where nothing else happens in between.
template <typename Stage>
void to_its_end(Passage& passage, Stage stage) {
  for (Time asked = passage.again;; asked = passage.again) {
    stage();
    if (passage.again == asked) break;
  }
  passage.again = Time::ps(-1);
}

/// What comes with a token in a world (Team::send_token()). The algorithm that sends it gives the fields
/// their meaning.
struct Stamp {
  Time first;
  Time last;
  std::uint64_t detail = 0;

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

/// The first step that fails gives an algorithm its outcome. The algorithm itself goes on, so that the other
/// ranks do not wait for ever.
inline void note(Outcome& outcome, Outcome step) {
  if (outcome == Outcome::kOk) outcome = step;
}

inline constexpr int kAnySource = -1;
inline constexpr int kAnyTag = -1;

/// How an operation came to what carries it.
enum class Handling : std::uint8_t {
  kOffloaded,  // to the chosen backend
  kRouted,     // a route gives it to another one
  kDeclined    // the host carries it instead
};

/// What a receive or a probe found.
struct Received {
  Outcome outcome = Outcome::kOk;
  int source = 0;  // rank in the communicator
  int tag = 0;
  std::size_t bytes = 0;
  Handling handling = Handling::kOffloaded;  // of a received message, as its sender's
  Time spent = {};                           // by which learning of it has moved the program's clock
};

}  // namespace offramp
