// The MPI functions in traces of calls, and their meaning for a replay.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/programs/import/communicators.hpp"
#include "lib/programs/import/made_events.hpp"

namespace offramp::trace {

/// How a replay treats a function.
enum class FunctionKind : std::uint8_t {
  kOther,    // takes no modelled time
  kUnknown,  // without a model: it moves data, waits, or is no MPI function
  kSend,     // any function that begins a send, see Function::call and flags
  kReceive,
  kPersistent,  // a persistent send or receive
  kStart,
  kStartall,
  kSendrecv,
  kSendrecvReplace,
  kWait,
  kWaitall,
  kWaitany,
  kWaitsome,
  kTest,
  kTestall,
  kTestany,
  kTestsome,
  kProbe,
  kIprobe,
  kCancel,
  kRequestFree,
  kCollective,
  kMaking,  // makes a communicator or a group
};

/// A function's meaning. The defaults are those of a local function, which needs no event.
struct Function {
  FunctionKind kind = FunctionKind::kOther;
  MpiFunction call = MpiFunction::kOther;
  std::uint8_t flags = 0;  // of a message; of a persistent one, those of its starts
  bool sends = false;      // of a persistent message
  OperationKind operation = OperationKind::kCount;
  bool blocking = true;  // of a collective
  Making::Method making = Making::Method::kDuplicate;
};

/// name: "MPI_Send".
Function function_of(std::string_view name);

}  // namespace offramp::trace
