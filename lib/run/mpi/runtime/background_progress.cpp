// One thread serves all blocking calls of the MPI library. While it runs, the session locks as in a threaded
// program (share()). The thread naps for 100 us after a turn without events, and sleeps when no such call has
// come for a while. It blocks all signals.
#include "lib/run/mpi/runtime/background_progress.hpp"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <system_error>

#include "lib/run/mpi/runtime/session.hpp"

namespace offramp {

BackgroundProgress::BackgroundProgress() : session_(*Session::current), had_threads_(session_.share(true)) {
  session_.background().enter(session_);
}

BackgroundProgress::~BackgroundProgress() {
  session_.background().leave();
  session_.share(had_threads_);
}

void BackgroundThread::begin(Session& session) {
  // Signals are left to the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this, &session] { serve(session); });
  } catch (const std::system_error&) {
    // The call goes on without the thread. Most programs receive no messages during such a call.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void BackgroundThread::enter(Session& session) {
  const MutexLock guard(mutex_);
  if (ending_) return;
  ++calls_;
  if (!thread_.joinable()) begin(session);
  if (asleep_) changed_.notify_one();
}

void BackgroundThread::leave() {
  const MutexLock guard(mutex_);
  if (calls_ > 0) --calls_;
}

void BackgroundThread::end() {
  {
    const MutexLock guard(mutex_);
    ending_ = true;
    calls_ = 0;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void BackgroundThread::serve(Session& session) {
  // 100 us are short against the latency of such a call and leave the processor to others. The thread also
  // naps between successive calls, so that they need not wake it.
  constexpr std::chrono::microseconds kPause(100);
  constexpr int kNaps = 20;
  const ProgramRecorder::PauseRecording none_of_the_programs;
  const MutexLock guard(mutex_);
  for (int naps = 0; !ending_;) {
    int events = 0;
    if (calls_ > 0) {
      naps = 0;
      const Session::Lock session_guard(session);
      events = session.progress_alone();
      // Hang reports are due also while the program's own threads are blocked in the library.
      if (events == 0) session.watch();
    } else if (++naps > kNaps) {
      asleep_ = true;
      while (!ending_ && calls_ == 0) changed_.wait(mutex_);
      asleep_ = false;
      continue;
    }
    if (events == 0) {
      changed_.wait_for(mutex_, kPause);
    } else {
      // Lets another thread that waits for the mutex enter or leave between two busy turns.
      mutex_.unlock();
      mutex_.lock();
    }
  }
}

}  // namespace offramp
