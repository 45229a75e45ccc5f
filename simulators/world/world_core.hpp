// The inside of a world: its events, the messages on their way, and the hardware of its ranks.
#pragma once

#include <array>
#include <coroutine>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "offramp/kernel/event_queue.hpp"
#include "offramp/kernel/operation_id.hpp"
#include "offramp/kernel/prefetch.hpp"
#include "simulators/world/audit.hpp"
#include "simulators/world/match_queue.hpp"
#include "simulators/world/pool.hpp"
#include "simulators/world/rank_table.hpp"
#include "simulators/world/world.hpp"

namespace offramp::world {

class Core;
class Rank;
class Thread;
class Collective;
struct Message;
struct Operation;
struct Meeting;

/// A resource that one message holds at a time; others wait for it in the order in which they came.
struct Hold {
  Message* owner = nullptr;
  Message* first_waiting = nullptr;
  Message* last_waiting = nullptr;
};

/// Values of all groups of ranks that share something, made for neighbours together where one is used:
/// `count` for each group.
template <typename T>
class Pages {
 public:
  T* at(std::size_t group, std::size_t groups, std::size_t count) {
    if (pages_.empty()) pages_.resize((groups + kGroups - 1) / kGroups);
    std::unique_ptr<T[]>& page = pages_[group / kGroups];
    if (page == nullptr) page = std::make_unique<T[]>(count * std::min(kGroups, groups));
    return page.get() + count * (group % kGroups);
  }
  /// Null where nothing was made.
  [[nodiscard]] T* find(std::size_t group, std::size_t count) const {
    if (pages_.empty() || pages_[group / kGroups] == nullptr) return nullptr;
    return pages_[group / kGroups].get() + count * (group % kGroups);
  }

 private:
  static constexpr std::size_t kGroups = 32;
  std::vector<std::unique_ptr<T[]>> pages_;
};

/// Worlds have few backends. What ranks have of the first ones lies in them, of further ones elsewhere.
inline constexpr std::size_t kInline = 2;

/// One backend of a rank: what its device reaches.
struct Device {
  Backend* backend = nullptr;                                                  // null: not used yet
  std::array<Resource*, static_cast<std::size_t>(Scope::kCount)> resources{};  // by Core::scope_of()
  Hold* sending = nullptr;    // null: no resource is held by senders
  Hold* receiving = nullptr;  // null: none by receivers
};

/// Messages of a rank to another one that have not been matched with a receive or put among the unexpected
/// ones, in the order of issue: MPI's order, whatever overtakes what on the way.
struct Flow {
  std::array<std::uint32_t, kInline> issued{};  // by backend
  std::uint32_t early = 0;                      // of the list: arrived before one in front of them
  int destination = -1;                         // negative: of none yet
  Message* head = nullptr;
  Message* tail = nullptr;
};

/// What its arrival alone needs comes first, what few need last.
struct alignas(64) Message : Matchable {
  Rank* source = nullptr;
  Rank* destination = nullptr;
  Operation* send = nullptr;     // null: the sender knows all that it needs
  Operation* receive = nullptr;  // null: not matched
  Flow* flow = nullptr;
  Message* next_in_flow = nullptr;
  int source_in_group = 0;
  std::uint8_t backend = 0;
  Handling handling = Handling::kOffloaded;
  bool arrived = false;    // its envelope is there
  bool is_stored = false;  // passage.stored is known
  bool token = false;
  bool crosses = false;   // of a token: like any message
  bool was_kept = false;  // in the receiver's memory until it could be matched
  bool local = false;     // to the rank itself
  bool was_requested = false;
  bool was_seen = false;  // its request, by what answers it
  bool holds_sender = false;
  bool holds_receiver = false;
  bool parked = false;              // gave up the sender's device while it waited for the receiver
  Passage passage;                  // of a token: the stamp's times are first and last
  Transfer transfer;                // of a token: the stamp's detail
  Message* next_waiting = nullptr;  // for a hold
  Time held_since;                  // the sender's device
  Time shared;                      // as MessageWait has it
};
static_assert(sizeof(Message) <= 6 * 64);

/// A send, a receive, or a collective of one rank; or a message of a collective.
struct Operation : Matchable {
  enum class Kind : std::uint8_t { kSend, kReceive, kCollective, kMeeting };
  Operation(Kind kind_, Rank& rank_) : kind(kind_), rank(&rank_) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  static void* operator new(std::size_t size) { return detail::FramePool::allocate(size); }
  static void operator delete(void* memory, std::size_t size) noexcept {
    detail::FramePool::release(memory, size);
  }

