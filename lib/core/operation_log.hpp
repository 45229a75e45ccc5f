// Who did what for whom: what the receipt of a call needs to know beside the spans of the hardware.
//
// Operations are numbered as in Span::operation: the rank that began it in the upper half, and from 1 on in
// the lower one. 0 is none.
#pragma once

#include <cstdint>
#include <string_view>

#include "offramp/kernel/time.hpp"

namespace offramp {

/// As OperationLog::host() names the time until an answer that the peer gives.
inline constexpr std::string_view kWaitForPeer = "wait for a peer";

class OperationLog {
 public:
  virtual ~OperationLog() = default;
  /// The program's current call began this operation, or learnt that it is complete.
  virtual void used(std::uint64_t operation) = 0;
  /// This rank has sent a message to a rank of the world: another one, or itself.
  virtual void sent(std::uint64_t message, int destination) = 0;
  /// A message is part of a collective.
  virtual void part(std::uint64_t message, std::uint64_t collective) = 0;
  /// What the host itself did for an operation, beside what the backend tells in spans of its own. what: a
  /// literal.
  virtual void host(std::uint64_t operation, std::string_view what, Time begin, Time end) = 0;
};

}  // namespace offramp
