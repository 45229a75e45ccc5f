// The session of this process, from MPI_Init to MPI_Finalize while a backend is active: the engine with its
// fabric, the tables of handles, the lock, and progress.
//
// Threads: with MPI_THREAD_MULTIPLE one lock guards everything here. Below that level there is no lock. The
// lock is never held during a call of the MPI library that can block or call back (see
// InterposedCall::unlocked).
#pragma once

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "lib/run/engine/collective.hpp"
#include "lib/run/engine/engine.hpp"
#include "lib/run/fabric/process_fabric.hpp"
#include "lib/run/mpi/marshal/marshal_context.hpp"
#include "lib/run/mpi/runtime/background_progress.hpp"
#include "lib/run/mpi/runtime/bsend.hpp"
#include "lib/run/mpi/runtime/call_place.hpp"
#include "lib/run/mpi/runtime/program_recorder.hpp"
#include "lib/run/mpi/runtime/settled_clock.hpp"
#include "lib/run/mpi/runtime/sync_groups.hpp"
#include "lib/run/mpi/runtime/tracked_requests.hpp"
#include "lib/run/native/native.h"
#include "lib/run/native/table.hpp"

namespace offramp {

/// The records of a blocking call. They are reused, because building them costs more than a small message.
struct BlockingRecords {
  SendRecord send;
  ReceiveRecord receive;
  BlockingRecords* next_idle = nullptr;
};

/// The messages of partitioned requests, by their handles, and the number of such requests of one envelope.
struct Partitions {
  /// A partitioned message of this rank, as recorded.
  struct Message {
    std::uint32_t communicator = 0;  // recorded
    int peer = 0;                    // in it
    int tag = 0;
    int parts = 0;
    std::uint64_t bytes = 0;  // of a part
    int ready = 0;
  };
  using Envelope =
      std::tuple<bool, std::uint64_t, int, int, int>;  // sends, context, source, destination, tag
  std::unordered_map<MPI_Request, Message> sent;
  std::map<Envelope, std::uint32_t> made;
};

/// The parts of a session, besides its configuration.
struct SessionParts {
  std::unique_ptr<ProcessFabric> fabric;
  std::unique_ptr<Lane> lane;
  std::unique_ptr<ProgramRecorder> recorder;  // null: nothing is recorded
  std::optional<SettledClock> settled_clock;  // for clock = settled
  std::vector<SettingInForce> settings;       // for the report
  bool carries = true;   // false: the MPI library carries all calls, and the program is only recorded
  bool threads = false;  // several threads of the program may make calls
};

/// One per process. make_session() builds it, and MPI_Finalize deletes it.
class Session {
 public:
  /// The running session, or null. Set by MPI_Init and reset by MPI_Finalize.
  static Session* current;

