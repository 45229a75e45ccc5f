// The implementation of a world: events, messages in flight, and the hardware of ranks. One thread at a time.
#pragma once

#include <array>
#include <coroutine>
#include <map>
#include <memory>
#include <new>
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
#include "simulators/world/own_departures.hpp"
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

/// A resource with one owner at a time. Other messages queue for it in order of arrival.
struct Hold {
  Message* owner = nullptr;
  Message* first_waiting = nullptr;
  Message* last_waiting = nullptr;
};

/// `count` values per group of ranks that share something, allocated for kGroups neighbouring groups at once.
template <typename T>
class Pages {
 public:
  T* at(std::size_t group, std::size_t groups, std::size_t count) {
    if (pages_.empty()) pages_.resize((groups + kGroups - 1) / kGroups);
    std::unique_ptr<T[]>& page = pages_[group / kGroups];
    if (page == nullptr) page = std::make_unique<T[]>(count * std::min(kGroups, groups));
    return page.get() + count * (group % kGroups);
  }
  /// Returns null if the group's page is not allocated.
  [[nodiscard]] T* find(std::size_t group, std::size_t count) const {
    if (pages_.empty() || pages_[group / kGroups] == nullptr) return nullptr;
    return pages_[group / kGroups].get() + count * (group % kGroups);
  }

 private:
  static constexpr std::size_t kGroups = 32;
  std::vector<std::unique_ptr<T[]>> pages_;
};

/// Most worlds have few backends: a flow counts the messages of the first ones itself.
inline constexpr std::size_t kInline = 2;

/// A rank's device of one backend, with the resources it can use.
struct Device {
  Backend* backend = nullptr;                                                  // null: not used yet
  std::array<Resource*, static_cast<std::size_t>(Scope::kCount)> resources{};  // by Core::scope_of()
  Hold* sending = nullptr;    // null: sending requires no hold
  Hold* receiving = nullptr;  // null: receiving requires no hold
};

/// Messages between two ranks that are neither matched nor unexpected yet, in order of issue. This is MPI's
/// matching order, even if messages overtake each other on the way.
struct Flow {
  std::array<std::uint32_t, kInline> issued{};  // by backend
  std::uint32_t early = 0;                      // messages in the list that arrived before an earlier one
  int destination = -1;                         // of a rank's first flow; negative: unused
  Message* head = nullptr;
  Message* tail = nullptr;
};

/// Fields are ordered by use: those that every arrival needs first, rarely used ones last.
struct alignas(64) Message : Matchable {
  Rank* source = nullptr;
  Rank* destination = nullptr;
  Operation* send = nullptr;     // null: the send is complete
  Operation* receive = nullptr;  // null: not matched
  Flow* flow = nullptr;
  Message* next_in_flow = nullptr;
  int source_in_group = 0;
  std::uint8_t backend = 0;
  Handling handling = Handling::kOffloaded;
  bool arrived = false;    // its envelope has arrived
  bool is_stored = false;  // passage.stored is known
  bool token = false;      // sent by an algorithm that computes its own times
  bool crosses = false;    // a token that crosses the network like any other message
  bool was_kept = false;   // was stored at the receiver before it could be matched
  bool local = false;      // to the rank itself
  bool was_requested = false;
  bool was_seen = false;  // the receiver has processed its request
  bool holds_sender = false;
  bool holds_receiver = false;
  bool parked = false;              // released the sender's device while the receiver was not ready
  Passage passage;                  // first and last of a token are the stamp's times
  Transfer transfer;                // contains the stamp's detail for a token
  Message* next_waiting = nullptr;  // in a Hold's queue
  Time held_since;                  // start of ownership of the sender's device
  Time shared;                      // see MessageWait::shared

  /// Returns false for a transfer of an access.
  [[nodiscard]] bool is_received() const { return transfer.access == Access::kNone; }
};
static_assert(sizeof(Message) <= 6 * 64);

/// A send, a receive, or a collective of one rank. The sends and receives of a collective are its parts.
struct Operation : Matchable {
  enum class Kind : std::uint8_t { kSend, kReceive, kCollective, kMeeting };
  Operation(Kind kind_, Rank& rank_) : kind(kind_), rank(&rank_) {}
  Operation& operator=(Operation&&) = delete;
  static void* operator new(std::size_t size) { return detail::FramePool::allocate(size); }
  /// Deletes the object that `kind` names, since a world has too many operations for virtual functions.
  static void operator delete(Operation* operation, std::destroying_delete_t);
  static void operator delete(void* memory, std::size_t size) noexcept {
    detail::FramePool::release(memory, size);
  }

