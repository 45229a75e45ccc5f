// A signal handler can do very little in a process whose heap may be damaged. The rank's part of the
// recording is already in its file, except for at most the last second. The handler writes the open blocks as
// they are in memory, and the end with its reason (Recorder::flush()). It does not allocate, format, lock, or
// start a process. Afterwards the handlers of the MPI library and of UCX run.
#include "lib/run/mpi/runtime/untimely_end.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <utility>

#include "lib/base/output_file.hpp"
#include "lib/base/text_format.hpp"
#include "lib/run/mpi/runtime/session.hpp"
#include "lib/run/mpi/runtime/write_recording.hpp"
#include "lib/run/native/native.h"

namespace offramp {
namespace {

struct Watched {
  int signal;
  const char* reason;
  bool is_from_launcher;  // the launcher sends it to all ranks
  bool watched = false;
  struct sigaction before = {};
};
std::array<Watched, 8> watched_signals = {{
    {SIGHUP, "signal 1 (Hangup)", true},
    {SIGINT, "signal 2 (Interrupt)", true},
    {SIGILL, "signal 4 (Illegal instruction)", false},
    {SIGABRT, "signal 6 (Aborted)", false},
    {SIGBUS, "signal 7 (Bus error)", false},
    {SIGFPE, "signal 8 (Floating point exception)", false},
    {SIGSEGV, "signal 11 (Segmentation fault)", false},
    {SIGTERM, "signal 15 (Terminated)", true},
}};

// kLeaving: one thread writes. kLeft: the end is written, or no end is to be written.
enum State { kWatching, kLeaving, kLeft };

/// Data for the handler, outside of the heap.
struct HandlerFacts {
  std::atomic<int> state = kLeft;
  recording::Recorder* recorder = nullptr;  // null if nothing is left to write
  pid_t process = 0;
  int rank = 0;
  bool has_others = false;
  std::array<char, 1024> line{};  // for standard error
  std::size_t line_size = 0;
};
HandlerFacts handler_facts;

/// The handler's stack if the program's own has overflowed.
alignas(16) std::array<std::byte, std::size_t{64} << 10U> handler_stack;

void sleep_for(long nanoseconds) {
  std::timespec left{0, nanoseconds};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
}

/// Async-signal-safe. A second thread waits for the first one, because the caller may end the process.
void leave(std::string_view reason, bool speaks) {
  // A child process has the same memory, but its part belongs to the parent.
  if (handler_facts.recorder == nullptr || handler_facts.process != getpid()) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // A second signal on this thread would enter the handler while the state is kLeaving, and wait for itself.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int expected = kWatching;
  if (handler_facts.state.compare_exchange_strong(expected, kLeaving)) {
    handler_facts.recorder->flush(reason);
    unlink_unfinished();  // MPI_Finalize may have been writing
    if (speaks) (void)!write(STDERR_FILENO, handler_facts.line.data(), handler_facts.line_size);
    handler_facts.state = kLeft;
  }
  constexpr long kMillisecond = 1'000'000;
  while (handler_facts.state == kLeaving) sleep_for(kMillisecond);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// As without this handler, the MPI library prints a stack trace and the system ends the process. After
/// SIGTERM, mpirun sends SIGKILL to all ranks as soon as the first one has ended, or after 1 s. On a busy
/// machine some ranks have not yet handled SIGTERM by then, so the others stay for 0.5 s.
void on_signal(int signal, siginfo_t* info, void*) {
  constexpr long kHalfSecond = 500'000'000;
  const int error = errno;
  const Watched* watched = watched_signals.data();
  // The handler is installed for signals of the table only, so the search ends.
  while (watched->signal != signal) ++watched;
  // A signal from the launcher reaches all ranks, so rank 0 alone prints.
  leave(watched->reason, !watched->is_from_launcher || handler_facts.rank == 0);
  if (signal == SIGTERM && handler_facts.has_others && handler_facts.process == getpid())
    sleep_for(kHalfSecond);
  sigaction(signal, &watched->before, nullptr);
  // A fault of the processor happens again when the handler returns, and then meets the earlier handler.
  const bool recurs = info->si_code > 0 && info->si_code != SI_KERNEL && signal != SIGABRT;
  if (!recurs) (void)raise(signal);  // delivered when this function has returned
  errno = error;
}

void on_fatal_error(const char* function) {
  leave_part(fmt::format("fatal MPI error in {}", function != nullptr ? function : "an MPI call"));
}

/// Returns true if the program does not handle the signal. A handler of the MPI library, or of UCX, with
/// which Open MPI is linked from 5.0 on, may be replaced: it runs afterwards.
bool is_free(const struct sigaction& action) {
  if ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL) return true;
  if ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN) return false;
  Dl_info handler{};
  Dl_info library{};
  return dladdr(reinterpret_cast<void*>(action.sa_sigaction), &handler) != 0 &&
         dladdr(offramp_native_inner_library(), &library) != 0 &&
         (handler.dli_fbase == library.dli_fbase || std::strstr(handler.dli_fname, "/libucs.so") != nullptr);
}

/// Signal stacks are per thread: only the thread that calls MPI_Init gets one.
void set_handler_stack(int flags) {
  stack_t now{};
  if (sigaltstack(nullptr, &now) != 0) return;
  const bool is_free = (now.ss_flags & SS_DISABLE) != 0;
  if (!is_free && now.ss_sp != handler_stack.data()) return;  // the program's own
  stack_t own{};
  own.ss_sp = handler_stack.data();
  own.ss_size = handler_stack.size();
  own.ss_flags = flags;
  sigaltstack(&own, nullptr);
}

}  // namespace

void watch_for_untimely_end(const Session& session) {
  if (session.recorder() == nullptr || !session.recorder()->recorder().has_written()) return;
  const std::string text =
      fmt::format("offramp: the program did not finish; offramp replay --partial {} shows how far it got\n",
                  in_quotes(recording_path(session.configuration())));
  // The handler may not format, so the line is made now.
  handler_facts.line_size = text.copy(handler_facts.line.data(), handler_facts.line.size());
  handler_facts.recorder = &session.recorder()->recorder();
  handler_facts.process = session.process();
  handler_facts.rank = session.engine().rank();
  handler_facts.has_others = session.engine().ranks() > 1;
  handler_facts.state = kWatching;
  offramp_native_watch_fatal_errors(on_fatal_error);
  set_handler_stack(0);
  for (Watched& watched : watched_signals) {
    if (sigaction(watched.signal, nullptr, &watched.before) != 0 || !is_free(watched.before)) continue;
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    watched.watched = sigaction(watched.signal, &action, nullptr) == 0;
  }
}

void stop_watching() {
  if (std::exchange(handler_facts.recorder, nullptr) == nullptr) return;
  offramp_native_watch_fatal_errors(nullptr);
  for (Watched& watched : watched_signals) {
    // The program may have installed its own handler meanwhile, which stays.
    struct sigaction now {};
    const bool ours = watched.watched && sigaction(watched.signal, nullptr, &now) == 0 &&
                      (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal;
    if (ours) sigaction(watched.signal, &watched.before, nullptr);
  }
  set_handler_stack(SS_DISABLE);
}

void leave_part(std::string_view reason) {
  leave(reason.substr(0, recording::kLongestReason), true);
}

}  // namespace offramp
