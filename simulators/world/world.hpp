// A world simulates all ranks, all devices, and their network in one process, in order of modelled time.
//
// Each rank runs a program: a coroutine that communicates through its RankHandle like an MPI program. Buffers
// are sizes without payload. Resources that ranks share are occupied in order of modelled time.
//
//   World world({.ranks = 4}, {WorldBackend(host_backend())});
//   const std::string stuck = world.run([](RankHandle& rank) -> Task<void> {
//     if (rank.rank() == 0) co_await rank.send(1, 4096);
//     if (rank.rank() == 1) co_await rank.receive(0, 4096);
//   });
//   Time end = world.clock(1);
//
// A program may run ahead of the world while it only issues operations: its clock advances, and the
// operations take effect at their own times. It waits for the world in calls whose result depends on other
// ranks.
//
// One thread at a time. Results depend only on the arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "offramp/model/backend.hpp"
#include "simulators/world/network.hpp"
#include "simulators/world/routing.hpp"
#include "simulators/world/stragglers.hpp"
#include "simulators/world/world_log.hpp"

namespace offramp {

class RankHandle;
class World;
namespace world {
class Core;
class Rank;
class Thread;
class Collective;
struct Operation;
}  // namespace world

/// The hardware of a world: a backend, the host for operations that it declines, and further backends for
/// routes.
struct WorldBackend {
  explicit WorldBackend(const BackendDescription& chosen)
      : WorldBackend(chosen, Settings::defaults(chosen.parameters)) {}
  WorldBackend(const BackendDescription& chosen, Settings values)
      : backend(&chosen), settings(std::move(values)) {}

  const BackendDescription* backend;  // must outlive the world
  Settings settings;
  const BackendDescription* host = nullptr;  // null: an operation that the backend declines ends the run
  std::optional<Settings> host_settings;     // defaults if not set
  struct Further {
    const BackendDescription* backend;
    Settings settings;
  };
  std::vector<Further> further;  // requires a host
  /// Backends in the rules: 0 is the host, then the backend (unless it is the host), then further ones.
  std::vector<RouteRule> rules;
};

/// Observes which backend carries each operation, and which messages fail.
class ChoiceObserver {
 public:
  virtual ~ChoiceObserver() = default;
  /// Called when the program issues a message (at the sender) or its part of a collective. reason: why the
  /// backend declined it, otherwise empty.
  virtual void chosen(int rank, const Operation& operation, Handling handling, std::string_view reason) = 0;
  /// The protocol gave up on a message, at the sender or at the rank that should have answered a request.
  virtual void send_failed(int rank) = 0;
};

struct WorldOptions {
  int ranks = 1;
  MachineLayout machine = {};             // how ranks share nodes
  FaultRates faults = {};                 // on the modelled wires
  std::shared_ptr<Network> network = {};  // null: the backend's own wires, which share nothing between ports
  std::shared_ptr<const Stragglers> stragglers = {};  // null: none
  bool check = false;              // verify invariants while running; see World::violations()
  std::uint64_t shuffle_seed = 0;  // nonzero: simultaneous events are inserted in random order
  Time poll = Time::ns(100);       // cost of a poll (test, iprobe) to the program
  Time stop_at = Time::never();    // the world stops here, with operations still open
  // The following must outlive the world. Null: not observed.
  ChoiceObserver* choices = nullptr;
  /// Counts operations as declined that the judge would decline, although the hardware carries them.
  const DataCarrier* judge = nullptr;
  SpanSink* spans = nullptr;
  PacketSink* packets = nullptr;
  WorldLog* log = nullptr;
};

/// One rank's handle of a communicator. Copies refer to the same communicator.
class Communicator {
 public:
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const;
  /// Identifies the communicator's messages. Collectives use the next number.
  [[nodiscard]] std::uint64_t context() const;
  /// The world rank of a communicator rank.
  [[nodiscard]] int world_rank(int rank) const;