  Kind kind : 2;
  bool done : 1 = false;
  bool cancelled : 1 = false;
  bool given_up : 1 = false;   // discarded by the world on completion
  bool claimed : 1 = false;    // a receive by claim(), which was not posted
  bool in_turn : 1 = false;    // when a part of a collective: the algorithm continues by an event, once the
                               // processor serves it
  bool by_thread : 1 = false;  // processed by the rank's progress thread
  bool in_set : 1 = false;
  Outcome outcome : 4 = Outcome::kOk;
  Handling handling : 4 = Handling::kOffloaded;  // a received message's
  Rank* rank;
  /// A request in a set is no part of a collective, and nothing waits for it alone.
  union {
    Collective* collective = nullptr;  // contains this part
    RequestSet* set;                   // if in_set: contains this request
  };
  union {
    std::coroutine_handle<> waiter = nullptr;
    std::uint64_t noted_bytes;  // if in_set: see RequestSet::Note
  };
  Operation* next_part = nullptr;  // in the list of the collective's parts, or of the set's requests
  Operation* previous_part = nullptr;
  Time posted;              // receive: its post; send that waits for an answer: the answer's arrival
  Time done_at;             // valid once done
  std::size_t bytes = 0;    // receive: buffer size, later the received size
  std::uint32_t name = 0;   // in the set
  std::uint32_t noted = 0;  // see RequestSet::Note

  /// The coroutine that waits for this operation alone. Null if there is none.
  [[nodiscard]] std::coroutine_handle<> awaiting() const { return in_set ? nullptr : waiter; }
  /// The message of a receive. Null until it is matched, and once it is finished.
  [[nodiscard]] Message* message() const { return queued ? nullptr : static_cast<Message*>(alike); }
  Message& take_message() { return *static_cast<Message*>(std::exchange(alike, nullptr)); }
  /// The number of a send or a collective within this rank, if the world is observed. Only receives are
  /// queued.
  [[nodiscard]] std::uint32_t& number() { return order; }
  [[nodiscard]] std::uint32_t number() const { return order; }
};
static_assert(sizeof(Operation) == 120, "a rank has as many as it has open requests");

/// The arguments of Core::send().
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
  bool by_processor = true;  // runs on the rank's processor, which stragglers disturb
  std::uint8_t backend = 0;
  Handling handling = Handling::kOffloaded;
  bool failed = false;           // depends on a message that failed
  const Stamp* token = nullptr;  // set: a token, whose times the algorithm computes
  Time latency = Time::ps(-1);   // tokens only; negative: does not cross the network
  std::uint64_t collective = 0;  // id of the enclosing collective; only if the world is observed
};

/// The arguments of Core::access().
struct AccessArguments {
  int target = 0;  // world rank
  Access kind = Access::kWrite;
  std::size_t bytes = 0;  // to the target
  std::size_t back = 0;   // from the target
};

/// The order of simultaneous events at one rank.
enum class EventKind : std::uint8_t {
  kRelease,  // sender's hold
  kReleaseReceiver,
  kArrive,     // data or a token arrives
  kRequested,  // a request arrives
  kGranted,    // a receive was posted, so the receiver's device may answer
  kAnswered,   // the answer arrives at the sender
  kDepart,     // the sender's device begins
  kWake,       // a thread continues
  // The order field has 3 bits for the kinds above. The following use the position of another kind.
  kStep,     // a device continues a collective; ordered as kDepart
  kNetwork,  // ordered as kRelease, which it cannot affect
  kResume    // a collective continues on the rank's processor; ordered as kDepart
};
/// An event in the queue. kind determines the type of object.
struct Event {
  void* object = nullptr;
  EventKind kind = EventKind::kWake;
  std::uint32_t number = 0;  // kWake: number of the wake-up; kStep: number given by the device
};
/// An event that waits until the rank's processor serves it.
struct WaitingEvent {
  Event event;
  std::uint64_t order;
};

/// Sort key of simultaneous events at a rank: kind, origin, and a number there.
inline constexpr unsigned kKindShift = 37;
inline constexpr unsigned kSourceShift = 13;
constexpr std::uint64_t order_of(EventKind kind, int source, std::uint32_t number) {
  return static_cast<std::uint64_t>(kind) << kKindShift | static_cast<std::uint64_t>(source) << kSourceShift |
         (number & ((1U << kSourceShift) - 1));
}