  /// The registry must outlive the session.
  Session(Configuration configuration, const Registry& registry, SessionParts parts);

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] ProcessFabric& fabric() { return *fabric_; }
  [[nodiscard]] const Registry& registry() const { return registry_; }
  [[nodiscard]] const std::vector<SettingInForce>& settings() const { return settings_; }
  /// The process that called MPI_Init. Its forked children inherit the session but must not use it.
  [[nodiscard]] pid_t process() const { return process_; }
  /// False if the MPI library carries all calls, and the program is only recorded.
  [[nodiscard]] bool carries() const { return carries_; }

  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] const Engine& engine() const { return engine_; }
  /// Null if nothing is recorded.
  [[nodiscard]] ProgramRecorder* recorder() const { return recorder_.get(); }
  /// Null unless clock = settled.
  [[nodiscard]] SettledClock* settled_clock() { return settled_clock_ ? &*settled_clock_ : nullptr; }
  [[nodiscard]] const SettledClock* settled_clock() const {
    return settled_clock_ ? &*settled_clock_ : nullptr;
  }
  /// The MPI library's requests, if the program is only recorded.
  [[nodiscard]] TrackedRequests& tracked() { return tracked_; }
  [[nodiscard]] MarshalContext& marshal() { return marshal_; }
  [[nodiscard]] SyncGroups& sync_groups() { return sync_groups_; }
  [[nodiscard]] BsendBuffer& bsend() { return bsend_; }
  [[nodiscard]] Partitions& partitions() { return partitions_; }
  [[nodiscard]] BackgroundThread& background() { return background_; }

  /// Registers a matched probe's handle that is carried or recorded. request: its number in the recording.
  void claim(MPI_Message handle, std::uint32_t request) { claimed_[handle] = request; }
  /// Ends the claim and returns its request. `nullopt` for a handle without a claim.
  std::optional<std::uint32_t> end_claim(MPI_Message handle);
  /// Requests whose operation has failed, so far. A wait compares the number before and after.
  void count_failed_request() { ++failed_requests_; }
  [[nodiscard]] std::uint64_t failed_requests() const { return failed_requests_; }
  /// MPI_Abort is called: the run ends without a report.
  void abort() { aborted_ = true; }
  [[nodiscard]] bool is_aborted() const { return aborted_; }

  /// Recursive: a reduction that runs under the lock may call a function of the program, which may make local
  /// MPI calls. Events recorded while a thread owns it belong to that thread.
  class Mutex {
   public:
    explicit Mutex(const Session& session) : session_(session) {}
    void lock();
    [[nodiscard]] bool try_lock();
    void unlock() { mutex_.unlock(); }

   private:
    const Session& session_;
    std::recursive_mutex mutex_;
  };
  /// Locks during its lifetime, in threaded sessions. In the others it costs one load and one test.
  class SCOPED_CAPABILITY Lock {
   public:
    [[gnu::always_inline]] explicit Lock(Session& session) ACQUIRE(session_lock)
        : held_(session.threads_ ? &session.mutex_ : nullptr) {
      if (held_ != nullptr) held_->lock();
    }
    [[gnu::always_inline]] ~Lock() RELEASE() {
      if (held_ != nullptr) held_->unlock();
    }
    Lock& operator=(Lock&&) = delete;
    /// Unlocks. Pass the result to relock().
    [[nodiscard, gnu::always_inline]] Mutex* unlock() {
      if (held_ != nullptr) held_->unlock();
      return std::exchange(held_, nullptr);
    }
    [[gnu::always_inline]] void relock(Mutex* mutex) {
      if (mutex != nullptr) mutex->lock();
      held_ = mutex;
    }

   private:
    Mutex* held_;
  };
  /// One turn of the engine and of operations that wait for the MPI library. Returns the number of events.
  int progress() REQUIRES(session_lock) {
    const int events = progress_alone();
    return polled_.empty() ? events : events + step_polled();
  }
  /// One turn of the engine only, without a call of the MPI library. Continues while messages arrive that
  /// complete nothing: the one that the program waits for may be behind them.
  int progress_alone() REQUIRES(session_lock) {
    constexpr int kMost = 64;
    // A step may call the MPI library, whose progress engine calls this function again.
    if (progressing_) return 0;
    progressing_ = true;
    const std::uint64_t completions = engine_.completions();
    int events = engine_.progress();
    for (int more = events; more > 0 && events < kMost && engine_.completions() == completions;
         events += more)
      more = engine_.progress();
    progressing_ = false;
    return events;
  }
  /// progress(), unless another thread is already in it. The callback of the MPI library's progress engine.
  int progress_from_library();
  /// How many turns a waiting or polling call gives its own fabric before it gives the MPI library one.
  /// Measured: a lower number costs latency, a higher one starves the library.
  static constexpr unsigned kTurnsAlone = 16;
  /// True if idle turns yield the core: with more ranks than cores, the sender may be waiting for one.
  [[nodiscard]] bool yields() const { return yields_; }
  /// Returns true if the MPI library gets its turn after this many idle turns of a wait. When ranks yield, a
  /// turn may last as long as other processes keep the core, so pending work of the library gets each turn.
  [[nodiscard]] bool is_turn_of_library(unsigned idle_turns) const REQUIRES(session_lock) {
    return idle_turns % kTurnsAlone == 0 || (yields_ && !library_is_idle());
  }
  /// For polls (MPI_Test, MPI_Iprobe): gives Offramp's fabric a turn instead of the MPI library's progress
  /// engine, which costs as much again. Returns false without a turn if it is the library's: at intervals,
  /// and always if the library has pending work.
  bool progress_in_place_of_library() REQUIRES(session_lock) {
    if (!library_is_idle() || ++turns_alone_ % kTurnsAlone == 0 || (yields_ && threads_)) return false;
    if (progress() == 0 && yields_) sched_yield();
    return true;
  }
  /// From now on the library may have work in the background.
  void library_has_work() { library_has_work_ = true; }
  /// True as long as the library has had no reason to work in the background.
  [[nodiscard]] bool library_is_idle() const REQUIRES(session_lock) {
    return !library_has_work_ && polled_.empty();
  }
  /// An error code of class MPI_ERR_OTHER with the text of the engine's last fault.
  int fault_code();
  /// progress() calls the step until it returns true. For operations that wait for the library's requests.
  void poll(std::function<bool()> step) REQUIRES(session_lock) { polled_.push_back(std::move(step)); }

  /// True if the session locks.
  [[nodiscard]] bool has_threads() const { return threads_; }
  /// Turns locking on or off, and returns the earlier state. Only call it with a single thread.
  bool share(bool threads) {
    if (threads == threads_) return threads_;
    if (recorder_ != nullptr) recorder_->share(threads);
    return std::exchange(threads_, threads);
  }

  /// Returns records that the caller gives back with release_records(). The session owns them.
  BlockingRecords& acquire_records() {
    if (idle_records_ == nullptr) make_records();
    return *std::exchange(idle_records_, idle_records_->next_idle);
  }
  void release_records(BlockingRecords& records) {
    records.next_idle = std::exchange(idle_records_, &records);
  }

  // For the hang report: the function in which this process is, and since when.
  void entered(Function function) {
    function_.store(static_cast<std::uint16_t>(function), std::memory_order_relaxed);
    // An atomic increment would cost more than the rest of this function. The value only has to change.
    generation_.store(generation_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// The process is in no MPI call.
  void left() { function_.store(static_cast<std::uint16_t>(Function::kCount), std::memory_order_relaxed); }
  /// Async-signal-safe.
  void request_hang_report() { report_requested_ = 1; }
  /// Reads the clock at intervals and prints the report when it is due.
  void watch() REQUIRES(session_lock);

  /// The counters of a function on this rank.
  CallCounter& counter(Function function) {
    return engine_.lane().counters.calls[static_cast<std::uint16_t>(function)];
  }
  /// Returns true if another failed poll is only counted: no other threads, and no counter to read.
  [[nodiscard]] bool is_repeated_poll() {
    return !threads_ && (recorder_ == nullptr || recorder_->is_repeated_poll());
  }
  /// Counts a poll that has found nothing, without an InterposedCall.
  void count_failed_poll(Function function) {
    entered(function);
    ++counter(function).count;
    left();
    if (recorder_ != nullptr) recorder_->count_failed_poll(function);
  }

 private:
  /// Calls each step of poll() once, and returns how many have ended.
  int step_polled() REQUIRES(session_lock);
  void make_records();
  /// Prints what this rank waits for. why: the occasion, in parentheses.
  void print_hang_report(const char* why);

  std::unique_ptr<ProcessFabric> fabric_;  // outlives the engine, whose destructor releases messages
  Engine engine_;
  std::unique_ptr<ProgramRecorder> recorder_;
  std::optional<SettledClock> settled_clock_;
  TrackedRequests tracked_;
  MarshalContext marshal_;
  SyncGroups sync_groups_;
  BsendBuffer bsend_;
  Partitions partitions_;
  BackgroundThread background_;
  std::unordered_map<MPI_Message, std::uint32_t> claimed_;
  std::uint64_t failed_requests_ = 0;
  std::vector<SettingInForce> settings_;
  Configuration configuration_;
  const Registry& registry_;
  pid_t process_ = getpid();
  // What every call reads, on one cache line.
  alignas(64) bool threads_;
  bool carries_;
  bool yields_;
  bool library_has_work_ = false;
  bool progressing_ = false;
  std::atomic<std::uint16_t> function_{static_cast<std::uint16_t>(Function::kCount)};
  unsigned turns_alone_ = 0;
  std::atomic<std::uint64_t> generation_{0};
  BlockingRecords* idle_records_ = nullptr;
  std::vector<std::function<bool()>> polled_ GUARDED_BY(session_lock);

  Mutex mutex_{*this};
  std::vector<std::unique_ptr<BlockingRecords>> records_;  // idle and in use
  std::uint64_t seen_generation_ = 0;
  std::uint64_t reported_generation_ = ~std::uint64_t{0};
  std::uint32_t watches_ = 0;
  std::chrono::steady_clock::time_point seen_since_;
  volatile std::sig_atomic_t report_requested_ = 0;
  int fault_code_ = MPI_SUCCESS;
  bool fault_reported_ = false;
  bool aborted_ = false;
};

/// The function that the current call is counted for.
inline Function current_function() {
  return static_cast<Function>(Session::current->engine().function());
}

/// The scope of a call that the MPI library carries: counts it and shows it in the hang report.
class NativeCall {
 public:
  /// place: as for Call.
  explicit NativeCall(Function function, CallPlace place = CallPlace::here());
  ~NativeCall();
  NativeCall& operator=(NativeCall&&) = delete;

 private:
  Function function_;
};

/// Whether a communicator has members outside of MPI_COMM_WORLD. The library reports invalid ones.
bool is_outside(Session& session, MPI_Comm comm);
/// Records what the current call has moved on such a communicator.
void note_outside(Session& session, Function function, std::int64_t count, MPI_Datatype type);

/// The scope of one call of an MPI function that Offramp carries: acquires the lock and counts the call.
class SCOPED_CAPABILITY InterposedCall {
 public:
  /// place: by default, the call of the function in which it is written (CallPlace::here()).
  [[gnu::always_inline]] explicit InterposedCall(Function function, CallPlace place = CallPlace::here())
      ACQUIRE(session_lock)
      : session(*Session::current),
        engine(session.engine()),
        lock_(session),
        function_(function),
        site_(place.site) {
    session.entered(function);
    if (session.recorder() != nullptr) session.recorder()->enter(function, place);
    engine.enter(static_cast<std::uint16_t>(function), place.site);
    ++session.counter(function).count;
  }
  [[gnu::always_inline]] ~InterposedCall() RELEASE() {
    session.left();
    if (session.recorder() != nullptr) session.recorder()->leave(function_);
  }
  InterposedCall& operator=(InterposedCall&&) = delete;

  Session& session;
  Engine& engine;

  /// Null if the call is not recorded.
  [[nodiscard]] ProgramRecorder* recorder() const { return session.recorder(); }
  [[nodiscard]] Function function() const { return function_; }

  /// Waits until done() returns true, with progress; other threads get their turns.
  void wait(auto done) {
    session_lock.assume_held();
    for (unsigned idle_turns = 0; !done();) {
      if (session.progress() > 0) continue;
      if (session.is_turn_of_library(++idle_turns)) {
        unlocked([] { return offramp_native_progress(), 0; });
      } else if (session.yields()) {
        unlocked([] { return sched_yield(); });
      } else {
        continue;
      }
      session.watch();
    }
  }
  /// Runs a call of the MPI library without the lock.
  auto unlocked(auto body) {
    Session::Mutex* const held = lock_.unlock();
    const auto result = body();
    lock_.relock(held);
    engine.enter(static_cast<std::uint16_t>(function_), site_);
    return result;
  }

  /// Runs a call that the library carries and that is already recorded, without the lock.
  auto leave_to_library(auto body) {
    const ProgramRecorder::PauseRecording pause;
    return unlocked(body);
  }

 private:
  // These stay in registers because their addresses are never passed on.
  Session::Lock lock_;
  Function function_;
  const void* site_;
};

/// The MPI error code of an outcome.
int error_code(Outcome outcome);
/// Raises an error on the communicator, as the MPI library would in this function. Returns the code. Call it
/// without the lock: the program's error handler may do anything.
int raise_error(Function function, MPI_Comm comm, int code);
/// Completes a call with an outcome.
inline int finish(Function function, MPI_Comm comm, Outcome outcome) {
  return outcome == Outcome::kOk ? MPI_SUCCESS : raise_error(function, comm, error_code(outcome));
}

}  // namespace offramp
