// The event system of an execution context ([dpu-service] Notifications and events): a pool of events that
// carry notifications, handlers by type, sub-events, and the list of ongoing events. The service library and
// the model of the service processes (simulators/dpu) use it.
//
//   FREE -get-> HELD -emit-> done at once: returned to the pool
//                            ONGOING: returned by progress() once it is sent
//                            EXPLICIT: the caller checks completed() and returns it
//                            SUB: part of a meta-event, which completes with its last sub-event
//
// Completion means that the payload has left the sender; handlers may run later. An event pointer is valid
// from get() until the event is returned, and emit() resets it to null if that happens at once. Errors are
// return values. One thread.
//
// At most kPostedSends notifications to one peer are posted but unsent. Further ones wait in order, and
// progress() posts them. The published limit (MAX_POSTED_SENDS, read in [dpu-service-src]) applies to an
// event system and is checked only before a send is posted again. Here it applies to a peer and is checked
// before every send, so that a rank that computes without receiving cannot delay other ranks. The event
// systems of service processes have one peer each, so only the second difference affects them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "simulators/dpu_protocol/notification.hpp"

namespace offramp::dpu {

class EventSystem;

/// Allocates payload buffers. `get` is required, the rest is optional.
struct BufferPool {
  std::function<std::byte*(std::size_t bytes)> get;
  std::function<void(std::byte* buffer)> give_back;
  std::size_t element_size = 0;  // 0: any size; larger payloads are refused
};

/// The connection to a peer. send() returns true if the notification has left. Otherwise the carrier must
/// call sent() or failed() with `event`, during send() or later.
class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual bool send(const NotificationHeader& header, std::span<const std::byte> payload,
                    std::uint64_t event) = 0;
};

/// Addresses one of several peers of a system.
struct PeerConnection {
  Carrier* carrier = nullptr;
  std::uint64_t client_id = 0;
  std::uint64_t server_id = 0;
};

/// data is valid only during the call. Handlers may emit events.
using Handler = std::function<void(EventSystem& system, const NotificationHeader& header,
                                   std::span<const std::byte> data)>;

/// kDone: the payload has left. kInProgress: it leaves later. kError: the caller still has the event.
enum class EventResult : std::uint8_t { kDone, kInProgress, kError };

/// The properties of an event. A pool must outlive the events that it serves.
struct EventInfo {
  std::size_t payload_bytes = 0;  // nonzero: the event has its own buffer
  bool explicit_return = false;
  BufferPool* pool = nullptr;
};

/// An event of a pool. Obtained by EventSystem::get().
class Event {
 public:
  [[nodiscard]] std::span<std::byte> payload() { return payload_; }
  /// Returns whether its notification, or one of its sub-events, could not be sent.
  [[nodiscard]] bool failed() const { return failed_; }
  /// NotificationHeader::event_id of its notification, valid after emit().
  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// Called once, when the event completes.
  std::function<void()> on_complete;
  /// Called when the event has returned to its pool.
  std::function<void()> on_release;

 private:
  friend class EventSystem;
  enum class State : std::uint8_t { kFree, kHeld, kOngoing, kExplicit, kSub };
  State state_ = State::kFree;
  bool explicit_return_ = false;
  bool meta_ = false;
  bool sent_ = false;
  bool notified_ = false;  // on_complete has run
  bool failed_ = false;
  bool posted_ = false;  // counts among its peer's unsent notifications
  EventSystem* owner_ = nullptr;
  std::uint64_t number_ = 0;
  std::size_t slot_ = 0;  // index among the events of its system
  PeerConnection connection_;
  BufferPool* pool_ = nullptr;
  std::vector<std::byte> own_;  // buffer of an event without a pool
  std::span<std::byte> payload_;
  std::vector<Event*> subs_;
};

class EventSystem {
 public:
  static constexpr std::size_t kPostedSends = 8;      // read in [dpu-service-src]: MAX_POSTED_SENDS
  static constexpr std::size_t kGrowth = 32;          // events
  static constexpr std::size_t kMostWaiting = 65536;  // messages without a handler; further ones are refused

  /// identity: template of all headers. carrier: null for notifications to the own process. most_posted:
  /// unsent notifications per peer, at least 1.
  EventSystem(const NotificationHeader& identity, Carrier* carrier, std::size_t most_posted = kPostedSends);
  EventSystem& operator=(EventSystem&&) = delete;
  ~EventSystem();