/// The world behind World: devices, event queue, and messages.
class Core final : private NetworkWorld {
 public:
  Core(const WorldOptions& options, const WorldBackend& backend);
  ~Core();
  Core& operator=(Core&&) = delete;

  std::string run(const World::Program& program, std::span<const int> ranks,
                  const std::function<bool()>& when_stuck);

  [[nodiscard]] const WorldOptions& options() const { return options_; }
  /// Returns null if nothing is logged.
  [[nodiscard]] WorldLog* log() const { return options_.log; }
  /// Returns whether to prefetch, since the ranks exceed the caches.
  [[nodiscard]] bool prefetches() const { return prefetches_; }
  /// From now on, programs may continue with a clock before now().
  void clocks_may_lag() { clocks_may_lag_ = true; }
  /// Returns whether operations are numbered for logs, spans or packets.
  [[nodiscard]] bool is_observed() const { return is_observed_; }
  [[nodiscard]] Time now() const override { return now_; }
  /// Working memory of RankHandle::observe_in_order(), valid until its next call.
  struct Learning {
    std::vector<std::pair<Time, std::size_t>> order;
    std::vector<Received> received;
  };
  [[nodiscard]] Learning& learning() { return learning_; }
  [[nodiscard]] Rank& rank(int rank);
  /// Returns null if the rank is not used.
  [[nodiscard]] const Rank* rank_if_used(int rank) const;
  [[nodiscard]] const Communicator& world_communicator() const { return everyone_; }
  /// Returns when the rank's processor finishes `work` from `begin` on. Adds any delay to
  /// Rank::straggler_delay.
  Time processed(Rank& rank, Time begin, Time work);
  /// Returns the time when the rank's processor is next available.
  Time resumed(Rank& rank, Time at) { return processed(rank, at, Time()); }
  /// Returns what makes progress on a collective over this backend.
  [[nodiscard]] Progress progress(std::uint8_t backend, OperationKind kind) const {
    return members_[backend].backend->progress(kind);
  }
  /// Returns whether any operation makes progress only during MPI calls.
  [[nodiscard]] bool needs_calls() const { return needs_calls_; }
  /// The duration of `computing` while the progress thread uses its share of the processor, as it does during
  /// operations that need it.
  [[nodiscard]] Time beside_thread(const Rank& rank, Time computing) const;
  /// Returns whether ranks may have a progress thread.
  [[nodiscard]] bool has_thread() const { return thread_share_ > 0; }
  /// Returns whether the operation's backend needs the progress thread.
  [[nodiscard]] bool needs_thread(const offramp::Operation& operation) const {
    return members_[carrier_of(operation)].backend->progress_share() > 0;
  }
  /// The backend that carries the operation; the host (0) if its route declines it.
  [[nodiscard]] std::uint8_t carrier_of(const offramp::Operation& operation) const;
  /// A thread enters a call that waits or polls.
  void enter_call(Thread& thread, Time at);
  /// Starts the program of a thread, at the thread's clock.
  void launch(Thread& thread, const World::Program& program);
  /// Continues a collective that waits for `part`, at `at` or once the processor is available.
  void resume(Operation& part, Time at);

  /// Returns whether collectives over this backend run on the ranks' processors.
  [[nodiscard]] bool is_by_processor(std::uint8_t backend) const { return has_host_ && backend == 0; }

  /// Processor time for posting a receive.
  [[nodiscard]] Time post_cost(Rank& rank) { return post_cost(rank, primary_); }
  [[nodiscard]] Time post_cost(Rank& rank, std::uint8_t backend) {
    return device(rank, backend).backend->post_receive_cost();
  }

  /// Returns whether an operation was declined that nothing else carries. run() then returns the reason.
  [[nodiscard]] bool has_declined() const { return !declined_.empty(); }
  [[nodiscard]] const std::string& declined() const { return declined_; }
  /// The backend that carries an operation, and how it is reported.
  struct Choice {
    std::uint8_t backend = 0;
    Handling handling = Handling::kOffloaded;
  };
  [[nodiscard]] Choice choose(const offramp::Operation& operation, Rank& rank);
  [[nodiscard]] Device& device(Rank& rank, std::uint8_t backend);

