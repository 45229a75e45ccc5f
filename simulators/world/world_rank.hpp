// One rank of a world: the threads of its program, each with a clock and what it waits for, and what they
// share.
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
  std::uint64_t context = 0;  // of its messages; that of its collectives is one higher
  std::uint64_t setup = 0;    // see Team::setup_context(), which is one higher
  int size = 0;
  std::vector<int> members;  // world ranks; empty: rank i is world rank i
};
struct Communicator::Local {
  std::uint32_t collectives = 0;
};

}  // namespace offramp

namespace offramp::world {

/// One member's part in a meeting of a communicator.
struct Meeting final : Operation {
  Meeting(Thread& thread, int rank_in_group_, int color_, int key_);
  Time entered;
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

  /// number: 0 is the one with which the program begins.
  Thread(Rank& rank, std::uint32_t number) : number_(number), rank_(rank), handle_(*this) {}
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  [[nodiscard]] Rank& rank() { return rank_; }
  [[nodiscard]] Core& core();
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] RankHandle& handle() { return handle_; }

  Time clock;
  Task<void> program;

  // What it waits for, besides an operation.
  std::uint32_t wakes = 0;          // asked for so far
  std::uint32_t wakes_passed = 0;   // those have no meaning any more
  std::coroutine_handle<> sleeper;  // goes on with the first one of the others
  Probing* prober = nullptr;        // goes on with a message that it accepts

  ProgressGate gate;
  Time interrupted;    // of the thread's time, and its clock does not show it yet
  bool asks = false;   // it is in a call that returns at once
  bool asked = false;  // while it computed, which is not over in the world
  [[nodiscard]] bool is_interrupted(Time at) { return asks || gate.is_beside_computing(at); }
  void compute(Time duration, std::uint64_t questions);
  /// It was interrupted: its clock shows it.
  [[nodiscard]] bool take_interruption() {
    if (interrupted == Time()) return false;
    clock += std::exchange(interrupted, Time());
    return true;
  }

  /// What is asked of a backend before a message.
  [[nodiscard]] offramp::Operation message_question(const Communicator& communicator, int peer,
                                                    std::size_t bytes, int tag, ElementType element);
  /// The program goes on beside the operation, which a thread may have to work on meanwhile.
  void begin_beside(Operation& operation, const offramp::Operation& question);
  void start_send(Operation& send, const Communicator& communicator, int to, std::size_t bytes, int tag,
                  ElementType element, Synchronous synchronous);
  void start_receive(Operation& receive, const Communicator& communicator, int from, std::size_t bytes,
                     int tag);
  /// It has run so far ahead of the world that it waits.
  [[nodiscard]] bool is_far_ahead() const;
  /// It learns that an operation is done.
  Received observe(Operation& operation);
  /// What the rank does from here on, it does.
  void take_turn();

 private:
  std::uint32_t number_;
  Rank& rank_;
  RankHandle handle_;
};

/// One that the program began with.
struct FurtherThread {
  FurtherThread(Rank& rank, std::uint32_t number, const World::Program& program)
      : thread(rank, number), begun_with(program) {}
  Thread thread;
  World::Program begun_with;  // kept: the coroutines of a lambda refer to its captures
};

/// A program may begin a great many threads, few of them alive at a time.
struct FurtherThreads {
  std::vector<std::unique_ptr<FurtherThread>> all;  // in the order in which they were added
  std::map<std::uint32_t, Thread*> running;         // by their numbers
};

/// Flows of a rank to others, few of which are looked through one by one.
struct Flows : detail::Pooled {
  static constexpr int kParts = 4;  // and then a table
  /// The flow to a rank, made if it is the first use.
  Flow& to(int destination);
  std::array<Flow, 3> flows;
  std::unique_ptr<Flows> next;
  std::unique_ptr<RankTable<Flow>> many;
};

/// What most events touch comes first: caches do not hold many ranks.
class alignas(64) Rank {
 public:
  Rank() : first_(*this, 0) {}
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  /// Its first use. everyone: the communicator of all ranks, without what it has of each.
  void use(Core& core, int number, const Communicator& everyone);

