// Communicators and types for looking up the arguments of MPI calls, and settings for handling payload.
#pragma once

#include <mpi.h>

#include <vector>

#include "lib/base/thread_safety.hpp"
#include "lib/run/engine/engine.hpp"
#include "lib/run/mpi/marshal/communicator.hpp"
#include "lib/run/mpi/marshal/datatype.hpp"
#include "lib/run/mpi/marshal/kept_calls.hpp"

namespace offramp {

/// The session's lock for clang's thread-safety analysis. Below MPI_THREAD_MULTIPLE there is no lock.
class CAPABILITY("session lock") SessionLock {
 public:
  /// For code that is only called with the lock but cannot declare it: during a Call, or from the engine.
  void assume_held() const ASSERT_HELD(this) {}
};
inline constexpr SessionLock session_lock;

/// One per session. Used by one thread at a time.
struct MarshalContext {
  explicit MarshalContext(Engine& carrier) : engine(carrier), communicators(carrier) {}

  /// Returns null if Offramp does not carry the communicator.
  MpiCommunicator* find(MPI_Comm comm) {
    return persistent != nullptr ? persistent : communicators.find(comm);
  }

  Engine& engine;
  Communicators communicators;
  Datatypes datatypes;
  KeptCalls kept_calls;
  std::vector<MPI_Datatype>* checked_types = nullptr;  // CheckedTypes; usually null
  MpiCommunicator* persistent = nullptr;               // see BuildOn; usually null
  bool moves_payload = true;                           // false: the program is only recorded
  bool native_reductions = false;  // the MPI library's own functions compute the results of reductions
};

}  // namespace offramp