  /// Sends at `at`. Returns the time when a nonblocking call would continue. `send` is done immediately if
  /// nothing has to be waited for.
  Time send(Rank& source, Operation& send, const SendArguments& arguments, Time at) {
    return is_observed_ ? send_observed(source, send, arguments, at) : issue(source, send, arguments, at);
  }
  /// Begins an access to another rank's memory at `at`. Returns the time when the program continues.
  Time access(Rank& origin, Operation& access, const AccessArguments& arguments, Time at);
  /// posted: when the receiver's device has the receive.
  void receive(Operation& receive, Time posted);
  /// Completes a receive for a program or algorithm whose clock is `at`. Returns the time when it continues.
  /// by_processor: see SendArguments.
  Time observe_receive(Operation& receive, Time at, const Team* collective = nullptr,
                       bool by_processor = true) {
    return log() == nullptr ? finish_receive(receive, at, by_processor)
                            : finish_receive_observed(receive, at, collective, by_processor);
  }
  /// Works like observe_receive(), for a send or a meeting.
  Time observe_send(const Operation& send, Time at, const Team* collective = nullptr,
                    bool by_processor = true) {
    if (log() != nullptr) note_send(send, at, collective);
    const Time done = later(at, send.done_at);
    return by_processor ? resumed(*send.rank, done) : done;
  }
  /// Replaces observe_receive() for tokens.
  Team::Arrival finish_token(Operation& receive, const Team& team);
  /// Enters the number-th meeting of a communicator. All members continue once the last has entered.
  void synchronize(const Communicator& communicator, std::uint32_t number, Meeting& meeting);

  /// Returns the communicator that all ranks refer to by `id`. The first call creates it.
  [[nodiscard]] Communicator join(std::span<const int> members, std::uint64_t id, int rank,
                                  const Communicator* parent);

