// One rank of a world: the threads of its program, each with a clock and the event it waits for, and the
// state that they share. One thread at a time.
#pragma once

#include <array>
#include <coroutine>
#include <map>
#include <memory>
#include <vector>

#include "offramp/kernel/frame_pool.hpp"
#include "simulators/world/progress_gate.hpp"
#include "simulators/world/world_core.hpp"

namespace offramp {

struct Communicator::Group {
  std::uint64_t context = 0;  // for messages; collectives use the next number
  std::uint64_t setup = 0;    // see Team::setup_context(), which is one higher
  int size = 0;
  std::vector<int> members;  // world ranks; empty: the identity
};
struct Communicator::Local {
  std::uint32_t collectives = 0;
};

}  // namespace offramp

namespace offramp::world {

/// One member's participation in a meeting of a communicator.
struct Meeting final : Operation {
  Meeting(Thread& thread, int rank_in_group_, int color_, int key_);
  Time entered;
  Time lasts;
  bool works = false;  // `lasts` is work of its own
  int rank_in_group;
  int color;  // negative: no new communicator
  int key;
  std::optional<Communicator> made;
};

struct Probing;

/// One thread of a rank's program.
class Thread {
 public:
  static constexpr std::uint32_t kMostOnTheirWay = 64;

  /// number: 0 is the program's initial thread.
  Thread(Rank& rank, std::uint32_t number) : number_(number), rank_(rank), handle_(*this) {}
  Thread& operator=(Thread&&) = delete;

  [[nodiscard]] Rank& rank() { return rank_; }
  [[nodiscard]] Core& core();
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] RankHandle& handle() { return handle_; }

  Time clock;
  Task<void> program;

  // Reasons to continue, other than an operation.
  std::uint32_t wakes = 0;          // requested so far
  std::uint32_t wakes_passed = 0;   // obsolete up to this number
  std::coroutine_handle<> sleeper;  // resumed by the next wake-up that is not obsolete
  RequestSet* awaited = nullptr;    // resumed only once one of these requests is complete
  Probing* prober = nullptr;        // resumed by a matching message

  ProgressGate gate;
  Time interrupted;          // MPI work during computing, not yet included in clock
  bool is_launched = false;  // and not begun
  bool is_polling = false;   // in a polling call
  bool asked = false;        // has polled during a computing period that the world has not reached
  [[nodiscard]] bool is_interrupted(Time at) { return is_polling || gate.is_beside_computing(at); }
  void compute(Time duration, std::uint64_t questions);
  /// Adds the interrupted time to the clock. Returns whether there was any.
  [[nodiscard]] bool consume_interruption() {
    if (interrupted == Time()) return false;
    clock += std::exchange(interrupted, Time());
    return true;
  }

  /// Describes a message for Backend::supports().
  [[nodiscard]] offramp::Operation message_question(const Communicator& communicator, int peer,
                                                    std::size_t bytes, int tag, ElementType element);
  /// Begins a nonblocking operation, which may need the progress thread.
  void begin_beside(Operation& operation, const offramp::Operation& question);
  void start_send(Operation& send, const Communicator& communicator, int to, std::size_t bytes, int tag,
                  ElementType element, Synchronous synchronous);
  void start_receive(Operation& receive, const Communicator& communicator, int from, std::size_t bytes,
                     int tag);
  /// Returns whether the thread must wait because it is too far ahead of the world.
  [[nodiscard]] bool is_far_ahead() const;
  /// Completes an operation for the program: advances the clock and returns the result.
  Received observe(Operation& operation);
  /// Attributes the rank's next log entries to this thread.
  void take_turn();

 private:
  std::uint32_t number_;
  Rank& rank_;
  RankHandle handle_;

 public:
  std::span<const std::byte> used;  // see RankHandle::uses()
  const ProgramMemory* further = nullptr;
};

/// A thread that was started by RankHandle::begin_thread().
struct FurtherThread {
  FurtherThread(Rank& rank, std::uint32_t number, const World::Program& program)
      : thread(rank, number), begun_with(program) {}
  Thread thread;
  World::Program begun_with;  // kept alive: a lambda's coroutine refers to its captures
};