  Kind kind;
  bool done = false;
  bool cancelled = false;
  bool given_up = false;   // the world ends it when it is done
  bool claimed = false;    // a receive that was not posted
  bool in_turn = false;    // the collective goes on once it is served, not at once
  bool by_thread = false;  // the rank's thread that makes progress works on it
  Outcome outcome = Outcome::kOk;
  Handling handling = Handling::kOffloaded;  // of a message that was received
  Rank* rank;
  Message* message = nullptr;
  std::coroutine_handle<> waiter;
  Thread* watcher = nullptr;         // waits for the first of several
  Collective* collective = nullptr;  // that it is part of
  Operation* next_part = nullptr;    // of the same one
  Operation* previous_part = nullptr;
  Time posted;            // of a receive; of a send that waits for an answer: when that is there
  Time done_at;           // known once it is done
  std::size_t bytes = 0;  // of a receive: room
  int source_in_group = 0;
  std::uint32_t number = 0;  // of what this rank began, where anything is observed
};

struct SendArguments {
  int destination = 0;  // world rank
  int source_in_group = 0;
  std::uint64_t context = 0;
  int tag = 0;
  std::size_t bytes = 0;
  ElementType element = ElementType::kByte;
  bool synchronous = false;
  bool signal = false;
  std::size_t footprint = 0;
  bool by_processor = true;  // the rank's own, which stragglers disturb
  std::uint8_t backend = 0;
  Handling handling = Handling::kOffloaded;
  bool failed = false;           // descends from a message that failed
  const Stamp* token = nullptr;  // priced by its algorithm
  Time latency = Time::ps(-1);   // of a token that crosses the network
  std::uint64_t collective = 0;  // that it is part of, where anything is observed
};

/// Events at one time and rank are taken in this order.
enum class EventKind : std::uint8_t {
  kRelease,  // of a sender's hold
  kReleaseReceiver,
  kArrive,     // of data and tokens
  kRequested,  // a request
  kGranted,    // a receive was posted: the receiver's device may answer
  kAnswered,   // the answer is at the sender
  kDepart,     // the sender's device begins
  kWake,       // a program goes on
  // An order has room for the eight kinds above. These take the turn of another one.
  kStep,     // of devices that work on a collective by themselves: among the departures
  kNetwork,  // among the releases, since neither sees the other
  kResume    // of a collective that goes on by its rank's processor: among the departures
};
struct Event {
  void* object = nullptr;
  EventKind kind = EventKind::kWake;
  std::uint32_t number = 0;  // kWake: which one is awaited; kStep: the device's own
};
/// Until the rank's processor is there for it.
struct WaitingEvent {
  Event event;
  std::uint64_t order;
};

/// The order of simultaneous events at a rank: their kind, where they come from, and a number there.
inline constexpr unsigned kKindShift = 37;
inline constexpr unsigned kSourceShift = 13;
constexpr std::uint64_t order_of(EventKind kind, int source, std::uint32_t number) {
  return static_cast<std::uint64_t>(kind) << kKindShift | static_cast<std::uint64_t>(source) << kSourceShift |
         (number & ((1U << kSourceShift) - 1));
}

class Core final : private NetworkWorld {
 public:
  Core(const WorldOptions& options, const WorldBackend& backend);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  std::string run(const World::Program& program, std::span<const int> ranks,
                  const std::function<bool()>& when_stuck);

