// The event system of an execution context ([dpu-service] Notifications and events): a pool of events
// that carry notifications, handlers by type, sub-events, and the list of ongoing ones.
//
//   FREE -get-> HELD -emit-> done at once: returned
//                            ONGOING: returned by progress() once it is sent
//                            EXPLICIT: the caller asks completed() and returns it
//                            SUB: belongs to a meta-event, which is complete when all of them are
//
// Completion means that the payload has left the sender, never that a handler has run. Lifecycle: an event
// pointer is valid from get() until it is returned, and emit() sets it to null when that has happened. Errors
// are values. One thread.
//
// At most kPostedSends notifications to one peer are posted and have not left; further ones wait in their
// order, and progress() posts them. The published limit (MAX_POSTED_SENDS, read in [dpu-service-src]) is one
// of an event system and asks before a send is posted again. Here it is one of a peer, so that a rank which
// computes and takes nothing holds up no other, and it asks before every send. The systems of service
// processes have one peer each: for them there is no difference but that.
//
// The service library sends by it, and so does the model of the service processes (simulators/dpu).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "simulators/dpu_protocol/notification.hpp"

namespace offramp::dpu {

class EventSystem;

/// Where payload buffers come from; get is needed, the rest is optional.
struct BufferPool {
  std::function<std::byte*(std::size_t bytes)> get;
  std::function<void(std::byte* buffer)> give_back;
  std::size_t element_size = 0;  // 0: any; larger payloads are refused
};

/// The way to a peer. Returns true when the notification has left; otherwise sent() or failed() has to be
/// called, later or before this returns. event: names the send in these calls.
class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual bool send(const NotificationHeader& header, std::span<const std::byte> payload,
                    std::uint64_t event) = 0;
};

/// One of several peers of a system.
struct Way {
  Carrier* carrier = nullptr;
  std::uint64_t client_id = 0;
  std::uint64_t server_id = 0;
};

/// data is valid during the call only. Emitting from a handler is allowed.
using Handler = std::function<void(EventSystem& system, const NotificationHeader& header,
                                   std::span<const std::byte> data)>;

enum class EventResult : std::uint8_t { kDone, kInProgress, kError };

struct EventInfo {
  std::size_t payload_bytes = 0;  // greater than 0: the event brings a buffer
  bool explicit_return = false;
  BufferPool* pool = nullptr;
};

class Event {
 public:
  [[nodiscard]] std::span<std::byte> payload() { return payload_; }
  /// Its notification, or one of its sub-events', did not leave.
  [[nodiscard]] bool failed() const { return failed_; }
  /// Of its notification, from emit() on: NotificationHeader::event_id.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// Called once when the event completes.
  std::function<void()> on_complete;
  /// Called when the event has gone back to its pool.
  std::function<void()> on_release;

 private:
  friend class EventSystem;
  enum class State : std::uint8_t { kFree, kHeld, kOngoing, kExplicit, kSub };
  State state_ = State::kFree;
  bool explicit_return_ = false;
  bool meta_ = false;
  bool sent_ = false;
  bool told_ = false;  // on_complete has run
  bool failed_ = false;
  bool posted_ = false;  // counts among those of its way that have not left
  EventSystem* owner_ = nullptr;
  std::uint64_t number_ = 0;
  std::size_t slot_ = 0;  // among all events of its system
  Way way_;
  BufferPool* pool_ = nullptr;
  std::vector<std::byte> own_;  // a buffer without a pool
  std::span<std::byte> payload_;
  std::vector<Event*> subs_;
};

class EventSystem {
 public:
  static constexpr std::size_t kPostedSends = 8;      // read in [dpu-service-src]: MAX_POSTED_SENDS
  static constexpr std::size_t kGrowth = 32;          // events
  static constexpr std::size_t kMostWaiting = 65536;  // messages without a handler; further ones are refused

