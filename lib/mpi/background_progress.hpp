// Serves this process's messages while it is inside a call of the MPI library that waits for other processes
// without turning the library's progress engine: MPI_Comm_spawn, accept, connect, join, the name service, and
// disconnecting from strangers sleep in the process manager's client instead. Whoever waits for a message
// from here would wait for as long.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace offramp {

class Session;

/// A thread that lives as long as this object. The lock of the session must not be held at either end, and
/// the thread that made this object has to end it. With it the session is locked even in a program without
/// threads; the MPI library is not called from the thread (but for MPI_Reduce_local, which needs no turn of
/// anything).
class BackgroundProgress {
 public:
  BackgroundProgress();
  ~BackgroundProgress();
  BackgroundProgress(const BackgroundProgress&) = delete;
  BackgroundProgress& operator=(const BackgroundProgress&) = delete;

 private:
  void serve();

  Session& session_;
  bool had_threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;  // under mutex_
  std::thread thread_;
};

}  // namespace offramp