 private:
  friend class RankHandle;
  friend class world::Core;
  friend class world::Rank;
  friend class world::Collective;
  struct Group;
  static int world_of(const Group& group, int rank);
  struct Local;  // counters of this rank
  std::shared_ptr<const Group> group_;
  std::shared_ptr<Local> local_;
  int rank_ = 0;
};

/// Buffer sizes of a collective at one rank, in bytes. See sizes_of(), except for v-collectives.
struct CollectiveSizes {
  std::size_t send = 0;
  std::size_t receive = 0;
  std::size_t block = 0;                      // per rank
  bool in_place = false;                      // send and receive are the same memory
  std::vector<std::size_t> send_blocks = {};  // see CollectiveBuffers
  std::vector<std::size_t> receive_blocks = {};
};
CollectiveSizes sizes_of(const Operation& operation, int rank);

/// An operation in progress. It must be completed with a wait or a successful test, or given up; a receive
/// that was cancelled must still be waited for. Movable; empty after completion.
class RankRequest {
 public:
  RankRequest() = default;
  RankRequest(RankRequest&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) {}
  RankRequest& operator=(RankRequest&& other) noexcept {
    std::swap(operation_, other.operation_);
    return *this;
  }
  ~RankRequest();
  [[nodiscard]] bool empty() const { return operation_ == nullptr; }

 private:
  friend class RankHandle;
  friend class RequestSet;
  friend class world::Thread;
  explicit RankRequest(world::Operation* operation) : operation_(operation) {}
  world::Operation* operation_ = nullptr;
};

/// Requests of one thread, for waits for some of them. An operation that completes enters the set's queue, so
/// the cost of a wait does not depend on how many requests are open. The set owns its requests and must
/// outlive the wait.
class RequestSet {
 public:
  /// What the caller wants to have again with a result.
  struct Note {
    std::uint64_t bytes;
    std::uint32_t other;
  };
  struct Learned {
    std::size_t name = 0;
    Note note{};
    Received received;
  };

  explicit RequestSet(RankHandle& rank);
  ~RequestSet();
  RequestSet& operator=(RequestSet&&) = delete;
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The request must not be empty. name: decides between simultaneous completions; the lowest is the first.
  /// Below 2^32.
  void add(RankRequest&& request, std::size_t name, const Note& note = {});
  /// Works like RankHandle::abandon(), for all requests.
  void abandon();
  /// Fetches ahead the request that completes first, and in a second step what its result is made of. Returns
  /// its name. `nullopt` if none is known.
  std::optional<std::size_t> fetch_first(unsigned step) const;

 private:
  friend class RankHandle;
  friend class world::Core;
  friend struct SomeDone;
  struct Complete {
    Time done_at;
    world::Operation* operation = nullptr;
  };
  static bool later_first(const Complete& a, const Complete& b);
  /// Otherwise wakes the thread when the first one is, if that is known.
  bool is_some_done();
  void completed(world::Operation& operation);
  Complete pop_front();
  void finish_receive(const Complete& complete, std::vector<Learned>& learned);
  /// Finishes the earliest completion, and up to `most` in total that are complete now.
  void finish_some(std::vector<Learned>& learned, std::size_t most);
  /// Removes the operation. The caller owns it.
  world::Operation* remove(world::Operation& operation);

  world::Thread& thread_;
  world::Operation* head_ = nullptr;  // requests in the order of add()
  world::Operation* tail_ = nullptr;
  std::size_t size_ = 0;
  Complete first_;               // the earliest completion that is not learned
  std::vector<Complete> later_;  // the others; a heap with the earliest on top
};

/// Awaitable: suspends the thread until some requests of its set are done. See RankHandle::wait_some().
struct SomeDone {
  world::Thread& thread;
  RequestSet& set;
  std::vector<RequestSet::Learned>& learned;
  std::size_t most;
  [[nodiscard]] bool await_ready() const { return set.is_some_done(); }
  void await_suspend(std::coroutine_handle<> waiter) const;
  void await_resume() const;
};

/// Selects whether a send completes only once a receive has matched it, as MPI_Ssend does.
enum class Synchronous : std::uint8_t { kNo, kYes };

/// Memory that a program reads whenever it continues. The world fetches it ahead in steps, each some events
/// after the one before, so that a step may read what the earlier ones have fetched.
class ProgramMemory {
 public:
  static constexpr unsigned kSteps = 5;
  virtual void fetch(unsigned step) const = 0;