/// A program may start very many threads, few of them alive at a time.
struct FurtherThreads {
  std::vector<std::unique_ptr<FurtherThread>> all;  // in order of creation
  std::map<std::uint32_t, Thread*> running;         // by number
};

/// A rank's flows to other ranks: a short list for the first few, then a table. Algorithms with log2(ranks)
/// peers need no table. The destinations are apart, so that a search reads one cache line.
struct Flows : detail::Pooled {
  static constexpr std::size_t kPart = 4;
  struct Part : detail::Pooled {
    std::array<Flow, kPart> flows;
  };
  /// The flow to a rank, created on first use.
  Flow& to(int destination);
  std::array<int, 4 * kPart> destinations{};
  std::size_t known = 0;  // destinations
  std::array<std::unique_ptr<Part>, 4> parts;
  std::unique_ptr<RankTable<Flow>> many;
};

/// Tokens that are crossing the network to a rank.
class ComingTokens {
 public:
  void add(Time arrival) { first_ = count_++ == 0 ? arrival : earlier(first_, arrival); }
  void remove() { --count_; }
  /// Returns false only if none of them arrives at `at` or earlier.
  [[nodiscard]] bool arrive_until(Time at) const { return count_ > 0 && first_ <= at; }

 private:
  std::uint32_t count_ = 0;
  Time first_;  // or earlier; unless count_ is 0
};

/// Fields are ordered by use, since the caches cannot contain many ranks: those of most events come first.
class alignas(64) Rank {
 public:
  Rank() : first_(*this, 0) {}
  Rank& operator=(Rank&&) = delete;

  /// Initializes the rank on first use. everyone: the world's communicator, without this rank's own part.
  void use(Core& core, int number, const Communicator& world_communicator);

  [[nodiscard]] Core& core() { return *core_; }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] const Communicator& world_communicator() const { return everyone_; }
  [[nodiscard]] Thread& first() { return first_; }
  [[nodiscard]] const Thread& first() const { return first_; }
  [[nodiscard]] bool has_threads() const { return further_ != nullptr; }
  FurtherThread& add_thread(const World::Program& program);
  void thread_begins(Thread& thread);
  void thread_ends(Thread& thread);
  /// Called before another program begins.
  void forget_threads() { further_.reset(); }
  void reset_programs();
  /// Returns whether the programs of all threads have ended.
  [[nodiscard]] bool has_ended() const;
  /// The latest clock of its threads.
  [[nodiscard]] Time clock() const;
  [[nodiscard]] Flow& flow(int destination) {
    return destination == first_flow_.destination ? first_flow_ : other_flow(destination);
  }
  /// For prefetching. Null: no flows but the first.
  [[nodiscard]] const void* flows() const { return flows_.get(); }
  /// The end of the fields that most events use.
  [[nodiscard]] const void* end_of_first() const { return &local_; }

  /// The device of a backend that the rank has used.
  [[nodiscard]] Device& device(std::size_t backend) { return devices[backend]; }

  /// The sort key of the next item that the rank passes to its devices.
  [[nodiscard]] std::uint64_t next_departure() {
    return static_cast<std::uint64_t>(EventKind::kDepart) << kKindShift |
           (departures++ & ((std::uint64_t{1} << kKindShift) - 1));
  }

  /// See ProgressGate::served(); the earliest of all threads.
  [[nodiscard]] Time served(Time at);
  /// The thread that MPI work on the processor interrupts at `at`. Null if a thread is waiting in a call.
  [[nodiscard]] Thread* interrupted_at(Time at);
  /// Resumes threads that probe for an unexpected message with this key.
  void found(const MatchKey& key);

  [[nodiscard]] std::uint64_t id_of(const Operation& operation) const {
    const bool of_several = operation.kind >= Operation::Kind::kCollective;
    return operation_id(number_, operation.number()) | (of_several ? kCollectiveOperation : 0);
  }

  [[nodiscard]] static MatchKey key_of(const Communicator& communicator, int from, int tag);

 private:
  [[nodiscard]] Flow& other_flow(int destination);
  /// Visits all but the first thread.
  template <typename Visit>
  void for_each_thread(Visit visit) const {
    if (further_ == nullptr) return;
    for (const std::unique_ptr<FurtherThread>& one : further_->all) visit(one->thread);
  }

  Core* core_ = nullptr;
  int number_ = 0;

 public:
  std::uint32_t on_their_way = 0;  // messages sent but not yet delivered
  std::uint32_t departing = 0;     // messages issued whose data has not left, except accesses
  std::uint32_t collectives = 0;   // begun and not ended
  int going_on = 0;                // collectives that need the processor
  int by_thread = 0;               // nonblocking operations that need the progress thread
  Device* devices = nullptr;       // by backend; null: none used
  std::uint64_t departures = 0;    // messages and work items passed to its devices

 private:
  std::unique_ptr<FurtherThreads> further_;  // null: only the first thread
  std::unique_ptr<Flows> flows_;

 public:
  MatchQueue posted;

 private:
  Flow first_flow_;  // stored inline, since many ranks have only one peer

 public:
  MatchQueue unexpected;

 private:
  Thread first_;
  Communicator everyone_;
  Communicator::Local local_;  // everyone_'s

 public:
  ComingTokens tokens;
  std::uint32_t operations = 0;  // begun so far; only if the world is observed
  std::uint32_t accesses = 0;    // to the memory of others, begun so far
  Time straggler_delay;          // see World::straggler_delay()
  // Processor work for operations in progress, done while any thread is in a call.
  Time busy;                           // end of the current work
  std::vector<WaitingEvent> unserved;  // deferred until a thread enters a call
};

