// A signal handler may do next to nothing in a process whose heap may be damaged, so it forks: the child,
// with time limits of its own (alarm), puts the rank's part together and writes it, and the parent goes on
// with what the signal would have done. The handlers of the MPI library and of UCX have their turn after
// ours.
#include "lib/run/mpi/runtime/untimely_end.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "lib/answers/report/partial.hpp"
#include "lib/answers/report/report.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/text_format.hpp"
#include "lib/run/mpi/runtime/session.hpp"
#include "lib/run/mpi/runtime/write_recording.hpp"
#include "lib/run/mpi/runtime/write_reports.hpp"
#include "lib/run/native/native.h"
#include "lib/run/native/world_comm.hpp"

namespace offramp {
namespace {

// Seconds. A heap that is damaged or locked shows while the rank's part is put together; the rest waits for
// other ranks, and for the disk.
constexpr unsigned kPatienceForPart = 3;
constexpr unsigned kPatience = 10;

/// What the child is at, and its exit code if it does not come to an end with it.
enum Output { kReport = 1, kRecording };
volatile std::sig_atomic_t at = kReport;

struct Watched {
  int signal;
  const char* text;
  bool watched;
  struct sigaction before;
};
std::array<Watched, 8> watched_signals = {{
    {SIGHUP, "signal 1 (Hangup)", false, {}},
    {SIGINT, "signal 2 (Interrupt)", false, {}},
    {SIGILL, "signal 4 (Illegal instruction)", false, {}},
    {SIGABRT, "signal 6 (Aborted)", false, {}},
    {SIGBUS, "signal 7 (Bus error)", false, {}},
    {SIGFPE, "signal 8 (Floating point exception)", false, {}},
    {SIGSEGV, "signal 11 (Segmentation fault)", false, {}},
    {SIGTERM, "signal 15 (Terminated)", false, {}},
}};

std::string run_id;  // empty: there is nothing to write
std::atomic<bool> left = false;

RankPart own_part(Session& session, const char* reason) {
  RankPart part;
  part.run = run_id;
  part.rank = session.engine().rank();
  part.ranks = session.engine().ranks();
  part.reason = reason;
  part.contribution = own_contribution(session);
  return part;
}

void say(const std::string& line) {
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

void add_to_report(const std::string& path, const RankPart& part, const RunFacts& facts,
                   const Configuration& configuration) {
  bool first = false;
  const std::string problem = rewrite_output(path, run_id, [&](const std::string& old) {
    first = old.find(run_id) == std::string::npos;
    return partial_report(old, part, facts, configuration);
  });
  if (!problem.empty()) return tell_lost("report", path, problem);
  if (first)
    say(fmt::format("offramp: the program did not come to MPI_Finalize; the report in {} is incomplete\n",
                    in_quotes(path)));
}

void write_parts(Session& session, const char* reason) {
  const Configuration& configuration = session.configuration();
  if (!configuration.report.empty()) {
    alarm(kPatienceForPart);
    const RankPart part = own_part(session, reason);
    const RunFacts facts = facts_of(session);
    alarm(kPatience);
    add_to_report(configuration.report, part, facts, configuration);
  }
  at = kRecording;
  alarm(kPatience);
  if (leave_recording(session))
    say(
        fmt::format("offramp: the program did not come to MPI_Finalize; offramp replay --partial {} shows "
                    "how far it came\n",
                    in_quotes(recording_path(configuration))));
}

/// In the child: nothing half-written remains, and its parent says what is lost.
void give_up(int) {
  unlink_unfinished();
  _exit(at);
}

void tell_lost_part(int rank, int status) {
  const int output = WIFEXITED(status) ? WEXITSTATUS(status) : kReport;
  const char* const name = output == kRecording ? "recording" : "report";
  std::array<char, 128> line{};
  const int length =
      std::snprintf(line.data(), line.size(),
                    "offramp: rank %d: its part of the outputs is lost, from the %s on\n", rank, name);
  (void)!write(STDERR_FILENO, line.data(), static_cast<std::size_t>(length));
}

/// In a group of its own, because launchers end all of a rank's.
[[noreturn]] void child(Session& session, const char* reason) {
  setpgid(0, 0);
  for (const Watched& watched : watched_signals) (void)signal(watched.signal, give_up);
  (void)signal(SIGALRM, give_up);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  write_parts(session, reason);
  _exit(0);
}

Watched* find_watched(int signal) {
  for (Watched& watched : watched_signals) {
    if (watched.signal == signal) return &watched;
  }
  return nullptr;
}

/// mpirun sends SIGKILL to all ranks as soon as the first one has gone after SIGTERM, or after a second. On a
/// busy machine some have not even begun by then.
void let_others_hear() {
  constexpr long kHalfSecond = 500'000'000;
  const Session* const session = Session::current;
  if (session == nullptr || session->process() != getpid() || session->engine().ranks() == 1) return;
  std::timespec left_over{0, kHalfSecond};
  while (nanosleep(&left_over, &left_over) != 0 && errno == EINTR) continue;
}

/// The MPI library prints a stack trace, and the system ends the process: both as without this handler.
void on_signal(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const Watched* const watched = find_watched(signal);
  leave_parts(watched->text);
  if (signal == SIGTERM) let_others_hear();
  sigaction(signal, &watched->before, nullptr);
  const bool comes_again = info->si_code > 0 && info->si_code != SI_KERNEL && signal != SIGABRT;
  if (!comes_again) (void)raise(signal);  // delivered when this function has returned
  errno = error;
}

void on_fatal_error(const char* function) {
  leave_parts(fmt::format("fatal MPI error in {}", function != nullptr ? function : "an MPI call").c_str());
}

/// The program has no use for the signal. The MPI library may have one, or UCX, with which Open MPI is linked
/// from 5.0 on: its handler has its turn afterwards.
bool is_free(const struct sigaction& action) {
  if ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL) return true;
  if ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN) return false;
  Dl_info handler{};
  Dl_info library{};
  return dladdr(reinterpret_cast<void*>(action.sa_sigaction), &handler) != 0 &&
         dladdr(offramp_native_inner_library(), &library) != 0 &&
         (handler.dli_fbase == library.dli_fbase || std::strstr(handler.dli_fname, "/libucs.so") != nullptr);
}

}  // namespace