 protected:
  ~ProgramMemory() = default;
};

/// Arguments of a persistent message (MPI_Send_init, MPI_Recv_init). Each start() returns a new request.
struct PersistentMessage {
  bool sends = false;
  Synchronous synchronous = Synchronous::kNo;
  Communicator communicator;
  int peer = 0;
  int tag = 0;
  std::size_t bytes = 0;
  ElementType element = ElementType::kByte;
};

/// A rank as seen by one thread of its program. Peers and roots are ranks of the communicator, which contains
/// all ranks by default. co_await each returned Task; Outcome::kFault reports a message that the protocol
/// gave up.
class RankHandle {
 public:
  RankHandle& operator=(RankHandle&&) = delete;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  /// The number of this thread within its rank. Thread 0 is the one that begins the program.
  [[nodiscard]] std::uint32_t thread() const;
  /// The thread's position in modelled time.
  [[nodiscard]] Time clock() const;
  [[nodiscard]] const Communicator& world_communicator() const;
  /// The program computes for `duration`, longer on a slow node or a disturbed processor. questions: how
  /// often it polls meanwhile, evenly spaced and without success.
  void compute(Time duration, std::uint64_t questions = 0);
  /// Works like compute(), but the node's slowness does not apply.
  void work(Time duration);
  /// The program is idle until `at`.
  void rest_until(Time at);

  Task<Outcome> send(const Communicator& communicator, int to, std::size_t bytes, int tag = 0,
                     ElementType element = ElementType::kByte);
  Task<Outcome> ssend(const Communicator& communicator, int to, std::size_t bytes, int tag = 0,
                      ElementType element = ElementType::kByte);
  /// bytes: size of the receive buffer.
  Task<Received> receive(const Communicator& communicator, int from, std::size_t bytes, int tag = kAnyTag);
  Task<Outcome> send(int to, std::size_t bytes, int tag = 0, ElementType element = ElementType::kByte) {
    return send(world_communicator(), to, bytes, tag, element);
  }
  Task<Outcome> ssend(int to, std::size_t bytes, int tag = 0, ElementType element = ElementType::kByte) {
    return ssend(world_communicator(), to, bytes, tag, element);
  }
  Task<Received> receive(int from, std::size_t bytes, int tag = kAnyTag) {
    return receive(world_communicator(), from, bytes, tag);
  }
  /// Works like MPI_Sendrecv: the receive is posted first. Completions are processed in order of their time.
  Task<Received> sendrecv(int to, std::size_t bytes, int from, std::size_t room, int tag = 0);

  RankRequest isend(const Communicator& communicator, int to, std::size_t bytes, int tag = 0,
                    ElementType element = ElementType::kByte, Synchronous synchronous = Synchronous::kNo);
  RankRequest irecv(const Communicator& communicator, int from, std::size_t bytes, int tag = kAnyTag);
  RankRequest isend(int to, std::size_t bytes, int tag = 0, ElementType element = ElementType::kByte) {
    return isend(world_communicator(), to, bytes, tag, element);
  }
  RankRequest irecv(int from, std::size_t bytes, int tag = kAnyTag) {
    return irecv(world_communicator(), from, bytes, tag);
  }
  RankRequest start(const PersistentMessage& message);