  [[nodiscard]] const WorldOptions& options() const { return options_; }
  /// Null: nothing is written down.
  [[nodiscard]] WorldLog* log() const { return options_.log; }
  /// There are more ranks than caches hold.
  [[nodiscard]] bool prefetches() const { return prefetches_; }
  /// Whether operations are numbered.
  [[nodiscard]] bool is_observed() const { return is_observed_; }
  [[nodiscard]] Time now() const override { return now_; }
  /// Memory for a wait that learns of its operations in the order of their ends, until the next one does.
  struct Learning {
    std::vector<std::pair<Time, std::size_t>> order;
    std::vector<Received> received;
  };
  [[nodiscard]] Learning& learning() { return learning_; }
  [[nodiscard]] Rank& rank(int rank);
  /// Null: it is not.
  [[nodiscard]] const Rank* rank_if_used(int rank) const;
  [[nodiscard]] const Communicator& everyone() const { return everyone_; }
  /// When the rank's processor, which begins at `begin`, has done so much work; and that it was held up.
  Time processed(Rank& rank, Time begin, Time work);
  /// When the rank has its processor.
  Time resumed(Rank& rank, Time at) { return processed(rank, at, Time()); }
  /// What a collective over this backend goes on by.
  [[nodiscard]] Progress progress(std::uint8_t backend, OperationKind kind) const {
    return members_[backend].backend->progress(kind);
  }
  /// Something goes on in calls of MPI only.
  [[nodiscard]] bool needs_calls() const { return needs_calls_; }
  /// What takes so long where the program has its processor alone. The thread that makes progress takes its
  /// share while an operation is open that needs it.
  [[nodiscard]] Time beside_thread(const Rank& rank, Time computing) const;
  /// Whether there may be such a thread.
  [[nodiscard]] bool has_thread() const { return thread_share_ > 0; }
  /// Whether the backend that carries the operation needs it.
  [[nodiscard]] bool needs_thread(const offramp::Operation& operation) const {
    return members_[carrier_of(operation)].backend->progress_share() > 0;
  }
  /// The number of the backend that carries such an operation.
  [[nodiscard]] std::uint8_t carrier_of(const offramp::Operation& operation) const;
  /// A thread comes to a call that waits or asks.
  void enter_call(Thread& thread, Time at);
  /// Its program begins, at its clock.
  void launch(Thread& thread, const World::Program& program);
  /// A collective goes on where it waited for `part`, at `at` or when it has the processor.
  void resume(Operation& part, Time at);

  /// The processors of the ranks do what a collective over this backend needs.
  [[nodiscard]] bool is_by_processor(std::uint8_t backend) const { return has_host_ && backend == 0; }

  /// What posting a receive costs the program.
  [[nodiscard]] Time post_cost(Rank& rank) { return post_cost(rank, primary_); }
  [[nodiscard]] Time post_cost(Rank& rank, std::uint8_t backend) {
    return device(rank, backend).backend->post_receive_cost();
  }

  /// An operation was declined that nothing else carries: run() returns the reason.
  [[nodiscard]] bool has_declined() const { return !declined_.empty(); }
  [[nodiscard]] const std::string& declined() const { return declined_; }
  /// The backend of an operation, and its device at a rank.
  struct Choice {
    std::uint8_t backend = 0;
    Handling handling = Handling::kOffloaded;
  };
  [[nodiscard]] Choice choose(const offramp::Operation& operation, Rank& rank);
  [[nodiscard]] Device& device(Rank& rank, std::uint8_t backend);
  /// Of a backend behind the first kInline; used or not.
  [[nodiscard]] Device& further_device(int rank, std::size_t backend);

  /// Sends at `at`. Returns when a nonblocking call goes on. `send` is done at once if nothing has to be
  /// waited for.
  Time send(Rank& source, Operation& send, const SendArguments& arguments, Time at) {
    return is_observed_ ? send_observed(source, send, arguments, at) : issue(source, send, arguments, at);
  }
  /// posted: when the receive is there for the receiver's device.
  void receive(Operation& receive, Time posted);
  /// The program, or the algorithm of a collective, whose clock shows `at`, learns that a receive is done.
  /// Returns when it goes on. by_processor: as SendArguments has it.
  Time observe_receive(Operation& receive, Time at, const Team* collective = nullptr,
                       bool by_processor = true) {
    return log() == nullptr ? learn(receive, at, by_processor)
                            : learn_observed(receive, at, collective, by_processor);
  }
  /// The same of a send or a meeting.
  Time observe_send(const Operation& send, Time at, const Team* collective = nullptr,
                    bool by_processor = true) {
    if (log() != nullptr) note_send(send, at, collective);
    const Time done = later(at, send.done_at);
    return by_processor ? resumed(*send.rank, done) : done;
  }
  /// Instead of observe_receive(), for a token.
  Team::Arrival take_token(Operation& receive, const Team& team);
  /// The number-th meeting of a communicator: all its members go on together.
  void meet(const Communicator& communicator, std::uint32_t number, Meeting& meeting);

