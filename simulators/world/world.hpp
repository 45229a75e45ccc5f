// A world: all ranks, all devices and the network between them in one process, in the order of modelled time.
//
// Each rank runs a program: a coroutine that communicates through its RankHandle, as an MPI program does.
// Buffers are sizes; no payload is carried. What ranks and operations share is one resource, occupied in the
// order of modelled time.
//
//   World world({.ranks = 4}, {WorldBackend(host_backend())});
//   const std::string stuck = world.run([](RankHandle& rank) -> Task<void> {
//     if (rank.rank() == 0) co_await rank.send(1, 4096);
//     if (rank.rank() == 1) co_await rank.receive(0, 4096);
//   });
//   Time end = world.clock(1);
//
// A program runs ahead of the world as long as it only issues operations: its clock moves, and what it issues
// takes effect at its own time. It waits for the world where what it asks for depends on others.
//
// Thread rule: one thread at a time. The result depends on nothing but the arguments.
#pragma once

#include <coroutine>
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

/// The hardware under a world: a backend, the host that carries what it declines, and further backends to
/// which routes lead.
struct WorldBackend {
  explicit WorldBackend(const BackendDescription& chosen)
      : WorldBackend(chosen, Settings::defaults(chosen.parameters)) {}
  WorldBackend(const BackendDescription& chosen, Settings values)
      : backend(&chosen), settings(std::move(values)) {}

  const BackendDescription* backend;  // lives as long as the world
  Settings settings;
  const BackendDescription* host = nullptr;  // null: what is declined cannot be done, and ends the run
  std::optional<Settings> host_settings;     // the defaults if not set
  struct Further {
    const BackendDescription* backend;
    Settings settings;
  };
  std::vector<Further> further;  // only where there is a host
  /// Of the host, the backend unless that is the host, and the further ones, counted from 0.
  std::vector<RouteRule> rules;
};

/// Is told what carries the operations, and which of them fail.
class Choices {
 public:
  virtual ~Choices() = default;
  /// A message, at its sender, or one rank's part of a collective; when the program issues it. reason: of a
  /// decline.
  virtual void chosen(int rank, const Operation& operation, Handling handling, std::string_view reason) = 0;
  /// The protocol gave up on a message at this rank: at its sender, or where a request was to be answered.
  virtual void gave_up(int rank) = 0;
};

struct WorldOptions {
  int ranks = 1;
  MachineLayout machine = {};             // which ranks share what of a node
  FaultRates faults = {};                 // of the modelled wires
  std::shared_ptr<Network> network = {};  // null: the backend's own wires, with nothing shared between ports
  std::shared_ptr<const Stragglers> stragglers = {};  // null: there are none
  bool check = false;              // verify the invariants all the time: see World::violations()
  std::uint64_t shuffle_seed = 0;  // not 0: simultaneous events are inserted in an order drawn from it
  Time poll = Time::ns(100);       // what a question that may find nothing (test, iprobe) costs the program
  Time stop_at = Time::never();    // nothing happens from then on: what has not ended by then does not
  // These live as long as the world; null: not told.
  Choices* choices = nullptr;
  /// Counts what the world's hardware carries and the judge would decline as declined. Null: counts as it is.
  const DataCarrier* judge = nullptr;
  SpanSink* spans = nullptr;
  PacketSink* packets = nullptr;
  WorldLog* log = nullptr;
};

/// A communicator as one of its ranks holds it. Copies are the same communicator.
class Communicator {
 public:
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const;
  [[nodiscard]] std::uint64_t context() const;
  /// The world rank of a rank.
  [[nodiscard]] int world_rank(int rank) const;

 private:
  friend class RankHandle;
  friend class world::Core;
  friend class world::Rank;
  friend class world::Collective;
  struct Group;
  static int world_of(const Group& group, int rank);
  struct Local;  // what this rank counts
  std::shared_ptr<const Group> group_;
  std::shared_ptr<Local> local_;
  int rank_ = 0;
};

