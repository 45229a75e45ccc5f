// Serves this process's messages while it is inside a call of the MPI library that waits for other processes
// without calling Offramp's progress. A peer that waits for a message of this rank would otherwise be blocked
// as long as the call. With Open MPI these are the few calls that sleep in the process manager's client:
// MPI_Comm_spawn, accept, connect, join, the name service, and disconnecting from other jobs. MPICH has no
// progress hook, so there it is every blocking call (lib/run/native/mpich_blocking.cpp).
#pragma once

#include <condition_variable>
#include <thread>

#include "lib/base/thread_safety.hpp"

namespace offramp {

class Session;

/// The serving thread. It starts with the first call that needs it and sleeps between calls. It calls the MPI
/// library only to pack data and for MPI_Reduce_local, which need no progress.
class BackgroundThread {
 public:
  BackgroundThread() = default;
  ~BackgroundThread() { end(); }
  BackgroundThread& operator=(BackgroundThread&&) = delete;

  /// Calls must be paired. Any thread may call them, without the session's lock. When the last leave()
  /// returns, the thread has finished its turn.
  void enter(Session& session);
  void leave();
  /// Stops the thread for good.
  void end();

 private:
  /// Starts the thread. Without one the calls still work, but serve no messages.
  void begin(Session& session) REQUIRES(mutex_);
  /// The thread's loop.
  void serve(Session& session);

  Mutex mutex_;  // held during each turn; locked before the session's
  std::condition_variable_any changed_;
  int calls_ GUARDED_BY(mutex_) = 0;  // calls being served
  bool asleep_ GUARDED_BY(mutex_) = false;
  bool ending_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

/// Serves messages during its lifetime. Construct and destroy it on one thread, without the session's lock.
/// It makes the session lock even in a single-threaded program.
class BackgroundProgress {
 public:
  BackgroundProgress();
  ~BackgroundProgress();
  BackgroundProgress& operator=(BackgroundProgress&&) = delete;

 private:
  Session& session_;
  bool had_threads_;
};

}  // namespace offramp