  /// The group that all ranks name by this id.
  [[nodiscard]] Communicator join(std::span<const int> members, std::uint64_t id, int rank,
                                  const Communicator* parent);

  void done(Operation& operation, Time at);
  /// The program asks for it no more.
  void give_up(Operation& operation);
  /// It sleeps no longer than until then.
  void wake(Thread& thread, Time at);

  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] WireCounters wire() const;
  [[nodiscard]] Time end() const;
  [[nodiscard]] Time engine_time() const;
  [[nodiscard]] std::vector<World::ResourceUse> resources() const;
  [[nodiscard]] std::vector<LinkUse> links() const;
  [[nodiscard]] std::vector<std::string> violations(bool unreceived) const;
  /// All devices of a backend.
  [[nodiscard]] WorldDevices* devices(std::uint8_t backend) { return members_[backend].devices.get(); }

 private:
  /// The steps of all of a backend's devices come in the order in which they were scheduled.
  class Devices final : public WorldDevices {
   public:
    Devices(Core& core, std::uint8_t backend) : core_(core), backend_(backend) {}
    [[nodiscard]] Resources resources(int world_rank) override;
    void schedule(Time at, Work& work, std::uint32_t number) override;
    void cross(std::size_t link, std::size_t bytes, Time first, Time last, Work& work,
               std::uint32_t number) override;

   private:
    friend class Core;
    struct Crossing {
      Devices* devices = nullptr;
      Work* work = nullptr;
      std::uint32_t number = 0;
    };
    Core& core_;
    std::uint8_t backend_;
    std::uint64_t scheduled_ = 0;
    std::uint32_t crossed_ = 0;
    Pool<Crossing> crossings_;
  };
  struct Member {
    const BackendDescription* description = nullptr;
    Settings settings;
    std::unique_ptr<Backend> backend;  // serves all ranks
    std::size_t sender_hold = kNoResource;
    std::size_t receiver_hold = kNoResource;
    Progress answers = Progress::kHardware;  // requests
    int group = 1;                           // ranks of a kGroup
    std::span<const ResourceDescription> resources;
    std::vector<Resources::Place> places;  // by resource
    // By scope_of() a resource: what the same ranks share lies together.
    std::array<Pages<Resource>, static_cast<std::size_t>(Scope::kCount)> pages;
    std::array<std::uint32_t, static_cast<std::size_t>(Scope::kCount)> counts{};
    Pages<Hold> senders;
    Pages<Hold> receivers;
    std::unique_ptr<Devices> devices;
  };

  std::uint32_t next_number(Flow& flow, const SendArguments& arguments, int source);
  void make_device(Device& device, Member& member, int rank);
  void add_member(const BackendDescription& description, const Settings& settings);
  /// The first scope in which the same ranks share a resource on this machine.
  [[nodiscard]] Scope scope_of(const ResourceDescription& description) const;
  /// Which one of a scope's resources a rank has, of how many. group: ranks of a kGroup.
  [[nodiscard]] std::size_t unit_of(Scope scope, int group, int rank) const;
  [[nodiscard]] std::size_t units(Scope scope, int group) const;
  Choice told(const Rank& rank, const offramp::Operation& operation, Choice choice,
              std::string_view reason = {}) const;
  void count_failure(const Rank& rank) const;
  [[nodiscard]] Resources view(const Device& device, const Member& member) const {
    return {member.resources, member.places.data(), device.resources.data(), audit_.get()};
  }
  void prefetch() const;
  void prefetch_objects(const EventQueue<Event>::Entry& entry) const;
  void prefetch_referred(const EventQueue<Event>::Entry& entry) const;
  struct Resumption {
    std::coroutine_handle<> frame;
    const Collective* collective = nullptr;  // whose algorithm that is part of
    void go_out();
  };
  [[nodiscard]] Resumption resumed_by(const EventQueue<Event>::Entry& entry) const;

  void call(Time at, const Parcel& parcel, void* what) override;
  void arrived(const Parcel& parcel, Time first, Time last, Time waited) override;
  void carries(std::size_t link, Time begin, Time end, Bandwidth rate) override {
    if (options_.log != nullptr) options_.log->carried(*options_.network, link, begin, end, rate);
  }
  [[nodiscard]] Time farther(const Transfer& transfer) const {
    return options_.network != nullptr ? options_.network->farther(transfer.source, transfer.destination)
                                       : Time();
  }

