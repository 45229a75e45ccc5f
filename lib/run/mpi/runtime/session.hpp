// The session of this process, from MPI_Init to MPI_Finalize while a backend is on: the engine with its
// fabric, the tables of handles, the lock, and progress.
//
// Threads: with MPI_THREAD_MULTIPLE one lock guards everything here; below that level there is no lock at
// all. The lock is never held over a call of the MPI library that can block or call back (see
// Call::unlocked).
#pragma once

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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
#include "lib/run/mpi/runtime/meetings.hpp"
#include "lib/run/mpi/runtime/program_recorder.hpp"
#include "lib/run/mpi/runtime/settled_clock.hpp"
#include "lib/run/mpi/runtime/tracked_requests.hpp"
#include "lib/run/native/native.h"
#include "lib/run/native/table.hpp"

namespace offramp {

/// The records of a blocking call; kept between calls, because building them costs more than a small message.
struct BlockingRecords {
  SendRecord send;
  ReceiveRecord receive;
  BlockingRecords* next_idle = nullptr;
};

/// What a session is made of, besides its configuration.
struct SessionParts {
  std::unique_ptr<ProcessFabric> fabric;
  std::unique_ptr<Lane> lane;
  std::unique_ptr<ProgramRecorder> recorder;  // null: nothing is recorded
  std::optional<SettledClock> settled_clock;  // with clock = settled
  std::vector<SettingInForce> settings;       // for the report
  bool carries = true;   // false: the MPI library carries everything, and the program is only recorded
  bool threads = false;  // several of the program's threads may call
};

class Session {
 public:
  /// The running session, or null. Set and reset by MPI_Init and MPI_Finalize.
  static Session* current;