inline Core& Thread::core() {
  return rank_.core();
}
inline bool Thread::is_far_ahead() const {
  return rank_.on_their_way > kMostOnTheirWay || asked;
}
inline void Thread::take_turn() {
  if (rank_.has_threads() && core().log() != nullptr) core().log()->select_thread(rank_.number(), number_);
}

inline Time Core::processed(Rank& rank, Time begin, Time work) {
  if (options_.stragglers == nullptr) [[likely]]
    return begin + work;
  const Time end = options_.stragglers->end_of(rank.number(), begin, work);
  rank.straggler_delay += end - begin - work;
  return end;
}

inline Device& Core::device(Rank& rank, std::uint8_t backend) {
  if (rank.devices == nullptr || rank.devices[backend].backend == nullptr) [[unlikely]]
    return make_device(rank, backend);
  return rank.devices[backend];
}

inline Meeting::Meeting(Thread& thread, int rank_in_group_, int color_, int key_)
    : Operation(Kind::kMeeting, thread.rank()),
      entered(thread.clock),
      rank_in_group(rank_in_group_),
      color(color_),
      key(key_) {
  thread.take_turn();
  if (thread.core().is_observed()) number() = ++rank->operations;
  if (WorldLog* const log = thread.core().log(); log != nullptr)
    log->used(rank->number(), rank->id_of(*this));
}

/// Suspends until an operation is done.
struct Done {
  Operation& operation;
  [[nodiscard]] bool await_ready() const { return operation.done; }
  void await_suspend(std::coroutine_handle<> waiter) const { operation.waiter = waiter; }
  void await_resume() const {}
};

/// Suspends until Core::wake().
struct Asleep {
  Thread& thread;
  [[nodiscard]] bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) const { thread.sleeper = waiter; }
  void await_resume() const {}
};

/// Suspends until an unexpected message arrives that a receive with this key would match.
struct Probing {
  Thread& thread;
  MatchKey key;
  std::coroutine_handle<> waiter = nullptr;
  [[nodiscard]] bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> awaiting) {
    waiter = awaiting;
    thread.prober = this;
  }
  void await_resume() const {}
};

/// Suspends until the world reaches a time.
struct Until {
  Thread& thread;
  Time at;
  [[nodiscard]] bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) const {
    thread.sleeper = waiter;
    thread.core().wake(thread, at);
  }
  void await_resume() const {}
};

}  // namespace offramp::world
