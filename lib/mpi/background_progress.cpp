#include "lib/mpi/background_progress.hpp"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <system_error>

#include "lib/mpi/session.hpp"

namespace offramp {

BackgroundProgress::BackgroundProgress() : session_(*Session::current), had_threads_(session_.share(true)) {
  // The program's signals are for the program's threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error&) {
    // No thread to be had: the call goes on without, and most programs send nothing meanwhile.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

BackgroundProgress::~BackgroundProgress() {
  {
    const std::scoped_lock guard(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  session_.share(had_threads_);
}

void BackgroundProgress::serve() {
  // Such calls take milliseconds at least: nobody notices so short a sleep, and the processor is free.
  constexpr std::chrono::microseconds kPause(100);
  std::unique_lock guard(mutex_);
  while (!ending_) {
    guard.unlock();
    int events = 0;
    {
      const auto session_guard = session_.lock();
      events = session_.progress_alone();
      if (events == 0) session_.watch();
    }
    guard.lock();
    if (events == 0) changed_.wait_for(guard, kPause, [this] { return ending_; });
  }
}

}  // namespace offramp
