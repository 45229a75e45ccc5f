// What the arguments of MPI calls are looked up in: the program's communicators and types, and how payload is
// handled.
#pragma once

#include <mpi.h>

#include <vector>

#include "lib/base/thread_safety.hpp"
#include "lib/run/engine/engine.hpp"
#include "lib/run/mpi/marshal/communicator.hpp"
#include "lib/run/mpi/marshal/datatype.hpp"

namespace offramp {

/// Stands for the lock of the session where clang checks who holds it. Below MPI_THREAD_MULTIPLE there is no
/// lock, and one thread.
class CAPABILITY("session lock") SessionLock {
 public:
  /// For what is called only while the lock is held, and cannot say so: a Call is there, or the engine calls.
  void assume_held() const ASSERT_HELD(this) {}
};
inline constexpr SessionLock session_lock;

/// One per session. Used by one thread at a time.
struct MarshalContext {
  explicit MarshalContext(Engine& carrier) : engine(carrier), communicators(carrier) {}

  /// Null: not carried by Offramp.
  MpiCommunicator* find(MPI_Comm comm) {
    return persistent != nullptr ? persistent : communicators.find(comm);
  }

  Engine& engine;
  Communicators communicators;
  Datatypes datatypes;
  std::vector<MPI_Datatype>* checked_types = nullptr;  // CheckedTypes; mostly null
  MpiCommunicator* persistent = nullptr;  // where a persistent collective is built anew; mostly null
  bool moves_payload = true;  // false: the MPI library carries everything, and the program is only recorded
  bool native_reductions = false;  // the MPI library's own functions make the results of reductions
};

}  // namespace offramp