  void done(Operation& operation, Time at);
  /// The program no longer waits for the operation.
  void abandon(Operation& operation);
  /// Wakes a sleeping thread at `at` or earlier.
  void wake(Thread& thread, Time at);

  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] WireCounters wire() const;
  [[nodiscard]] Time end() const;
  [[nodiscard]] Time engine_time() const;
  [[nodiscard]] std::vector<World::ResourceUse> resources() const;
  [[nodiscard]] std::vector<LinkUse> links() const;
  [[nodiscard]] std::vector<std::string> violations(bool unreceived) const;
  /// The backend's devices in this world.
  [[nodiscard]] WorldDevices* devices(std::uint8_t backend) { return members_[backend].devices.get(); }

 private:
  /// A backend's devices as seen by its hardware collectives. Steps run in the order of their scheduling.
  class Devices final : public WorldDevices, public OwnSteps {
   public:
    Devices(Core& core, std::uint8_t backend) : core_(core), backend_(backend) {}
    [[nodiscard]] bool steps_now(const Team& team, Time at, Time latency) const override;
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
    std::unique_ptr<Backend> backend;           // shared by all ranks
    const OwnDepartures* departures = nullptr;  // null: every departure is an event
    std::size_t sender_hold = kNoResource;
    std::size_t receiver_hold = kNoResource;
    Progress answers = Progress::kHardware;  // what processes requests
    int group = 1;                           // ranks in a Scope::kGroup
    std::span<const ResourceDescription> resources;
    std::vector<Resources::ResourceSlot> places;  // by resource
    // By scope_of(): resources with the same sharers are adjacent.
    std::array<Pages<Resource>, static_cast<std::size_t>(Scope::kCount)> pages;
    std::array<std::uint32_t, static_cast<std::size_t>(Scope::kCount)> counts{};
    Pages<Hold> senders;
    Pages<Hold> receivers;
    std::unique_ptr<Devices> devices;
  };

  std::uint32_t next_number(Flow& flow, const SendArguments& arguments, int source);
  Device& make_device(Rank& rank, std::uint8_t backend);
  /// For prefetching. Null if no rank near this one has used a device.
  [[nodiscard]] const Device* primary_device(std::uint32_t rank) const {
    const Device* const devices = devices_.find(rank, members_.size());
    return devices != nullptr ? devices + primary_ : nullptr;
  }
  void add_member(const BackendDescription& description, const Settings& settings);
  /// Reduces a resource's scope to the simplest one with the same sharers on this machine.
  [[nodiscard]] Scope scope_of(const ResourceDescription& description) const;
  /// The index of the rank's unit in a scope, see units(). group: ranks per Scope::kGroup.
  [[nodiscard]] std::size_t unit_of(Scope scope, int group, int rank) const;
  [[nodiscard]] std::size_t units(Scope scope, int group) const;
  Choice report_choice(const Rank& rank, const offramp::Operation& operation, Choice choice,
                       std::string_view reason = {}) const;
  /// Reports the carrier of an access: the host. The chosen backend has declined it if that is another one.
  void choose_for_access(const Rank& rank, Access access, std::size_t bytes);
  void count_failure(const Rank& rank) const;
  [[nodiscard]] Resources view(const Device& device, const Member& member) const {
    return {member.resources, member.places.data(), device.resources.data(), audit_.get()};
  }
  void prefetch() const;
  void prefetch_objects(const EventQueue<Event>::Entry& entry) const;
  void prefetch_referred(const EventQueue<Event>::Entry& entry) const;
  void prefetch_resumed(const EventQueue<Event>::Entry& entry, unsigned step) const;
  struct Resumption {
    std::coroutine_handle<> frame;
    const Collective* collective = nullptr;  // contains `frame` in its algorithm
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
  void begin(Thread& thread);

  Message& make_message();
  void free(Message& message);

  Time issue(Rank& source, Operation& send, const SendArguments& arguments, Time at);
  Time send_observed(Rank& source, Operation& send, const SendArguments& arguments, Time at);
  Time finish_receive(Operation& receive, Time at, bool by_processor);
  Time finish_receive_observed(Operation& receive, Time at, const Team* collective, bool by_processor);
  void delay_sender(Rank& rank, Passage& passage);
  void note_send(const Operation& send, Time at, const Team* collective) const;
  void note_meeting(std::span<Meeting* const> members, Time latest) const;
  /// Declines the run if a network is set, since this backend's tokens do not cross it.
  void has_wires_of_its_own(const BackendDescription& backend);
  Time send_local(Message& message);
  [[nodiscard]] bool departs_now(Rank& source, const Operation& send, const Message& message, Time at);
  void depart(Message& message, Time at);
  void has_left(Message& message);
  void transmit(Message& message);
  void cross_token(Message& message, Time latency);
  void requested(Message& message);
  void on_request(Message& message);
  /// Charges processor time for MPI to the program that it interrupts, if there is one.
  void interrupt(Rank& rank, Time work);
  [[nodiscard]] bool is_served(Rank& rank, Progress progress, const Event& event, std::uint64_t order);
  void resume_algorithm(Operation& part);
  void park(Message& message);
  /// Returns whether the stage just called must be repeated later. asked: Passage::again before the call.
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

  Time begin_transfer(Operation& access, const Transfer& transfer, Protocol protocol, Time at);
  void end_transfer(Message& message);
  void combine(Message& message);
  void end_access(Message& message, Time at);

  void envelope(Message& message);
  void deliver(Message& message);
  void deliver_early(Flow& flow);
  void attach(Message& message, Operation& receive);
  [[nodiscard]] std::string deadlock() const;
  void make_communicator(std::span<Meeting* const> members);
  void discard(Operation& operation);

  WorldOptions options_;
  std::optional<Settings> host_settings_;  // see BackendContext::host
  std::vector<Member> members_;
  Pages<Device> devices_;  // by rank, then by backend
  // Continuation of Flow::issued for further backends. Key of a collective's messages: ~destination.
  std::map<std::tuple<int, int, std::uint8_t>, std::uint32_t> further_numbers_;
  std::uint8_t primary_ = 0;  // index of the chosen backend
  std::uint8_t last_ = 0;     // index of the last member; 0: a single backend, whose declines end the run
  std::uint32_t numbers_apart_ = kInline;  // factor that separates the numbers of different backends
  std::vector<RouteRule> rules_;
  bool has_host_;  // as the first member
  bool faulty_;
  bool prefetches_;
  bool is_observed_;
  bool needs_order_;  // every departure and step is an event
  bool clocks_may_lag_ = false;
  bool needs_calls_ = false;
  double thread_share_ = 0;
  std::string declined_;
  std::unique_ptr<Audit> audit_;
  std::mt19937_64 shuffle_;
  EventQueue<Event> queue_;
  std::vector<EventQueue<Event>::Entry> staged_;  // pushed by the current event; only with a shuffle_seed
  Time now_;
  std::uint64_t contexts_ = 0;  // so far; each uses two numbers, and the world has 0 and 1
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<Meeting*>> meetings_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const Communicator::Group>> named_;  // by id
  std::uint64_t messages_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t open_accesses_ = 0;
  Pool<Message> pool_;
  Learning learning_;
  Pages<Rank> ranks_;
  std::vector<bool> used_;  // by rank; avoids touching the memory of unused ranks
  Communicator everyone_;
  World::Program program_;
  std::unordered_set<Operation*> given_up_;  // but not done
};

}  // namespace offramp::world
