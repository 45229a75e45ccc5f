// The event system of an execution context (original document, Notifications and Events): a pool of events
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
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "lib/dpu_service/notification.hpp"

namespace offramp::dpu {

class EventSystem;

/// Where payload buffers come from; get is needed, the rest is optional.
struct BufferPool {
  std::function<std::byte*(std::size_t bytes)> get;
  std::function<void(std::byte* buffer)> give_back;
  std::size_t element_size = 0;  // 0: any; larger payloads are refused
};

/// The way to a peer. Returns true when the notification has left; otherwise sent() or failed() has to be
/// called, later or before this returns.
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
  EventSystem* owner_ = nullptr;
  std::uint64_t number_ = 0;
  BufferPool* pool_ = nullptr;
  std::vector<std::byte> own_;  // a buffer without a pool
  std::span<std::byte> payload_;
  std::vector<Event*> subs_;
};

class EventSystem {
 public:
  static constexpr std::size_t kGrowth = 32;          // events
  static constexpr std::size_t kMostWaiting = 65536;  // messages without a handler; further ones are refused

  /// identity: what every header says of this end. carrier null: a system for notifications to oneself.
  EventSystem(const NotificationHeader& identity, Carrier* carrier);
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
  /// Returns what is complete.
  void progress();
  /// Bytes from the peer; false: not a notification, or a payload that its pool cannot take.
  bool receive(std::span<const std::byte> message);
  bool receive(const NotificationHeader& header, std::span<const std::byte> payload);

  [[nodiscard]] std::size_t capacity() const { return events_.size(); }
  [[nodiscard]] std::size_t available() const { return free_.size(); }
  [[nodiscard]] std::size_t ongoing() const { return ongoing_.size(); }

 private:
  struct Registration {
    Handler handler;
    BufferPool* pool = nullptr;
  };
  struct Pending {
    NotificationHeader header;
    std::vector<std::byte> payload;
  };

  EventResult launch(Event*& event, std::uint64_t type, std::span<const std::byte> payload, const Way& way);
  bool dispatch(const NotificationHeader& header, std::span<const std::byte> payload);
  bool deliver(const Registration& registration, const NotificationHeader& header,
               std::span<const std::byte> payload);
  void settle(Event& event);
  void release(Event& event);
  EventResult hold(Event*& event);

  NotificationHeader identity_;
  Way way_;
  std::deque<Event> events_;
  std::vector<Event*> free_;
  std::vector<Event*> ongoing_;
  std::map<std::uint64_t, Event*> unsent_;  // by number
  std::map<std::uint64_t, Registration> handlers_;
  std::map<std::uint64_t, std::vector<Pending>> pending_;  // no handler yet
  std::size_t waiting_ = 0;
  std::uint64_t numbers_ = 0;
};

}  // namespace offramp::dpu
