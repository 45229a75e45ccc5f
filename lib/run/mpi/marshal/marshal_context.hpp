// Communicators and types for looking up the arguments of MPI calls, and settings for handling payload.
#pragma once

#include <mpi.h>

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

/// The context of a persistent collective, and its types, whose handles may be freed before a start.
struct PersistentArguments {
  MpiCommunicator place;  // without a context until it is opened
  Datatypes types{Datatypes::Lifetime::kOfTable};
};

/// One per session. Used by one thread at a time.
struct MarshalContext {
  /// The engine must outlive the object.
  explicit MarshalContext(Engine& carrier) : engine(carrier), communicators(carrier) {}

  /// Returns null if Offramp does not carry the communicator's collectives.
  MpiCommunicator* find_for_collectives(MPI_Comm comm) {
    const bool is_open = persistent != nullptr && persistent->place.collective != nullptr;
    if (is_open) return &persistent->place;
    MpiCommunicator* const found = communicators.find(comm);
    return found != nullptr && found->collective != nullptr ? found : nullptr;
  }
  /// Returns null for types that are not committed.
  const TypeInfo* find_type(MPI_Datatype type) {
    return (persistent != nullptr ? persistent->types : datatypes).find(type);
  }
  /// The bytes of `count` elements; 0 for types that are not committed.
  std::uint64_t bytes_of(std::int64_t count, MPI_Datatype type) {
    const TypeInfo* const known = find_type(type);
    return known != nullptr && count > 0 ? known->bytes(count) : 0;
  }

  Engine& engine;
  Communicators communicators;
  Datatypes datatypes;
  KeptCalls kept_calls;
  PersistentArguments* persistent = nullptr;  // see BuildOn; usually null
  bool moves_payload = true;                  // false: the program is only recorded
  bool native_reductions = false;  // the MPI library's own functions compute the results of reductions
};

}  // namespace offramp
