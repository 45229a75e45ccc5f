// Who did what for whom in a world, beside what the hardware tells in spans: what traces, receipts of calls
// and the critical path are made from. Operations are numbered as in offramp/kernel/operation_id.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "offramp/kernel/time.hpp"
#include "offramp/model/operation.hpp"

namespace offramp {

class Network;

/// As WorldLog::host() names the time until an answer that the peer gives.
inline constexpr std::string_view kWaitForPeer = "wait for a peer";

/// A message without which a rank could not go on.
struct MessageWait {
  Time begin;  // of its send
  Time at;     // when it let the rank go on
  std::uint64_t bytes = 0;
  int source = 0;    // world rank
  Time shared = {};  // by how much other messages on its links have made it later
};

/// What an operation of a rank is about.
struct OperationFacts {
  OperationKind kind = OperationKind::kSend;  // kSend: a message
  std::uint64_t bytes = 0;
  /// World rank: the receiver of a message, which may be the sender itself, or the root of a collective.
  /// Negative: a collective without a root.
  int peer = -1;
  int tag = 0;                // of a message
  std::uint64_t context = 0;  // its communicator
};

class WorldLog {
 public:
  virtual ~WorldLog() = default;
  /// In a rank with several threads, what follows of its program belongs to this one.
  virtual void turn(int /*rank*/, std::uint32_t /*thread*/) {}
  /// The rank's program begins this operation, or learns that it is complete.
  virtual void used(int rank, std::uint64_t operation) = 0;
  /// A rank begins to send a message, for its program or for a collective, or takes part in a collective.
  virtual void began(std::uint64_t operation, const OperationFacts& facts) = 0;
  /// A message is part of a rank's collective: of its sender's, or of its receiver's.
  virtual void part(int rank, std::uint64_t message, std::uint64_t collective) = 0;
  /// What the host itself did for an operation, beside what the backend tells in spans of its own. what: a
  /// literal.
  virtual void host(int rank, std::uint64_t operation, std::string_view what, Time begin, Time end) = 0;
  /// In the order in which the world comes to it, which is not that of the rank's clock.
  virtual void waited(int rank, const MessageWait& wait) = 0;
  /// As NetworkWorld::carries() has it.
  virtual void carried(const Network& network, std::size_t link, Time begin, Time end, Bandwidth rate) = 0;
};

}  // namespace offramp
