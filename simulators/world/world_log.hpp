// Interface for the log of a world: the operations of each rank and their dependencies, in addition to the
// backends' spans. Traces, call receipts, and the critical path are derived from it. Operation ids are as in
// offramp/kernel/operation_id.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "offramp/kernel/time.hpp"
#include "offramp/model/operation.hpp"

namespace offramp {

class Network;

/// The name of the time until a peer answers, in WorldLog::host().
inline constexpr std::string_view kWaitForPeer = "wait for a peer";

/// A message that a rank had to wait for.
struct MessageWait {
  Time begin;  // its send
  Time at;     // when the rank could continue
  std::uint64_t bytes = 0;
  int source = 0;    // world rank
  Time shared = {};  // delay by other messages on its links
};

/// A description of an operation.
struct OperationFacts {
  OperationKind kind = OperationKind::kSend;  // kSend: a message
  std::uint64_t bytes = 0;
  /// World rank: receiver of a message (possibly the sender itself), or root of a collective; negative: none.
  int peer = -1;
  int tag = 0;                    // messages only
  std::uint64_t context = 0;      // the communicator's
  Access access = Access::kNone;  // the message moves its data; peer is its target
};

/// Receives the log of a world, on the thread of the world.
class WorldLog {
 public:
  virtual ~WorldLog() = default;
  /// In a rank with several threads: the following calls for this rank's program belong to this thread.
  virtual void select_thread(int /*rank*/, std::uint32_t /*thread*/) {}
  /// The rank's program begins the operation or completes it.
  virtual void used(int rank, std::uint64_t operation) = 0;
  /// A rank begins to send a message (for its program or a collective), or enters a collective.
  virtual void began(std::uint64_t operation, const OperationFacts& facts) = 0;
  /// The message belongs to a collective of this rank, which is its sender or its receiver.
  virtual void add_part(int rank, std::uint64_t message, std::uint64_t collective) = 0;
  /// Host processor time for an operation, beyond the backend's own spans. what: a string literal.
  virtual void host(int rank, std::uint64_t operation, std::string_view what, Time begin, Time end) = 0;
  /// Called in order of modelled events, which can differ from the order of the rank's clock.
  virtual void waited(int rank, const MessageWait& wait) = 0;
  /// See NetworkWorld::carries().
  virtual void carried(const Network& network, std::size_t link, Time begin, Time end, Bandwidth rate) = 0;
};

}  // namespace offramp