  /// Waits for the operation, advances the clock to its completion, and empties the request.
  Task<Received> wait(RankRequest& request);
  /// Processes completions in order of their time and clears the list. received: one entry per request,
  /// default-constructed for empty ones.
  Task<Outcome> wait_all(std::vector<RankRequest>& requests, std::vector<Received>* received = nullptr);
  /// Returns the index and result of the request that completes first; the lowest index on a tie. Empty
  /// requests are skipped; at least one must not be empty.
  Task<std::pair<std::size_t, Received>> wait_any(std::vector<RankRequest>& requests);
  /// Works like wait_any(), followed by all others that are complete by then, in order of their indices.
  Task<std::vector<std::pair<std::size_t, Received>>> wait_some(std::vector<RankRequest>& requests);
  /// Works like wait_some(requests), in the order of names, for at most `most` requests. Removes them from
  /// the set, which must not be empty, and appends their results to `learned`. Needs no frame of its own: a
  /// program that must enter the call awaits enter_wait() before.
  SomeDone wait_some(RequestSet& set, std::vector<RequestSet::Learned>& learned,
                     std::size_t most = SIZE_MAX) {
    return {thread_, set, learned, most};
  }
  [[nodiscard]] bool must_enter_wait() const;
  Task<void> enter_wait();
  /// `nullopt` if the operation is not complete.
  Task<std::optional<Received>> test(RankRequest& request);
  /// Cancels a receive. Returns false if it is already matched. The request must be waited for in both cases.
  Task<bool> cancel(RankRequest& request);
  /// The two steps of cancel(): the first waits for the world, the second does not. Look up a request that
  /// other threads may use or move between the two steps.
  Task<void> prepare_cancel();
  bool cancel_now(RankRequest& request);
  /// The operation continues without the program, whose clock it no longer affects.
  void abandon(RankRequest& request);
  /// Returns whether the program should call wait_for_world(): it is far ahead of the world, or it has
  /// polled while computing and may owe processor time to MPI. Calls that wait do this themselves.
  [[nodiscard]] bool is_far_ahead() const;
  /// Waits until the world reaches the thread's clock.
  Task<void> wait_for_world();
  /// Waits until a message is available that this receive would match. Does not remove it.
  Task<Received> probe(const Communicator& communicator, int from, int tag = kAnyTag);
  /// Works like MPI_Mprobe: probe() plus a receive of that message, which must be waited for.
  Task<RankRequest> claim(const Communicator& communicator, int from, int tag = kAnyTag);
  /// Processor time for posting a receive.
  [[nodiscard]] Time post_cost() const;
  Task<std::optional<Received>> iprobe(const Communicator& communicator, int from, int tag = kAnyTag);

  /// Collectives. operation.ranks and operation.root refer to the communicator. waits: the thread waits for
  /// the request before it does anything else.
  RankRequest start(const Communicator& communicator, const Operation& operation,
                    const CollectiveSizes& sizes, bool waits = false);
  RankRequest start(const Communicator& communicator, const Operation& operation) {
    return start(communicator, operation, sizes_of(operation, communicator.rank()));
  }
  Task<Outcome> collective(const Communicator& communicator, Operation operation);
  Task<Outcome> collective(Operation operation) { return collective(world_communicator(), operation); }

  Task<Outcome> bcast(std::size_t bytes, int root);
  Task<Outcome> reduce(std::size_t bytes, int root);  // a sum of doubles
  Task<Outcome> allreduce(std::size_t bytes);         // a sum of doubles
  Task<Outcome> gather(std::size_t block, int root);
  Task<Outcome> scatter(std::size_t block, int root);
  Task<Outcome> allgather(std::size_t block);
  Task<Outcome> alltoall(std::size_t block);
  Task<Outcome> barrier();

  /// Advances the clocks of all members to the latest one. No member returns before all have entered.
  Task<void> synchronize(const Communicator& communicator);
  /// Ends after the latest member has entered and the shortest of the members' `lasts` has passed; works: and
  /// this rank's own since its entry, which is then work and not waiting.
  RankRequest start_synchronize(const Communicator& communicator, Time lasts = {}, bool works = false);
  /// The bytes of one message, and the rank that it comes from or goes to.
  struct Block {
    int rank = 0;
    std::size_t bytes = 0;
  };
  /// A neighbourhood collective as MPI libraries do it: all receives are posted, all messages are sent, and
  /// both are waited for. All members call it. Two messages between the same ranks match in the order of the
  /// lists. Each message is carried by what carries messages of its size.
  RankRequest neighbours(const Communicator& communicator, std::span<const Block> to,
                         std::span<const Block> from, bool nonblocking);
  /// Accesses the memory of another rank: sends `bytes` to it and gets `back` bytes. The request completes
  /// when the access is complete at both ranks. The host carries all accesses.
  RankRequest access(const Communicator& communicator, int target, Access kind, std::size_t bytes,
                     std::size_t back);
  /// Works like MPI_Comm_split. Members wait for each other at no other cost. `nullopt` for a negative color.
  Task<std::optional<Communicator>> split(const Communicator& communicator, int color, int key);
  Task<Communicator> duplicate(const Communicator& communicator);
  /// A communicator of these world ranks, including this one. Members that use the same id are in the same
  /// communicator. Costs no time and does not wait. Call once per id on each member.
  Communicator communicator(std::span<const int> members, std::uint64_t id) {
    return communicator(members, id, nullptr);
  }
  /// For persistent collectives: shares the hardware setup of `parent`, if it is not null.
  Communicator communicator(std::span<const int> members, std::uint64_t id, const Communicator* parent);