/// Sizes of a collective's buffers at one rank, in bytes. For all but the v-collectives sizes_of() knows
/// them.
struct CollectiveSizes {
  std::size_t send = 0;
  std::size_t receive = 0;
  std::size_t block = 0;                      // of one rank
  bool in_place = false;                      // send and receive are one memory
  std::vector<std::size_t> send_blocks = {};  // see CollectiveBuffers
  std::vector<std::size_t> receive_blocks = {};
};
CollectiveSizes sizes_of(const Operation& operation, int rank);

/// An operation in progress. Must be waited for (or tested until it is done; or, if it is a receive,
/// cancelled and waited for; or given up). Movable; empty once it was waited for.
class RankRequest {
 public:
  RankRequest() = default;
  RankRequest(RankRequest&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) {}
  RankRequest& operator=(RankRequest&& other) noexcept {
    std::swap(operation_, other.operation_);
    return *this;
  }
  RankRequest(const RankRequest&) = delete;
  RankRequest& operator=(const RankRequest&) = delete;
  ~RankRequest();
  [[nodiscard]] bool empty() const { return operation_ == nullptr; }

 private:
  friend class RankHandle;
  friend class world::Thread;
  explicit RankRequest(world::Operation* operation) : operation_(operation) {}
  world::Operation* operation_ = nullptr;
};

/// Whether a send ends only when its message is matched by a receive, as MPI_Ssend.
enum class Synchronous : std::uint8_t { kNo, kYes };

/// Arguments that are used again and again (MPI_Send_init and so on): start() gives a request each time.
struct PersistentMessage {
  bool sends = false;
  Synchronous synchronous = Synchronous::kNo;
  Communicator communicator;
  int peer = 0;
  int tag = 0;
  std::size_t bytes = 0;
  ElementType element = ElementType::kByte;
};

/// What one thread of a program sees of its rank. Where no communicator is given it is that of all ranks.
/// Peers and roots are ranks of the communicator.
class RankHandle {
 public:
  RankHandle(const RankHandle&) = delete;
  RankHandle& operator=(const RankHandle&) = delete;

  [[nodiscard]] int rank() const;
  [[nodiscard]] int size() const;
  /// Which one of the rank's threads it is: 0 is the one with which the program begins.
  [[nodiscard]] std::uint32_t thread() const;
  /// The thread's position in modelled time.
  [[nodiscard]] Time clock() const;
  [[nodiscard]] const Communicator& everyone() const;
  /// The program computes for a while: longer where its node is slow or its processor is disturbed.
  /// questions: so often it asks meanwhile, at equal distances, and what it asks finds nothing.
  void compute(Time duration, std::uint64_t questions = 0);
  /// The program does something that only a disturbed processor makes longer.
  void work(Time duration);
  /// The program does nothing until then.
  void rest_until(Time at);

  Task<Outcome> send(const Communicator& communicator, int to, std::size_t bytes, int tag = 0,
                     ElementType element = ElementType::kByte);
  Task<Outcome> ssend(const Communicator& communicator, int to, std::size_t bytes, int tag = 0,
                      ElementType element = ElementType::kByte);
  /// bytes: the room for the message.
  Task<Received> receive(const Communicator& communicator, int from, std::size_t bytes, int tag = kAnyTag);
  Task<Outcome> send(int to, std::size_t bytes, int tag = 0, ElementType element = ElementType::kByte) {
    return send(everyone(), to, bytes, tag, element);
  }
  Task<Outcome> ssend(int to, std::size_t bytes, int tag = 0, ElementType element = ElementType::kByte) {
    return ssend(everyone(), to, bytes, tag, element);
  }
  Task<Received> receive(int from, std::size_t bytes, int tag = kAnyTag) {
    return receive(everyone(), from, bytes, tag);
  }
  /// As MPI_Sendrecv: the receive is posted first, and what is done first is learned of first.
  Task<Received> sendrecv(int to, std::size_t bytes, int from, std::size_t room, int tag = 0);

