// Serves this process's messages while it is inside a call of the MPI library that waits for other processes
// without turning Offramp's fabric. Whoever waits for a message from here would wait for as long. With Open
// MPI those are few, which sleep in the process manager's client: MPI_Comm_spawn, accept, connect, join, the
// name service, and disconnecting from strangers. MPICH's progress engine is closed, so there it is every
// call that blocks (lib/run/native/mpich_blocking.cpp).
#pragma once

#include <condition_variable>
#include <thread>

#include "lib/base/thread_safety.hpp"

namespace offramp {

class Session;

/// The thread that serves. It begins with the first call that needs it, and sleeps between two. The MPI
/// library is not called from it (but for packing and MPI_Reduce_local, which need no turn of anything).
class BackgroundThread {
 public:
  BackgroundThread() = default;
  ~BackgroundThread() { end(); }
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  /// As often as each other, by any thread, without the session's lock. With the last leave() the thread has
  /// ended what it was doing.
  void enter(Session& session);
  void leave();
  /// For good; nothing is served afterwards.
  void end();

 private:
  void begin(Session& session) REQUIRES(mutex_);
  void serve(Session& session);

  Mutex mutex_;  // held while a turn is served; taken before the session's
  std::condition_variable_any changed_;
  int calls_ GUARDED_BY(mutex_) = 0;  // that it serves
  bool asleep_ GUARDED_BY(mutex_) = false;
  bool ending_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

/// The thread serves as long as this object lives. The lock of the session must not be held at either end,
/// and the thread that made this object has to end it. With it the session is locked even in a program
/// without threads.
class BackgroundProgress {
 public:
  BackgroundProgress();
  ~BackgroundProgress();
  BackgroundProgress(const BackgroundProgress&) = delete;
  BackgroundProgress& operator=(const BackgroundProgress&) = delete;

 private:
  Session& session_;
  bool had_threads_;
};

}  // namespace offramp
