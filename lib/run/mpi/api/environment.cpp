// MPI chapters 9 and 11: MPI_Init to MPI_Finalize, MPI sessions, and the clock.
#include <dlfcn.h>
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "lib/base/output_file.hpp"
#include "lib/base/own_process.hpp"
#include "lib/run/mpi/api/entries.hpp"
#include "lib/run/mpi/api/tools_interface.hpp"
#include "lib/run/mpi/runtime/program.hpp"
#include "lib/run/mpi/runtime/request.hpp"
#include "lib/run/mpi/runtime/same_offramp.hpp"
#include "lib/run/mpi/runtime/startup.hpp"
#include "lib/run/mpi/runtime/untimely_end.hpp"
#include "lib/run/mpi/runtime/write_reports.hpp"
#include "lib/run/native/native.h"
#include "lib/run/native/pmpi.hpp"
#include "lib/run/native/world_comm.hpp"

namespace offramp {
namespace {

int on_library_progress() {
  return Session::current != nullptr ? Session::current->progress_from_library() : 0;
}

void on_hang_signal(int) {
  if (Session::current != nullptr) Session::current->request_hang_report();
}

void install_hang_signal() {
  struct sigaction old {};
  if (sigaction(SIGUSR2, nullptr, &old) != 0 || old.sa_handler != SIG_DFL)
    return;  // the program has its own handler
  struct sigaction handler {};
  handler.sa_handler = on_hang_signal;
  handler.sa_flags = SA_RESTART;
  sigaction(SIGUSR2, &handler, nullptr);
}

std::chrono::steady_clock::time_point init_began;  // of the call that initialises MPI

/// Called after the MPI library is initialised.
void begin(bool threads) {
  const auto init = std::chrono::steady_clock::now() - init_began;
  std::unique_ptr<Session> session = make_session(threads);
  if (session == nullptr) return;  // off
  announce_carried();
  Session::current = session.release();  // NOLINT: deleted by MPI_Finalize
  open_requests();
  if (mpi_world() == MPI_COMM_WORLD) Session::current->marshal().communicators.add_predefined();
  if (Session::current->carries()) {
    // The library's own waits drive Offramp's messages through this callback, so that neither blocks the
    // other.
    offramp_native_progress_register(on_library_progress);
    install_hang_signal();
  }
  watch_for_untimely_end(*Session::current);
  // The exported functions change last: until here, calls of other threads reach the library.
  fill_active(dispatch);
  if (Session::current->configuration().clock == Clock::kWall) {
    dispatch.Wtime = native.Wtime;
    dispatch.Wtick = native.Wtick;
  }
  // The recording begins after MPI_Init, whose duration is noted apart.
  if (Session::current->recorder() != nullptr) Session::current->recorder()->restart(init);
}

/// Called before the reports, so that most of them see no message under way. It does not wait long for slow
/// receivers: the barriers of MPI_Finalize, which have no limit, also drive the fabric, and no rank leaves
/// them before all have received everything.
void drain_sends(Session& session) {
  constexpr int kPatience = 200'000;  // turns without any event
  for (int idle = 0; session.engine().sends_in_flight() > 0 && idle < kPatience;) {
    const Session::Lock guard(session);
    idle = session.progress() > 0 ? 0 : idle + 1;
    if (idle % 64 == 63) std::this_thread::yield();  // the receiver may have no core of its own
  }
}

/// Sends under way complete while their receivers are still present. Then the ranks separate.
void end() {
  Session& session = *Session::current;
  if (session.recorder() != nullptr) session.recorder()->close();
  drain_sends(session);
  write_outputs(session);
  native.Barrier(mpi_world());
  stop_watching();                     // all files have their names
  session.engine().drop_unreceived();  // notifies their senders, which release them
  native.Barrier(mpi_world());
  drain_sends(session);
  native.Barrier(mpi_world());  // the notifying ranks drive the fabric until the senders have reacted
  // Calls of the program after this point, as in destructors, reach the library.
  resolve_dispatch_to_native();
  close_tools_interface(session);
  if (session.carries()) offramp_native_progress_unregister(on_library_progress);
  session.background().end();
  session.fabric().close(session.engine());
  // No rank frees memory that a peer may still write to.
  native.Barrier(mpi_world());
  Session::current = nullptr;
  delete &session;
  close_own_world();
}

/// How the program uses MPI at present: through MPI_Init, and through this many MPI sessions.
struct Ways {
  std::mutex mutex;
  bool world = false;
  int sessions = 0;
  bool begun = false;
} ways;

#ifdef OFFRAMP_HAS_Session_init
/// The first MPI session has initialised the library, here or on other ranks. All ranks meet on a
/// communicator of Offramp's own. Its session requests this level of thread support.
void begin_apart(bool threads, int level) {
  ways.begun = true;
  if (!open_own_world(level)) {
    print_once(
        "the MPI library cannot create a communicator of all ranks in a session; the program runs without "
        "Offramp");
    return;
  }
  begin(threads);
  if (Session::current == nullptr) close_own_world();  // off
}

bool has_threads(MPI_Session session) {
  MPI_Info info = MPI_INFO_NULL;
  char level[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  // Without an answer, several threads are assumed: locks are then taken, which is always right.
  if (pmpi::Session_get_info(session, &info) != MPI_SUCCESS) return true;
  pmpi::Info_get(info, "thread_level", MPI_MAX_INFO_VAL, level, &found);
  pmpi::Info_free(&info);
  return found == 0 || std::strcmp(level, "MPI_THREAD_MULTIPLE") == 0;
}

/// Returns true if a rank's MPI sessions outlive MPI_Finalize. Offramp then uses its own communicator.
bool sessions_remain() {
  if (largest_of_all(ways.sessions) == 0) return false;
  return mpi_world() != MPI_COMM_WORLD || open_own_world(MPI_THREAD_SINGLE);
}

/// In a program with MPI sessions, other ranks may begin with one. level: the thread level to request.
void meet_sessions(int level) {
  // A program that never names MPI_Session_init has no such ranks, so that MPI_Init waits for none.
  if (!ways.begun && program_calls("MPI_Session_init")) begin_apart(level == MPI_THREAD_MULTIPLE, level);
}

/// Called before MPI_Init, which may wait for ranks that wait here.
void meet_before_init(int level) {
  const std::scoped_lock guard(ways.mutex);
  if (offramp_native_session_meets_init() == 0) meet_sessions(level);
}
#else
bool sessions_remain() {
  return false;
}

void meet_sessions(int) {}
void meet_before_init(int) {}
#endif

/// Called after MPI_Init.
void begin_world(int level) {
  const bool threads = level == MPI_THREAD_MULTIPLE;
  const std::scoped_lock guard(ways.mutex);
  ways.world = true;
  meet_sessions(level);
  if (Session* const session = Session::current; session != nullptr) {  // opened by an MPI session
    session->share(threads || session->has_threads());
    const Session::Lock lock(*session);
    session->marshal().communicators.add_predefined();
  } else if (!std::exchange(ways.begun, true)) {
    begin(threads);
  }
}

/// Libraries opened at run time are only known now. Some calls would reach the wrong MPI library.
void refuse_opened_mpi() {
  const std::string library = other_mpi_loaded();
  if (library.empty()) return;
  print_once(
      fmt::format("the program has opened another MPI library ({}), but this Offramp is for {}; run it "
                  "without Offramp in LD_PRELOAD",
                  library, offramp_native_name()));
  _exit(1);
}

bool begins_here = false;  // the program initialised MPI by a call that reached this library

/// The first step of each function that initialises MPI.
void prepare_start() {
  begins_here = true;
  init_began = std::chrono::steady_clock::now();
  refuse_opened_mpi();
  announce_offramp();
}

}  // namespace

namespace api {

int Init(int* argc, char*** argv) {
  prepare_start();
  meet_before_init(MPI_THREAD_SINGLE);
  const int code = native.Init(argc, argv);
  if (code != MPI_SUCCESS) return code;
  int level = MPI_THREAD_SINGLE;
  pmpi::Query_thread(&level);  // Open MPI's own variable may raise it
  begin_world(level);
  return code;
}

int Init_thread(int* argc, char*** argv, int required, int* provided) {
  prepare_start();
  meet_before_init(required);
  const int code = native.Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) begin_world(*provided);
  return code;
}

int Finalize() {
  if (Session::current == nullptr) return native.Finalize();
  // MPI runs the callbacks of these attributes first in MPI_Finalize: they may still communicate.
  offramp_native_delete_self_attributes();
  const std::scoped_lock guard(ways.mutex);
  ways.world = false;
  if (!sessions_remain()) {
    end();
    return native.Finalize();
  }
  const int code = native.Finalize();
  if (ways.sessions == 0) end();  // with the ranks that have sessions
  return code;
}

#ifdef OFFRAMP_HAS_Session_init
int Session_init(MPI_Info info, MPI_Errhandler errors, MPI_Session* made) {
  prepare_start();
  const int code = native.Session_init(info, errors, made);
  if (code != MPI_SUCCESS) return code;
  const std::scoped_lock guard(ways.mutex);
  const bool threads = has_threads(*made);
  if (!ways.begun) begin_apart(threads, MPI_THREAD_SINGLE);
  if (Session::current != nullptr && threads) Session::current->share(true);
  ++ways.sessions;
  return code;
}

int Session_finalize(MPI_Session* session) {
  const std::scoped_lock guard(ways.mutex);
  const bool last = session != nullptr && *session != MPI_SESSION_NULL && ways.sessions == 1 && !ways.world;
  if (last && Session::current != nullptr) end();
  const int code = native.Session_finalize(session);
  if (code == MPI_SUCCESS) --ways.sessions;
  return code;
}
#endif

// Printed here too: when several ranks end at once, Open MPI's own message sometimes gets lost.
int Abort(MPI_Comm comm, int code) {
  if (Session::current != nullptr) {
    Session::current->abort();
    (void)std::fprintf(stderr, "offramp: rank %d called MPI_Abort with code %d\n",
                       Session::current->engine().rank(), code);
    (void)std::fflush(stderr);
    leave_part(fmt::format("called MPI_Abort with code {}", code));
  }
  return native.Abort(comm, code);
}

double Wtime() {
  // Only the settled clock comes here: with the clock of the machine, the entry is the library's own
  // function.
  Session& session = *Session::current;
  const Session::Lock guard(session);
  session.recorder()->enter(Function::kWtime, CallPlace::here());
  const std::optional<std::uint64_t> calls = session.recorder()->clock_read();
  session.recorder()->leave(Function::kWtime);
  return calls ? session.settled_clock()->read(*calls, native.Wtime()) : native.Wtime();
}

double Wtick() {
  return 1e-9;
}

}  // namespace api

namespace {

void* find_native(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

/// The MPI library that this library needs must not be in a program of another one: both define the same
/// names. Such a program is restarted with the Offramp library for its own MPI library, or with neither.
void leave(const std::string& library) {
  const std::string needs = fmt::format("this Offramp is for {}", offramp_native_name());
  const std::string instead = interposer_for(library);
  if (!clear_preload(instead)) {
    print_once(fmt::format(
        "libofframp is loaded into a program of another MPI library ({}), but {}; it cannot be removed from "
        "LD_PRELOAD: the program is linked to it, or ld.so --preload or /etc/ld.so.preload names it",
        library, needs));
    _exit(1);
  }
  if (instead.empty() && !is_off_by_environment())
    print_once(
        fmt::format("the program uses another MPI library ({}), but {}; the program runs without Offramp",
                    library, needs));
  const std::string problem = restart();
  print_once(fmt::format("the program cannot be restarted without Offramp: {}", problem));
  _exit(1);
}

/// The last step of the process: changes the exit code of a successful program if an output was lost.
void on_exit_of_process(int code, void*) {
  // A program that failed keeps its own code.
  if (code != 0 || !output_lost()) return;
  (void)std::fflush(nullptr);
  _exit(kOutputLost);
}

pid_t watched_process = 0;  // 0: Offramp is off

/// Reports that the program's MPI calls bypassed this library.
void warn_if_bypassed() {
  // A child process after fork() is no rank.
  if (begins_here || watched_process != getpid()) return;
  const std::string library = initialized_mpi();
  if (library.empty()) return;
  Dl_info own{};
  const bool is_own =
      dladdr(reinterpret_cast<void*>(pmpi::Initialized), &own) != 0 && library == own.dli_fname;
  print_once(fmt::format(
      "the program used MPI without Offramp: it looked up the functions of {} itself. {}", library,
      is_own ? "offramp run carries such a program; without it, add " + audit_path() + " to LD_AUDIT"
             : fmt::format("This Offramp calls {}; let the program open that file", own.dli_fname)));
}

/// Runs when the library is loaded. From then on the exported functions call the MPI library. Processes that
/// never initialise MPI do nothing else.
__attribute__((constructor)) void load() {
  if (const std::string library = other_mpi_of_program(); !library.empty()) leave(library);
  resolve_natives(native, find_native);
  const bool off = native.Init == nullptr || is_off_by_environment();
  if (!off) replace_natives(native);  // off: the program uses the library's own functions
  resolve_dispatch_to_native();
  if (off) return;
  watched_process = getpid();
  (void)on_exit(on_exit_of_process, nullptr);  // the handler registered first is called last
  dispatch.Init = api::Init;
  dispatch.Init_thread = api::Init_thread;
#ifdef OFFRAMP_HAS_Session_init
  dispatch.Session_init = api::Session_init;
#endif
}

/// mpirun reports that a rank vanished, but not always which one.
__attribute__((destructor)) void unload() {
  const Session* session = Session::current;
  if (session == nullptr) return warn_if_bypassed();
  if (session->is_aborted() || session->process() != getpid()) return;
  (void)std::fprintf(stderr, "offramp: rank %d ended without MPI_Finalize\n", session->engine().rank());
  leave_part("ended without MPI_Finalize");
}

}  // namespace

void resolve_dispatch_to_native() {
  dispatch = native;
}

}  // namespace offramp