  /// Registers a handler. If the type already has one, returns true and changes nothing. Messages received
  /// before are handled now, in order. pool: for incoming payloads; must outlive the registration.
  bool register_handler(std::uint64_t type, Handler handler, BufferPool* pool = nullptr);
  /// Returns false if the type has no handler or the pool is invalid.
  bool update_pool(std::uint64_t type, BufferPool* pool);
  /// Returns false if the type has no handler.
  bool deregister(std::uint64_t type);

  /// Returns null if the payload pool is exhausted, or the payload exceeds its element size.
  Event* get(const EventInfo& info = {});
  /// Sends the event's own payload to the peer of this system.
  EventResult emit(Event*& event, std::uint64_t type);
  /// Sends the caller's buffer, which must outlive the event. Fails if the event has its own buffer.
  EventResult emit(Event*& event, std::uint64_t type, std::span<const std::byte> payload);
  /// Sends to one of several peers. If sending fails at once, the event remains HELD.
  EventResult emit(Event*& event, std::uint64_t type, const PeerConnection& connection);
  EventResult emit(Event*& event, std::uint64_t type, std::span<const std::byte> payload,
                   const PeerConnection& connection);
  /// make_meta() turns a held event into a meta-event. queue_sub() adds a sub-event before it is emitted.
  /// Sub-events may belong to other systems, which must live as long.
  bool make_meta(Event& event);
  bool queue_sub(Event& meta, Event& sub);
  /// Completes at once if there are no sub-events.
  EventResult emit_meta(Event*& event);
  /// Returns whether the event and all its sub-events have been sent. Calls on_complete once.
  bool completed(Event& event);
  /// Returns false while the event or a sub-event is ongoing.
  bool return_event(Event*& event);

  /// Returns all events to the pool, completed or not. No send may be in progress.
  void clear();
  /// The carrier reports that an event's notification was sent.
  void sent(std::uint64_t event);
  /// The carrier reports that it could not be sent.
  void failed(std::uint64_t event);
  /// Returns completed events to the pool, and posts waiting sends.
  void progress();
  /// Posts all waiting sends regardless of the limit, before a connection closes.
  void flush();
  /// Handles bytes from the peer. Returns false for an invalid notification, or if its pool is too small.
  bool receive(std::span<const std::byte> message);
  bool receive(const NotificationHeader& header, std::span<const std::byte> payload);

  [[nodiscard]] std::size_t capacity() const { return events_.size(); }
  [[nodiscard]] std::size_t available() const { return free_.size(); }
  [[nodiscard]] std::size_t ongoing() const { return ongoing_ + metas_.size(); }
  /// Sends that wait because the limit is reached.
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Registration {
    Handler handler;
    BufferPool* pool = nullptr;
  };
  struct Pending {
    NotificationHeader header;
    std::vector<std::byte> payload;
  };

  struct Send {
    Event* event = nullptr;
    NotificationHeader header;
    std::span<const std::byte> payload;
  };
  /// Sends to one peer.
  struct Lane {
    std::size_t posted = 0;
    std::deque<Send> waiting;
  };
  using Peer = std::tuple<Carrier*, std::uint64_t, std::uint64_t>;
  static Peer peer_of(const PeerConnection& connection) {
    return {connection.carrier, connection.client_id, connection.server_id};
  }

  EventResult launch(Event*& event, std::uint64_t type, std::span<const std::byte> payload,
                     const PeerConnection& connection);
  /// Returns whether the send must wait for earlier ones to the same peer; if so, it is queued.
  bool has_to_wait(const Send& send);
  bool post(const Send& send);
  void post_waiting(std::size_t most);
  Event* find_posted(std::uint64_t send);
  void on_departed(Event& event);
  bool dispatch(const NotificationHeader& header, std::span<const std::byte> payload);
  bool deliver(const Registration& registration, const NotificationHeader& header,
               std::span<const std::byte> payload);
  void update_completion(Event& event);
  void release(Event& event);
  void reset(Event& event);
  EventResult finish_emit(Event*& event);

  NotificationHeader identity_;
  PeerConnection connection_;
  std::deque<Event> events_;
  std::vector<Event*> free_;
  std::size_t most_posted_;
  std::map<Peer, Lane> lanes_;    // peers with unsent notifications
  std::size_t ongoing_ = 0;       // without meta-events
  std::vector<Event*> metas_;     // ongoing ones
  std::vector<Event*> complete_;  // ongoing events to be returned
  std::map<std::uint64_t, Registration> handlers_;
  std::map<std::uint64_t, std::vector<Pending>> pending_;  // without a handler
  std::size_t waiting_ = 0;
  std::uint64_t numbers_ = 0;
};

}  // namespace offramp::dpu