  [[nodiscard]] Core& core() { return *core_; }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] const Communicator& everyone() const { return everyone_; }
  [[nodiscard]] Thread& first() { return first_; }
  [[nodiscard]] const Thread& first() const { return first_; }
  [[nodiscard]] bool has_threads() const { return further_ != nullptr; }
  FurtherThread& add_thread(const World::Program& program);
  void thread_begins(Thread& thread);
  void thread_ends(Thread& thread);
  /// Before another program begins.
  void forget_threads() { further_.reset(); }
  void reset_programs();
  /// All that it was to do.
  [[nodiscard]] bool has_ended() const;
  /// The latest clock of its threads.
  [[nodiscard]] Time clock() const;
  [[nodiscard]] Flow& flow(int destination) {
    return destination == first_flow_.destination ? first_flow_ : other_flow(destination);
  }
  /// Where what most events touch ends.
  [[nodiscard]] const void* end_of_first() const { return &everyone_; }

  /// Null: none that can be had without making it.
  [[nodiscard]] const Device* device_if_inline(std::size_t backend) const {
    return backend < kInline ? &devices_[backend] : nullptr;
  }
  [[nodiscard]] Device& device(std::size_t backend) {
    return backend < kInline ? devices_[backend] : core_->further_device(number_, backend);
  }

  /// The order of what it gives to its devices.
  [[nodiscard]] std::uint64_t next_departure() {
    return static_cast<std::uint64_t>(EventKind::kDepart) << kKindShift |
           (departures++ & ((std::uint64_t{1} << kKindShift) - 1));
  }

  /// As ProgressGate has it.
  [[nodiscard]] Time served(Time at);
  /// The thread at whose cost the processor works for MPI at that moment; null: one waits in a call.
  [[nodiscard]] Thread* interrupted_at(Time at);
  /// A message is there that nothing has received.
  void found(const MatchKey& key);

  [[nodiscard]] std::uint64_t id_of(const Operation& operation) const {
    const bool of_several = operation.kind >= Operation::Kind::kCollective;
    return operation_id(number_, operation.number) | (of_several ? kCollectiveOperation : 0);
  }

  [[nodiscard]] static MatchKey key_of(const Communicator& communicator, int from, int tag);

 private:
  [[nodiscard]] Flow& other_flow(int destination);
  /// All but the first one.
  template <typename Visit>
  void for_each_thread(Visit visit) const {
    if (further_ == nullptr) return;
    for (const std::unique_ptr<FurtherThread>& one : further_->all) visit(one->thread);
  }

  Core* core_ = nullptr;
  int number_ = 0;

 public:
  std::uint32_t on_their_way = 0;  // messages that it sent and that have not come to their receivers
  std::uint64_t departures = 0;    // messages and work that it gave to its devices
  int going_on = 0;                // collectives that need the processor
  int by_thread = 0;               // nonblocking operations that the thread making progress works on

 private:
  Flow first_flow_;  // many ranks have one peer; the others' flows are elsewhere
  std::unique_ptr<Flows> flows_;

 public:
  MatchQueue posted;
  MatchQueue unexpected;

 private:
  Thread first_;
  std::unique_ptr<FurtherThreads> further_;  // null: there are none
  std::array<Device, kInline> devices_;
  Communicator everyone_;
  Communicator::Local local_;  // everyone_'s

 public:
  std::uint32_t operations = 0;  // begun, where anything is observed
  Time held_up;                  // as World::held_up() has it
  // What its processor does for operations in progress, which go on while any of its threads is in a call.
  Time busy;                           // with one of them until then
  std::vector<WaitingEvent> unserved;  // until a thread comes to a call
};

inline Core& Thread::core() {
  return rank_.core();
}
inline bool Thread::is_far_ahead() const {
  return rank_.on_their_way > kMostOnTheirWay || asked;
}
inline void Thread::take_turn() {
  if (rank_.has_threads() && core().log() != nullptr) core().log()->turn(rank_.number(), number_);
}

inline Time Core::processed(Rank& rank, Time begin, Time work) {
  if (options_.stragglers == nullptr) [[likely]]
    return begin + work;
  const Time end = options_.stragglers->end_of(rank.number(), begin, work);
  rank.held_up += end - begin - work;
  return end;
}

inline Device& Core::device(Rank& rank, std::uint8_t backend) {
  Device& device = rank.device(backend);
  if (device.backend == nullptr) make_device(device, members_[backend], rank.number());
  return device;
}

inline Meeting::Meeting(Thread& thread, int rank_in_group_, int color_, int key_)
    : Operation(Kind::kMeeting, thread.rank()),
      entered(thread.clock),
      rank_in_group(rank_in_group_),
      color(color_),
      key(key_) {
  thread.take_turn();
  if (thread.core().is_observed()) number = ++rank->operations;
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

/// Suspends until a message is unexpected that a receive with this key would take.
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

/// Suspends until the world has come to a time.
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