  Session(Configuration configuration, const Registry& registry, SessionParts parts);

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] ProcessFabric& fabric() { return *fabric_; }
  [[nodiscard]] const Registry& registry() const { return registry_; }
  [[nodiscard]] const std::vector<SettingInForce>& settings() const { return settings_; }
  /// The one that called MPI_Init; its forked children have the session too, and nothing to do with it.
  [[nodiscard]] pid_t process() const { return process_; }
  /// False: the MPI library carries everything, and the program is only recorded.
  [[nodiscard]] bool carries() const { return carries_; }

  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] const Engine& engine() const { return engine_; }
  /// Null: nothing is recorded.
  [[nodiscard]] ProgramRecorder* recorder() const { return recorder_.get(); }
  /// Null: the clock is another than `settled`.
  [[nodiscard]] SettledClock* settled_clock() { return settled_clock_ ? &*settled_clock_ : nullptr; }
  [[nodiscard]] const SettledClock* settled_clock() const {
    return settled_clock_ ? &*settled_clock_ : nullptr;
  }
  /// Requests of the MPI library, where nothing is carried.
  [[nodiscard]] TrackedRequests& tracked() { return tracked_; }
  [[nodiscard]] MarshalContext& marshal() { return marshal_; }
  [[nodiscard]] Meetings& meetings() { return meetings_; }
  [[nodiscard]] BsendBuffer& bsend() { return bsend_; }
  [[nodiscard]] BackgroundThread& background() { return background_; }

  /// A matched probe that is ours (or recorded) has given this handle; request: which it is in the recording.
  void claim(MPI_Message handle, std::uint32_t request) { claimed_[handle] = request; }
  /// Ends the claim and returns its request; nothing for a handle that claim() was not told of.
  std::optional<std::uint32_t> take_claim(MPI_Message handle);
  void count_failed_request() { ++failed_requests_; }
  [[nodiscard]] std::uint64_t failed_requests() const { return failed_requests_; }
  /// MPI_Abort is called: the run ends without a report.
  void abort() { aborted_ = true; }
  [[nodiscard]] bool is_aborted() const { return aborted_; }

  /// Recursive: while it is held, a reduction may call a function of the program's, which may call what does
  /// not communicate. What is recorded while a thread holds it is that thread's.
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
  /// Holds it until its end; or nothing, which is what most programs' calls find: one word, one test.
  class SCOPED_CAPABILITY Lock {
   public:
    [[gnu::always_inline]] explicit Lock(Session& session) ACQUIRE(session_lock)
        : held_(session.threads_ ? &session.mutex_ : nullptr) {
      if (held_ != nullptr) held_->lock();
    }
    [[gnu::always_inline]] ~Lock() RELEASE() {
      if (held_ != nullptr) held_->unlock();
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    /// Lets go of it for a while; gives what take() wants to have again.
    [[nodiscard, gnu::always_inline]] Mutex* release() {
      if (held_ != nullptr) held_->unlock();
      return std::exchange(held_, nullptr);
    }
    [[gnu::always_inline]] void take(Mutex* mutex) {
      if (mutex != nullptr) mutex->lock();
      held_ = mutex;
    }

   private:
    Mutex* held_;
  };
  /// One turn of the engine and of what waits for the MPI library. Returns the number of events.
  int progress() REQUIRES(session_lock) {
    const int events = progress_alone();
    return polled_.empty() ? events : events + step_polled();
  }
  /// The same without what waits for the MPI library, and so without a call of it. Goes on while messages
  /// come that complete nothing: what the program asks for may be behind them.
  int progress_alone() REQUIRES(session_lock) {
    constexpr int kMost = 64;
    // A step may call the MPI library, whose progress engine calls back into here.
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
  /// The callback of the MPI library's progress engine: the same, if nobody else is at it.
  int progress_from_library();
  /// How often a waiting call, or one question after the other, looks at its own fabric before it gives the
  /// MPI library a turn. Measured: less costs latency, more starves the library.
  static constexpr unsigned kTurnsAlone = 16;
  /// Whether a turn that has found nothing lets another process have the core: where there are more ranks
  /// than cores, the message that this one waits for may come from a rank that has none.
  [[nodiscard]] bool yields() const { return yields_; }
  /// Whether the MPI library's turn comes after so many turns of a wait that have found nothing. Where ranks
  /// yield, a turn may take as long as other processes keep the core: work of the library does not wait for
  /// several.
  [[nodiscard]] bool is_turn_of_library(unsigned idle_turns) const REQUIRES(session_lock) {
    return idle_turns % kTurnsAlone == 0 || (yields_ && !library_is_idle());
  }
  /// For a question that the program will ask again (MPI_Test, MPI_Iprobe): takes a turn of our own fabric in
  /// place of the MPI library's progress engine, which costs as much again. False, and nothing is done, when
  /// it is the library's turn: now and then, and always in a program that has given the library work of its
  /// own.
  bool progress_in_place_of_library() REQUIRES(session_lock) {
    if (!library_is_idle() || ++turns_alone_ % kTurnsAlone == 0 || (yields_ && threads_)) return false;
    if (progress() == 0 && yields_) sched_yield();
    return true;
  }
  /// From now on the library may have work that goes on beside the program.
  void library_has_work() { library_has_work_ = true; }
  [[nodiscard]] bool library_is_idle() const REQUIRES(session_lock) {
    return !library_has_work_ && polled_.empty();
  }
  /// An error code of class MPI_ERR_OTHER whose text says what the engine's last fault was.
  int fault_code();
  /// Work to do in progress() until it returns true: operations that wait for a request of the MPI library.
  void poll(std::function<bool()> step) REQUIRES(session_lock) { polled_.push_back(std::move(step)); }

  [[nodiscard]] bool has_threads() const { return threads_; }
  /// Whether several threads come here from now on; tells what held before. Only from the one thread that
  /// there is when it changes.
  bool share(bool threads) {
    if (threads == threads_) return threads_;
    if (recorder_ != nullptr) recorder_->share(threads);
    return std::exchange(threads_, threads);
  }

  BlockingRecords& take_records() {
    if (idle_records_ == nullptr) make_records();
    return *std::exchange(idle_records_, idle_records_->next_idle);
  }
  void give_back(BlockingRecords& records) { records.next_idle = std::exchange(idle_records_, &records); }

  // The hang report: which function this process is in, and since when.
  void entered(Function function) {
    function_.store(static_cast<std::uint16_t>(function), std::memory_order_relaxed);
    // Not one atomic step, which would cost more than all the rest here: it only has to change.
    generation_.store(generation_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void left() { function_.store(static_cast<std::uint16_t>(Function::kCount), std::memory_order_relaxed); }
  void request_hang_report() { report_requested_ = 1; }
  /// Looks at the clock now and then; prints the report when it is due.
  void watch() REQUIRES(session_lock);

  CallCounter& counter(Function function) {
    return engine_.lane().counters.calls[static_cast<std::uint16_t>(function)];
  }
  /// Whether a question that finds nothing, like the one before, is only counted, without a Call: there is no
  /// other thread, and no clock is to be read.
  [[nodiscard]] bool asks_again() { return !threads_ && (recorder_ == nullptr || recorder_->asks_again()); }
  void found_nothing_again(Function function) {
    entered(function);
    ++counter(function).count;
    left();
    if (recorder_ != nullptr) recorder_->found_nothing_again(function);
  }

 private:
  int step_polled() REQUIRES(session_lock);
  void make_records();
  void print_hang_report(const char* why);

  std::unique_ptr<ProcessFabric> fabric_;  // outlives the engine, which lets go of messages at its end
  Engine engine_;
  std::unique_ptr<ProgramRecorder> recorder_;
  std::optional<SettledClock> settled_clock_;
  TrackedRequests tracked_;
  MarshalContext marshal_;
  Meetings meetings_;
  BsendBuffer bsend_;
  BackgroundThread background_;
  std::unordered_map<MPI_Message, std::uint32_t> claimed_;
  std::uint64_t failed_requests_ = 0;
  std::vector<SettingInForce> settings_;
  Configuration configuration_;
  const Registry& registry_;
  pid_t process_ = getpid();
  // What every call looks at, on one cache line.
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
  bool fault_told_ = false;
  bool aborted_ = false;
};

/// A call that the MPI library carries while a backend is on: counted, and seen by the hang report.
class NativeCall {
 public:
  /// place: as for Call.
  explicit NativeCall(Function function, CallPlace place = CallPlace::here());
  ~NativeCall();
  NativeCall(const NativeCall&) = delete;
  NativeCall& operator=(const NativeCall&) = delete;

 private:
  Function function_;
};

/// The scope of one call of an MPI function that Offramp carries: takes the lock and counts the call.
class SCOPED_CAPABILITY Call {
 public:
  /// place: as a default that of the function that this is written in, see CallPlace::here().
  [[gnu::always_inline]] explicit Call(Function function, CallPlace place = CallPlace::here())
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
  [[gnu::always_inline]] ~Call() RELEASE() {
    session.left();
    if (session.recorder() != nullptr) session.recorder()->leave(function_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Session& session;
  Engine& engine;

  /// Where this call is recorded; null: nowhere.
  [[nodiscard]] ProgramRecorder* recorder() const { return session.recorder(); }
  [[nodiscard]] Function function() const { return function_; }

  /// Waits until done() holds, with progress everywhere; other threads get their turns.
  template <typename Predicate>
  void wait(Predicate done) {
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
  template <typename Body>
  auto unlocked(Body body) {
    Session::Mutex* const held = lock_.release();
    const auto result = body();
    lock_.take(held);
    engine.enter(static_cast<std::uint16_t>(function_), site_);
    return result;
  }

  /// The same of one that the library carries because nothing is carried, and that is recorded here.
  template <typename Body>
  auto leave_to_library(Body body) {
    const ProgramRecorder::Hidden hidden;
    return unlocked(body);
  }

 private:
  // Nothing here is called with the address of any of these, so that they stay in registers.
  Session::Lock lock_;
  Function function_;
  const void* site_;
};

/// The MPI error code of an outcome.
int error_code(Outcome outcome);
/// Raises an error on the communicator, as the MPI library would in this function. Returns the code. Without
/// the lock: the program's error handler may do what it likes.
int raise_error(Function function, MPI_Comm comm, int code);
/// Completes a call with an outcome.
inline int finish(Function function, MPI_Comm comm, Outcome outcome) {
  return outcome == Outcome::kOk ? MPI_SUCCESS : raise_error(function, comm, error_code(outcome));
}

}  // namespace offramp