  void push(Time at, int rank, EventKind kind, void* object, std::uint64_t order, std::uint32_t number = 0);
  void push(Time at, const Rank& rank, EventKind kind, void* object, std::uint64_t order,
            std::uint32_t number = 0);
  void push(Time at, const Rank& rank, EventKind kind, Message& message);
  [[nodiscard]] std::uint64_t order_at(int peer, EventKind kind, const Message& message) const {
    return order_of(kind, peer, numbers_apart_ * message.transfer.number + message.backend);
  }
  void handle(const Event& event);
  static void begin(Thread& thread);

  Message& make_message();
  void free(Message& message);

  Time issue(Rank& source, Operation& send, const SendArguments& arguments, Time at);
  Time send_observed(Rank& source, Operation& send, const SendArguments& arguments, Time at);
  Time learn(Operation& receive, Time at, bool by_processor);
  Time learn_observed(Operation& receive, Time at, const Team* collective, bool by_processor);
  void hold_up(Rank& rank, Passage& passage);
  void note_send(const Operation& send, Time at, const Team* collective) const;
  void note_meeting(std::span<Meeting* const> members, Time latest) const;
  /// A backend whose tokens do not pass the network: there must be none.
  void has_wires_of_its_own(const BackendDescription& backend);
  Time send_local(Message& message);
  void depart(Message& message);
  void cross(Message& message);
  void cross_token(Message& message, Time latency);
  void requested(Message& message);
  void see(Message& message);
  /// The rank's processor works for MPI from now on, and the program computes so much later if it computes.
  void interrupt(Rank& rank, Time work);
  [[nodiscard]] bool is_served(Rank& rank, Progress progress, const Event& event, std::uint64_t order);
  void go_on(Operation& part);
  void park(Message& message);
  /// A stage was called, before which Passage::again was `asked`: whether it waits, and is called again.
  bool waits(Message& message, Time asked, Rank& rank, EventKind kind);
  void grant(Message& message);
  void answered(Message& message);
  void answered_send(Message& message);
  void notify(Message& message);
  void arrive(Message& message);
  static void note_answer(Message& message, Time at);
  void sent(Message& message, Time at);
  void record_sender(const Message& message) const;
  bool acquire(Hold& hold, Message& message);
  void release_sender(Message& message, Time at);
  void released(Hold& hold);

  void envelope(Message& message);
  void deliver(Message& message);
  void deliver_early(Flow& flow);
  void attach(Message& message, Operation& receive);
  [[nodiscard]] std::string deadlock() const;
  void make_communicator(std::span<Meeting* const> members);
  void discard(Operation& operation);

  WorldOptions options_;
  std::optional<Settings> host_settings_;  // BackendContext::host
  std::vector<Member> members_;
  std::vector<std::unique_ptr<Device[]>> further_devices_;  // by rank; null: none is used
  // As Flow::issued; of collectives by ~destination.
  std::map<std::tuple<int, int, std::uint8_t>, std::uint32_t> further_numbers_;
  std::uint8_t primary_ = 0;
  std::uint8_t last_ = 0;
  std::uint32_t numbers_apart_ = kInline;  // so that messages of different backends differ
  std::vector<RouteRule> rules_;
  bool has_host_;  // and it is the first member
  bool faulty_;
  bool prefetches_;
  bool is_observed_;
  bool needs_calls_ = false;
  double thread_share_ = 0;
  std::string declined_;
  std::unique_ptr<Audit> audit_;
  std::mt19937_64 shuffle_;
  EventQueue<Event> queue_;
  std::vector<EventQueue<Event>::Entry> staged_;
  Time now_;
  std::uint64_t contexts_ = 0;  // made so far; each has two, and the world's are 0 and 1
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<Meeting*>> meetings_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const Communicator::Group>> named_;  // by id
  std::uint64_t messages_ = 0;
  std::uint64_t events_ = 0;
  Pool<Message> pool_;
  Learning learning_;
  Pages<Rank> ranks_;
  std::vector<bool> used_;  // by rank: asking touches no memory of the rank
  Communicator everyone_;
  World::Program program_;
  std::unordered_set<Operation*> given_up_;  // and not done
};

}  // namespace offramp::world