  /// Starts another thread of this rank, at this thread's clock. Threads compute in parallel and share the
  /// rank's devices and messages. To use them in order of time, each thread must call wait_for_world()
  /// before it issues an operation.
  void begin_thread(const std::function<Task<void>(RankHandle& rank)>& program);
  /// Suspends this thread until another thread of the rank calls wake() on this handle, at that time.
  Task<void> sleep();
  /// Wakes this handle's thread from sleep(). Called by another thread of the rank.
  void wake();
  /// The program reads this memory whenever it continues: the world fetches it ahead, and after it `further`,
  /// if that is not null. Until the next call, with the empty default at the latest when the memory ends.
  void uses(std::span<const std::byte> memory = {}, const ProgramMemory* further = nullptr);

 private:
  friend class world::Thread;
  friend class RequestSet;
  explicit RankHandle(world::Thread& thread) : thread_(thread) {}
  Task<void> poll();
  static void move_in(RequestSet& set, std::vector<RankRequest>& requests);
  static void move_back(RequestSet& set, std::vector<RankRequest>& requests);
  void prefetch_operations(const std::vector<RankRequest>& requests) const;
  void prefetch_messages(const std::vector<RankRequest>& requests) const;
  const std::vector<Received>& observe_in_order(const std::vector<RankRequest>& requests);

  world::Thread& thread_;
};

/// For tests: all worlds of this process check their invariants from now on. Worlds that were created without
/// `check` report violations when they are destroyed. Call once, before the first world is created.
void audit_all_worlds(std::function<void(const std::string& violation)> report);

/// A world: construct it, run() one or more programs, then read the clocks and counters.
class World {
 public:
  using Program = std::function<Task<void>(RankHandle& rank)>;

  World(const WorldOptions& options, const WorldBackend& backend);
  ~World();
  World& operator=(World&&) = delete;

  /// Runs the program on every rank until all have ended. May be called again afterwards. Returns an empty
  /// text on success, the reason if an operation was declined, or a list of what each rank waits for if none
  /// can continue. After a failure only the clocks are valid.
  [[nodiscard]] std::string run(const Program& program);
  /// Runs the program on some ranks only; the others use no memory. when_stuck: called when no rank can
  /// continue; returns true if it has unblocked one.
  [[nodiscard]] std::string run(const Program& program, std::span<const int> ranks,
                                const std::function<bool()>& when_stuck = {});

  /// The unsupported operation that ended a run early. Empty if there was none.
  [[nodiscard]] const std::string& declined() const;
  [[nodiscard]] int ranks() const;
  [[nodiscard]] Time clock(int rank) const;
  /// Total delay of the rank's processor by stragglers, including delays hidden behind hardware or waiting.
  [[nodiscard]] Time straggler_delay(int rank) const;
  /// The latest clock of all ranks.
  [[nodiscard]] Time end() const;
  /// The part of end() that the modelled engine counts in cycles, usually all of it.
  [[nodiscard]] Time engine_time() const;
  [[nodiscard]] WireCounters wire() const;
  /// Messages sent and events processed since the beginning.
  [[nodiscard]] std::uint64_t messages() const;
  [[nodiscard]] std::uint64_t events() const;

  /// A resource that was used at least once.
  struct ResourceUse {
    std::string_view name;
    int first_rank = 0;  // the lowest rank that shares it
    Time busy;
    Time waited;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::vector<ResourceUse> resources() const;
  /// The links of the network that were used.
  [[nodiscard]] std::vector<LinkUse> links() const;
  /// The first few violations of invariants (with WorldOptions::check). `unreceived` adds messages that were
  /// sent but not received, once the program has ended.
  [[nodiscard]] std::vector<std::string> violations(bool unreceived = true) const;

 private:
  std::unique_ptr<world::Core> core_;
};

}  // namespace offramp