void watch_for_untimely_end(const Session& session) {
  const Configuration& configuration = session.configuration();
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const std::string own = fmt::format("{:x}-{:x}", now, getpid());
  const std::string id = exchange_strings(world_rank() == 0 ? own : std::string()).front();
  if (configuration.report.empty() && configuration.record.empty() && configuration.trace.empty() &&
      configuration.capture.empty())
    return;
  run_id = id;
  offramp_native_watch_fatal_errors(on_fatal_error);
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
  left = true;
  offramp_native_watch_fatal_errors(nullptr);
  for (Watched& watched : watched_signals) {
    struct sigaction now {};
    const bool ours = watched.watched && sigaction(watched.signal, nullptr, &now) == 0 &&
                      (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal;
    if (ours) sigaction(watched.signal, &watched.before, nullptr);
  }
}

void leave_parts(const char* reason) {
  Session* const session = Session::current;
  if (session == nullptr || run_id.empty() || session->process() != getpid() || left.exchange(true)) return;
  if (session->recorder() != nullptr) session->recorder()->recorder().flush();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all,
                  &before);  // a program that waits for its children is not to see this one
  unlink_unfinished();       // MPI_Finalize may have been writing
  const pid_t writer = _Fork();
  if (writer == 0) child(*session, reason);
  int status = writer < 0 ? -1 : 0;
  while (writer > 0 && waitpid(writer, &status, 0) < 0 && errno == EINTR) continue;
  if (status != 0) tell_lost_part(session->engine().rank(), status);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace offramp
