// The session of this process, from MPI_Init to MPI_Finalize while a backend is on: the engine with its
// fabric and lanes, the tables of handles, the lock, and progress.
//
// Threads: with MPI_THREAD_MULTIPLE one lock guards everything here; below that level there is no lock at
// all. The lock is never held over a call of the MPI library that can block or call back (see
// Call::unlocked).
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lib/core/collective.hpp"
#include "lib/core/configuration.hpp"
#include "lib/core/engine.hpp"
#include "lib/fabric/ucx_fabric.hpp"
#include "lib/mpi/bsend.hpp"
#include "lib/mpi/communicator.hpp"
#include "lib/mpi/datatype.hpp"
#include "lib/mpi/dispatch.hpp"
#include "lib/mpi/meetings.hpp"
#include "lib/report/observers.hpp"

namespace offramp {

/// The records of a blocking call; kept between calls, because building them costs more than a small message.
struct BlockingRecords {
  SendRecord send;
  ReceiveRecord receive;
};

class Session {
  std::unique_ptr<UcxFabricBase> fabric_;  // outlives the engine, which lets go of messages at its end
  Observers observers_;                    // outlive the backends

 public:
  /// The running session, or null. Set and reset by MPI_Init and MPI_Finalize.
  static Session* current;

  Session(Configuration configuration, std::unique_ptr<UcxFabricBase> fabric, Observers observers,
          std::vector<std::unique_ptr<Lane>> lanes, bool threads);

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] UcxFabricBase& fabric() { return *fabric_; }
  [[nodiscard]] Observers& observers() { return observers_; }
  /// The one that called MPI_Init; its forked children have the session too, and nothing to do with it.
  [[nodiscard]] pid_t process() const { return process_; }
  bool ending = false;  // MPI_Abort has been called

  Engine engine;
  Communicators communicators;
  Meetings meetings;
  Datatypes datatypes;
  BsendBuffer bsend;
  std::unordered_set<MPI_Message> claimed;  // handles of matched probes that are ours
  std::uint64_t clock_reads = 0;            // how often the program read the modelled clock

  /// Recursive: while it is held, a reduction may call a function of the program's, which may call what does
  /// not communicate.
  using Lock = std::unique_lock<std::recursive_mutex>;
  Lock lock() { return threads_ ? Lock(mutex_) : Lock(); }
  /// One turn of the engine and of what waits for the MPI library; needs the lock. Returns the number of
  /// events.
  int progress();
  /// The same without what waits for the MPI library, and so without a call of it.
  int progress_alone();
  /// The callback of the MPI library's progress engine: the same, if nobody else is at it.
  int progress_from_library();
  /// How often a waiting call, or one question after the other, looks at its own fabric before it gives the
  /// MPI library a turn (which yields the processor when there are more ranks than cores). Measured: less
  /// costs latency, more starves the library.
  static constexpr unsigned kTurnsAlone = 16;
  /// For a question that the program will ask again (MPI_Test, MPI_Iprobe): takes a turn of our own fabric in
  /// place of the MPI library's progress engine, which costs as much again. False, and nothing is done, when
  /// it is the library's turn: now and then, and always in a program that has given the library work of its
  /// own.
  bool progress_in_place_of_library();
  /// From now on the library may have work that goes on beside the program.
  void library_has_work() { library_has_work_ = true; }
  /// An error code of class MPI_ERR_OTHER whose text says what the engine's last fault was.
  int fault_code();
  /// Work to do in progress() until it returns true: operations that wait for a request of the MPI library.
  void poll(std::function<bool()> step) { polled_.push_back(std::move(step)); }

  /// Whether several threads come here from now on; tells what held before. Only from the one thread that
  /// there is when it changes.
  bool share(bool threads) {
    if (threads == threads_) return threads_;
    return std::exchange(threads_, threads);
  }

  std::unique_ptr<BlockingRecords> take_records();
  void give_back(std::unique_ptr<BlockingRecords> records) { records_.push_back(std::move(records)); }

  // The hang report: which function this process is in, and since when.
  void entered(Function function);
  void left();
  void request_hang_report() { report_requested_ = 1; }
  /// Looks at the clock now and then; prints the report when it is due.
  void watch();

  /// The program's CPU time since the last call, when the configuration wants it on the host clock.
  void add_compute_time();
  /// The cost of a question (MPI_Test, MPI_Iprobe, MPI_Wtime) with the model clock, so that programs which
  /// spin get on.
  void add_query_time();
  void restart_compute_time();

 private:
  void print_hang_report(const char* why);

  Configuration configuration_;
  pid_t process_ = getpid();
  bool threads_;
  std::recursive_mutex mutex_;
  unsigned turns_alone_ = 0;
  bool library_has_work_ = false;
  bool progressing_ = false;
  std::vector<std::function<bool()>> polled_;
  std::vector<std::unique_ptr<BlockingRecords>> records_;

  std::atomic<std::uint16_t> function_{static_cast<std::uint16_t>(Function::kCount)};
  std::atomic<std::uint64_t> generation_{0};
  std::uint64_t seen_generation_ = 0;
  std::uint64_t reported_generation_ = ~std::uint64_t{0};
  std::uint32_t watches_ = 0;
  std::chrono::steady_clock::time_point seen_since_;
  volatile std::sig_atomic_t report_requested_ = 0;
  Time cpu_;
  int fault_code_ = MPI_SUCCESS;
  bool fault_told_ = false;
};

/// The scope of one call of an MPI function that Offramp carries: takes the lock, counts the call and the
/// modelled time that passes in it.
class Call {
 public:
  explicit Call(Function function);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Session& session;
  Engine& engine;

  /// Waits until done() holds, with progress everywhere; other threads get their turns.
  template <typename Predicate>
  void wait(Predicate done) {
    for (unsigned idle_turns = 0; !done();) {
      if (session.progress() > 0) continue;
      if ((++idle_turns % Session::kTurnsAlone) == 0) yield();
    }
  }
  /// Runs a call of the MPI library without the lock.
  template <typename Body>
  auto unlocked(Body body) {
    if (lock_.owns_lock()) lock_.unlock();
    const auto result = body();
    relock();
    return result;
  }

 private:
  void yield();
  void relock();
  void certify();

  Session::Lock lock_;
  Function function_;
  std::array<Time, kMaxLanes> began_;
  std::uint64_t number_ = 0;  // for its receipt
};

/// Completes a call with an outcome: success, or an error raised on the communicator as the MPI library
/// would.
int finish(MPI_Comm comm, Outcome outcome);
/// The MPI error code of an outcome.
int error_code(Outcome outcome);

}  // namespace offramp