  RankRequest isend(const Communicator& communicator, int to, std::size_t bytes, int tag = 0,
                    ElementType element = ElementType::kByte, Synchronous synchronous = Synchronous::kNo);
  RankRequest irecv(const Communicator& communicator, int from, std::size_t bytes, int tag = kAnyTag);
  RankRequest isend(int to, std::size_t bytes, int tag = 0, ElementType element = ElementType::kByte) {
    return isend(everyone(), to, bytes, tag, element);
  }
  RankRequest irecv(int from, std::size_t bytes, int tag = kAnyTag) {
    return irecv(everyone(), from, bytes, tag);
  }
  RankRequest start(const PersistentMessage& message);

  Task<Received> wait(RankRequest& request);
  /// What is done first is learned of first. The list is empty afterwards. received: what each request
  /// found, the empty ones nothing.
  Task<Outcome> wait_all(std::vector<RankRequest>& requests, std::vector<Received>* received = nullptr);
  /// The one that is done first (of those at the same time the one with the lowest index), and its index.
  /// Empty requests are passed over; not all may be empty.
  Task<std::pair<std::size_t, Received>> wait_any(std::vector<RankRequest>& requests);
  /// The same, and with it all that are done by then: their indices, in this order, and what they found.
  Task<std::vector<std::pair<std::size_t, Received>>> wait_some(std::vector<RankRequest>& requests);
  /// Nothing: not done yet.
  Task<std::optional<Received>> test(RankRequest& request);
  /// Takes a receive back; false when it is matched already. Either way it is still to be waited for.
  Task<bool> cancel(RankRequest& request);
  /// The two halves of it: the first waits for the world, the second does not. A request that another thread
  /// may take or move meanwhile is looked up between them.
  Task<void> come_to_cancel();
  bool cancel_now(RankRequest& request);
  /// The operation goes on, and the program learns nothing of it any more: its clock does not move for it.
  void give_up(RankRequest& request);
  /// The program has issued so much ahead of the world that it should wait for it, as the calls that wait do;
  /// or it has asked questions in which it may have had to work for MPI.
  [[nodiscard]] bool is_far_ahead() const;
  Task<void> let_world_come_up();
  /// Waits until a message is there that a receive would match, and leaves it there.
  Task<Received> probe(const Communicator& communicator, int from, int tag = kAnyTag);
  /// As MPI_Mprobe: the same, and the message is taken: it is to be waited for.
  Task<RankRequest> claim(const Communicator& communicator, int from, int tag = kAnyTag);
  /// What posting a receive costs the program.
  [[nodiscard]] Time post_cost() const;
  Task<std::optional<Received>> iprobe(const Communicator& communicator, int from, int tag = kAnyTag);

  /// Collectives. operation.ranks, and where it has one operation.root, are the communicator's.
  RankRequest start(const Communicator& communicator, const Operation& operation,
                    const CollectiveSizes& sizes);
  RankRequest start(const Communicator& communicator, const Operation& operation) {
    return start(communicator, operation, sizes_of(operation, communicator.rank()));
  }
  Task<Outcome> collective(const Communicator& communicator, Operation operation);
  Task<Outcome> collective(Operation operation) { return collective(everyone(), operation); }

  Task<Outcome> bcast(std::size_t bytes, int root);
  Task<Outcome> reduce(std::size_t bytes, int root);  // sums of doubles
  Task<Outcome> allreduce(std::size_t bytes);         // the same
  Task<Outcome> gather(std::size_t block, int root);
  Task<Outcome> scatter(std::size_t block, int root);
  Task<Outcome> allgather(std::size_t block);
  Task<Outcome> alltoall(std::size_t block);
  Task<Outcome> barrier();

