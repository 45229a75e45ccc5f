// The functions of MPI that a trace of calls may have, and what each of them is here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/programs/import/communicators.hpp"
#include "lib/programs/import/made_events.hpp"

namespace offramp::trace {

enum class FunctionKind : std::uint8_t {
  kOther,    // takes no modelled time
  kUnknown,  // the same, and that may be wrong: it moves data, waits, or is no function of MPI
  kSend,     // and what else begins a message: Function::call and flags
  kReceive,
  kPersistent,  // of the two
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
  kMaking,  // of a communicator or a group
};

struct Function {
  FunctionKind kind = FunctionKind::kOther;
  Call call = Call::kOther;
  std::uint8_t flags = 0;  // of a message; of a persistent one those of what it starts
  bool sends = false;      // of a persistent message
  OperationKind operation = OperationKind::kCount;
  bool blocking = true;  // of a collective
  Making::Kind making = Making::Kind::kDuplicate;
};

/// name: "MPI_Send".
Function function_of(std::string_view name);

}  // namespace offramp::trace