  /// identity: what every header says of this end. carrier null: a system for notifications to oneself.
  /// most_posted: sends to one peer at a time, at least 1.
  EventSystem(const NotificationHeader& identity, Carrier* carrier, std::size_t most_posted = kPostedSends);
  EventSystem(const EventSystem&) = delete;
  EventSystem& operator=(const EventSystem&) = delete;
  ~EventSystem();

  /// The first registration of a type stays; a second one succeeds and changes nothing. Messages that came
  /// before are handled now, in their order. pool: for incoming payloads; outlives the registration.
  bool register_handler(std::uint64_t type, Handler handler, BufferPool* pool = nullptr);
  /// False: there is no handler, or no pool.
  bool update_pool(std::uint64_t type, BufferPool* pool);
  bool deregister(std::uint64_t type);

  /// Null: the pool of payloads is empty, or the size exceeds its elements.
  Event* get(const EventInfo& info = {});
  EventResult emit(Event*& event, std::uint64_t type);
  /// The caller's buffer stays until completion. An error for an event that brings a buffer of its own.
  EventResult emit(Event*& event, std::uint64_t type, std::span<const std::byte> payload);
  /// To one of several peers. An error at once leaves the event held.
  EventResult emit(Event*& event, std::uint64_t type, const Way& way);
  EventResult emit(Event*& event, std::uint64_t type, std::span<const std::byte> payload, const Way& way);
  /// Makes a held event a meta-event; queue_sub: before the sub-event is emitted. Sub-events may belong to
  /// other systems, which live as long.
  bool make_meta(Event& event);
  bool queue_sub(Event& meta, Event& sub);
  /// A meta-event without sub-events is complete at once.
  EventResult emit_meta(Event*& event);
  bool completed(Event& event);
  /// False: it is ongoing, or its sub-events are.
  bool give_back(Event*& event);

  /// Takes back everything, completed or not: nothing may be under way.
  void clear();
  /// The carrier has sent an event's notification.
  void sent(std::uint64_t event);
  /// It never will.
  void failed(std::uint64_t event);
  /// Returns what is complete, and posts what waited for it.
  void progress();
  /// Posts all that waits, beyond the limit too: before a connection ends.
  void flush();
  /// Bytes from the peer; false: not a notification, or a payload that its pool cannot take.
  bool receive(std::span<const std::byte> message);
  bool receive(const NotificationHeader& header, std::span<const std::byte> payload);

  [[nodiscard]] std::size_t capacity() const { return events_.size(); }
  [[nodiscard]] std::size_t available() const { return free_.size(); }
  [[nodiscard]] std::size_t ongoing() const { return ongoing_ + metas_.size(); }
  /// Sends that wait for others to leave.
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
  static Peer peer_of(const Way& way) { return {way.carrier, way.client_id, way.server_id}; }

  EventResult launch(Event*& event, std::uint64_t type, std::span<const std::byte> payload, const Way& way);
  /// Whether others to the same peer have to leave first.
  bool has_to_wait(const Send& send);
  bool post(const Send& send);
  void post_waiting(std::size_t most);
  Event* under_way(std::uint64_t send);
  void left(Event& event);
  bool dispatch(const NotificationHeader& header, std::span<const std::byte> payload);
  bool deliver(const Registration& registration, const NotificationHeader& header,
               std::span<const std::byte> payload);
  void settle(Event& event);
  void release(Event& event);
  void reset(Event& event);
  EventResult hold(Event*& event);

  NotificationHeader identity_;
  Way way_;
  std::deque<Event> events_;
  std::vector<Event*> free_;
  std::size_t most_posted_;
  std::map<Peer, Lane> lanes_;    // to which sends have not left
  std::size_t ongoing_ = 0;       // but for meta-events
  std::vector<Event*> metas_;     // the ongoing ones
  std::vector<Event*> complete_;  // ongoing ones that are to be returned
  std::map<std::uint64_t, Registration> handlers_;
  std::map<std::uint64_t, std::vector<Pending>> pending_;  // no handler yet
  std::size_t waiting_ = 0;
  std::uint64_t numbers_ = 0;
};

}  // namespace offramp::dpu