  /// The clocks of all members go to the latest one among them, as in a call from which no rank returns
  /// before all have entered.
  Task<void> synchronize(const Communicator& communicator);
  RankRequest start_synchronize(const Communicator& communicator);
  /// This rank tells some ranks its clock and hears those of others. Of each
  /// pair, the n-th telling about a subject is the n-th hearing. Telling does not wait. subject: below
  /// 2^30.
  RankRequest exchange(const Communicator& communicator, std::uint32_t subject, std::span<const int> to,
                       std::span<const int> from);
  /// As MPI_Comm_split, which takes no modelled time but that the members wait for each other. Nothing: a
  /// negative color.
  Task<std::optional<Communicator>> split(const Communicator& communicator, int color, int key);
  Task<Communicator> duplicate(const Communicator& communicator);
  /// The communicator of these world ranks, one of which is this rank: all that name the same id are in it.
  /// Takes no modelled time and does not wait. Once for each id on each member.
  Communicator communicator(std::span<const int> members, std::uint64_t id) {
    return communicator(members, id, nullptr);
  }
  /// The same for a persistent collective, which uses what the hardware has set up for `parent`.
  Communicator communicator(std::span<const int> members, std::uint64_t id, const Communicator* parent);

  /// Another thread of this rank begins, at this one's clock. Threads compute beside each other, and share
  /// the rank's devices and messages: so that they come to those in the order of time, each lets the world
  /// come up before it issues anything.
  void begin_thread(const std::function<Task<void>(RankHandle& rank)>& program);
  /// Until another thread of this rank rouses this one, which then is no further back in time.
  Task<void> sleep();
  void rouse();

 private:
  friend class world::Thread;
  explicit RankHandle(world::Thread& thread) : thread_(thread) {}
  Task<void> ask();
  void prefetch_operations(const std::vector<RankRequest>& requests) const;
  void prefetch_messages(const std::vector<RankRequest>& requests) const;
  const std::vector<Received>& learn_as_they_come(const std::vector<RankRequest>& requests);

  world::Thread& thread_;
};

/// From now on all worlds of this process check their invariants, and tell as they end what was broken in
/// those that were not asked to: for tests. Called once, before the first world.
void audit_all_worlds(std::function<void(const std::string& violation)> report);

class World {
 public:
  using Program = std::function<Task<void>(RankHandle& rank)>;

  World(const WorldOptions& options, const WorldBackend& backend);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Runs the program on every rank until all have ended; a further program begins when that one has. Returns
  /// an empty text, or what each rank that has not ended waits for when none of them can go on (the world is
  /// of no more use then, but for its clocks).
  [[nodiscard]] std::string run(const Program& program);
  /// The same on some ranks only: the others need no memory. when_stuck: asked when none can go on; true: it
  /// has made that one can.
  [[nodiscard]] std::string run(const Program& program, std::span<const int> ranks,
                                const std::function<bool()>& when_stuck = {});

  /// What the hardware cannot do, for which a run has ended early; empty: nothing.
  [[nodiscard]] const std::string& declined() const;
  [[nodiscard]] int ranks() const;
  [[nodiscard]] Time clock(int rank) const;
  /// By how much stragglers have held up the rank's processor so far, what hardware or waiting hid of it
  /// included.
  [[nodiscard]] Time held_up(int rank) const;
  /// The latest one.
  [[nodiscard]] Time end() const;
  /// The part of it that is counted in cycles of the modelled engine, usually all of it.
  [[nodiscard]] Time engine_time() const;
  [[nodiscard]] WireCounters wire() const;
  /// Since the beginning: messages that were sent, events that were taken from the queue.
  [[nodiscard]] std::uint64_t messages() const;
  [[nodiscard]] std::uint64_t events() const;

  /// One resource that somebody has used.
  struct ResourceUse {
    std::string_view name;
    int first_rank = 0;  // of those that share it
    Time busy;
    Time waited;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::vector<ResourceUse> resources() const;
  /// Links of the network that were used.
  [[nodiscard]] std::vector<LinkUse> links() const;
  /// What broke an invariant (with WorldOptions::check), the first few of them; and once the program has
  /// ended, and unless `unreceived` is false, messages that were sent and never received.
  [[nodiscard]] std::vector<std::string> violations(bool unreceived = true) const;

 private:
  std::unique_ptr<world::Core> core_;
};

}  // namespace offramp
