// Events use slots that are recycled. A send is identified by slot and number (kSlotBits), so a late report
// of an earlier send cannot complete the slot's current event. Carriers and callbacks may reenter the system,
// so loops keep no iterator across such calls and look up their position again.
#include "simulators/dpu_protocol/events.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace offramp::dpu {
namespace {

// A send's id: the slot of its event, and the event's number, which differs from earlier ones there.
constexpr unsigned kSlotBits = 24;
constexpr std::size_t kMostEvents = std::size_t{1} << kSlotBits;

}  // namespace

EventSystem::EventSystem(const NotificationHeader& identity, Carrier* carrier, std::size_t most_posted)
    : identity_(identity),
      connection_{carrier, identity.client_id, identity.server_id},
      most_posted_(std::max<std::size_t>(most_posted, 1)) {}

EventSystem::~EventSystem() {
  clear();
}

void EventSystem::clear() {
  lanes_.clear();
  metas_.clear();
  complete_.clear();
  ongoing_ = 0;
  for (Event& event : events_) {
    if (event.state_ != Event::State::kFree) release(event);
  }
}

bool EventSystem::register_handler(std::uint64_t type, Handler handler, BufferPool* pool) {
  if (type >= kTypes || !handler || (pool != nullptr && !pool->get)) return false;
  if (!handlers_.try_emplace(type, Registration{std::move(handler), pool}).second) return true;
  // Extracted first, because a handler may register or receive further messages.
  const auto waiting = pending_.extract(type);
  if (waiting.empty()) return true;
  waiting_ -= waiting.mapped().size();
  for (const Pending& message : waiting.mapped()) dispatch(message.header, message.payload);
  return true;
}

bool EventSystem::update_pool(std::uint64_t type, BufferPool* pool) {
  const auto found = handlers_.find(type);
  if (found == handlers_.end() || pool == nullptr || !pool->get) return false;
  found->second.pool = pool;
  return true;
}

bool EventSystem::deregister(std::uint64_t type) {
  return handlers_.erase(type) == 1;
}

Event* EventSystem::get(const EventInfo& info) {
  if (free_.empty()) {
    // The names of sends contain the event's slot.
    if (events_.size() + kGrowth > kMostEvents) return nullptr;
    // A deque keeps the events in place while it grows, so pointers stay valid.
    for (std::size_t i = 0; i < kGrowth; ++i) {
      free_.push_back(&events_.emplace_back());
      free_.back()->slot_ = events_.size() - 1;
    }
  }
  Event& event = *free_.back();
  if (info.payload_bytes > 0 && info.pool != nullptr) {
    const bool fits = info.pool->element_size == 0 || info.payload_bytes <= info.pool->element_size;
    std::byte* const buffer = fits && info.pool->get ? info.pool->get(info.payload_bytes) : nullptr;
    if (buffer == nullptr) return nullptr;
    event.pool_ = info.pool;
    event.payload_ = {buffer, info.payload_bytes};
  } else if (info.payload_bytes > 0) {
    event.own_.resize(info.payload_bytes);
    event.payload_ = event.own_;
  }
  // Only now, so that a failed allocation leaves the event in the pool.
  free_.pop_back();
  event.state_ = Event::State::kHeld;
  event.explicit_return_ = info.explicit_return;
  event.owner_ = this;
  return &event;
}

EventResult EventSystem::emit(Event*& event, std::uint64_t type) {
  return emit(event, type, connection_);
}

EventResult EventSystem::emit(Event*& event, std::uint64_t type, std::span<const std::byte> payload) {
  return emit(event, type, payload, connection_);
}

EventResult EventSystem::emit(Event*& event, std::uint64_t type, const PeerConnection& connection) {
  if (event == nullptr) return EventResult::kError;
  return launch(event, type, event->payload_, connection);
}

EventResult EventSystem::emit(Event*& event, std::uint64_t type, std::span<const std::byte> payload,
                              const PeerConnection& connection) {
  if (event == nullptr || !event->payload_.empty()) return EventResult::kError;
  if (!payload.empty() && payload.data() == nullptr) return EventResult::kError;
  return launch(event, type, payload, connection);
}

EventResult EventSystem::launch(Event*& event, std::uint64_t type, std::span<const std::byte> payload,
                                const PeerConnection& connection) {
  const bool ready = (event->state_ == Event::State::kHeld || event->state_ == Event::State::kSub) &&
                     !event->sent_ && event->number_ == 0 && !event->meta_;
  if (!ready || type >= kTypes || payload.size() > kMostPayload) return EventResult::kError;
  Send send{event, identity_, payload};
  send.header.type = type;
  send.header.payload_size = payload.size();
  send.header.event_id = event->number_ = ++numbers_;
  send.header.client_id = connection.client_id;
  send.header.server_id = connection.server_id;
  event->connection_ = connection;
  if (connection.carrier == nullptr) {
    event->sent_ = true;
    dispatch(send.header, payload);
  } else if (!has_to_wait(send)) {
    post(send);
    if (event->failed_ && event->state_ == Event::State::kHeld) {
      // The caller still holds the event and may return it.
      event->sent_ = event->failed_ = false;
      return EventResult::kError;
    }
  }
  return finish_emit(event);
}

bool EventSystem::has_to_wait(const Send& send) {
  // The common case: no peer has unsent notifications.
  if (lanes_.empty()) return false;
  const auto lane = lanes_.find(peer_of(send.event->connection_));
  if (lane == lanes_.end()) return false;
  if (lane->second.waiting.empty() && lane->second.posted < most_posted_) return false;
  lane->second.waiting.push_back(send);
  return true;
}

/// Returns whether the notification has left at once.
bool EventSystem::post(const Send& send) {
  Event& event = *send.event;
  const std::uint64_t name = event.number_ << kSlotBits | event.slot_;
  if (event.connection_.carrier->send(send.header, send.payload, name)) return event.sent_ = true;
  // The carrier may have called sent() already.
  if (!event.sent_) {
    event.posted_ = true;
    ++lanes_[peer_of(event.connection_)].posted;
  }
  return false;
}

void EventSystem::post_waiting(std::size_t most) {
  for (auto next = lanes_.begin(); next != lanes_.end();) {
    const Peer peer = next->first;  // a carrier may call back, so no iterator is kept across its call
    for (auto lane = next;
         lane != lanes_.end() && !lane->second.waiting.empty() && lane->second.posted < most;
         lane = lanes_.find(peer)) {
      const Send send = lane->second.waiting.front();
      lane->second.waiting.pop_front();
      if (post(send)) on_departed(*send.event);
    }
    const auto lane = lanes_.find(peer);
    const bool idle = lane != lanes_.end() && lane->second.posted == 0 && lane->second.waiting.empty();
    if (idle) lanes_.erase(lane);
    next = lanes_.upper_bound(peer);
  }
}

void EventSystem::flush() {
  post_waiting(std::numeric_limits<std::size_t>::max());
}

std::size_t EventSystem::waiting() const {
  std::size_t all = 0;
  for (const auto& [peer, lane] : lanes_) all += lane.waiting.size();
  return all;
}

/// Moves an emitted event to its next state, or returns it to the pool if it is done.
EventResult EventSystem::finish_emit(Event*& event) {
  update_completion(*event);
  const bool done = completed(*event);
  if (event->state_ == Event::State::kSub) return done ? EventResult::kDone : EventResult::kInProgress;
  if (event->explicit_return_) {
    event->state_ = Event::State::kExplicit;
    return done ? EventResult::kDone : EventResult::kInProgress;
  }
  if (done) {
    release(*event);
    event = nullptr;
    return EventResult::kDone;
  }
  event->state_ = Event::State::kOngoing;
  event->meta_ ? metas_.push_back(event) : static_cast<void>(++ongoing_);
  return EventResult::kInProgress;
}

bool EventSystem::make_meta(Event& event) {
  if (event.state_ != Event::State::kHeld || !event.payload_.empty()) return false;
  event.meta_ = true;
  return true;
}

bool EventSystem::queue_sub(Event& meta, Event& sub) {
  if (!meta.meta_ || meta.state_ != Event::State::kHeld || sub.state_ != Event::State::kHeld ||
      &meta == &sub || sub.number_ != 0)
    return false;
  sub.state_ = Event::State::kSub;
  meta.subs_.push_back(&sub);
  return true;
}

EventResult EventSystem::emit_meta(Event*& event) {
  if (event == nullptr || !event->meta_ || event->state_ != Event::State::kHeld) return EventResult::kError;
  event->sent_ = true;  // a meta-event has no notification of its own
  return finish_emit(event);
}

/// Releases completed sub-events, and calls on_complete once if the event is complete.
void EventSystem::update_completion(Event& event) {
  std::erase_if(event.subs_, [this, &event](Event* sub) {
    update_completion(*sub);
    if (!sub->sent_ || !sub->subs_.empty()) return false;
    // A sub-event may belong to another system, which owns its memory.
    event.failed_ = event.failed_ || sub->failed_;
    sub->owner_->release(*sub);
    return true;
  });
  if (event.sent_ && event.subs_.empty() && !std::exchange(event.notified_, true) && event.on_complete)
    event.on_complete();
}

bool EventSystem::completed(Event& event) {
  update_completion(event);
  return event.sent_ && event.subs_.empty();
}

bool EventSystem::return_event(Event*& event) {
  if (event == nullptr) return false;
  const bool held = event->state_ == Event::State::kHeld && event->subs_.empty();
  if (!held && (event->state_ != Event::State::kExplicit || !completed(*event))) return false;
  release(*event);
  event = nullptr;
  return true;
}

void EventSystem::release(Event& event) {
  for (Event* sub : event.subs_) sub->owner_->release(*sub);
  if (event.pool_ != nullptr && event.pool_->give_back) event.pool_->give_back(event.payload_.data());
  // Called last, when the event may be used again.
  const std::function<void()> released = event.on_release ? std::move(event.on_release) : nullptr;
  reset(event);
  free_.push_back(&event);
  // Last, since the callback may use the event again.
  if (released) released();
}

void EventSystem::reset(Event& event) {
  event.on_complete = nullptr;
  event.on_release = nullptr;
  event.state_ = Event::State::kFree;
  event.explicit_return_ = event.meta_ = event.sent_ = event.notified_ = event.failed_ = event.posted_ =
      false;
  event.number_ = 0;
  event.pool_ = nullptr;
  event.own_ = {};
  event.payload_ = {};
  event.subs_.clear();
}

/// The event of an unsent notification. Null if there is none.
Event* EventSystem::find_posted(std::uint64_t send) {
  const std::size_t slot = send % kMostEvents;
  if (slot >= events_.size()) return nullptr;
  Event& event = events_[slot];
  const bool is_it = event.number_ == send >> kSlotBits && event.number_ != 0 && !event.sent_;
  return is_it ? &event : nullptr;
}

void EventSystem::sent(std::uint64_t event) {
  Event* const found = find_posted(event);
  if (found == nullptr) return;
  found->sent_ = true;
  on_departed(*found);
}

void EventSystem::failed(std::uint64_t event) {
  Event* const found = find_posted(event);
  if (found == nullptr) return;
  found->sent_ = found->failed_ = true;
  on_departed(*found);
}

/// Queues a sent event for progress(), which completes it.
void EventSystem::on_departed(Event& event) {
  if (std::exchange(event.posted_, false)) {
    const auto lane = lanes_.find(peer_of(event.connection_));
    if (--lane->second.posted == 0 && lane->second.waiting.empty()) lanes_.erase(lane);
  }
  if (event.state_ == Event::State::kOngoing && !event.meta_) complete_.push_back(&event);
}

void EventSystem::progress() {
  for (std::size_t i = 0; i < complete_.size(); ++i) {  // callbacks may complete more
    Event* const event = complete_[i];
    update_completion(*event);
    --ongoing_;
    release(*event);
  }
  complete_.clear();
  for (std::size_t i = 0; i < metas_.size();) {
    Event* const event = metas_[i];
    if (!completed(*event)) {
      ++i;
      continue;
    }
    metas_.erase(metas_.begin() + static_cast<std::ptrdiff_t>(i));
    release(*event);
  }
  if (!lanes_.empty()) post_waiting(most_posted_);
}

bool EventSystem::receive(std::span<const std::byte> message) {
  const auto header = decode(message);
  if (!header || message.size() - kHeaderBytes != header->payload_size) return false;
  return dispatch(*header, message.subspan(kHeaderBytes));
}

bool EventSystem::receive(const NotificationHeader& header, std::span<const std::byte> payload) {
  return header.payload_size == payload.size() && dispatch(header, payload);
}

bool EventSystem::dispatch(const NotificationHeader& header, std::span<const std::byte> payload) {
  const auto found = handlers_.find(header.type);
  // A copy, because the handler may deregister its type.
  if (found != handlers_.end()) return deliver(Registration(found->second), header, payload);
  // A peer cannot exhaust memory with types that have no handler.
  if (waiting_ == kMostWaiting) return false;
  ++waiting_;
  pending_[header.type].push_back({header, {payload.begin(), payload.end()}});
  return true;
}

bool EventSystem::deliver(const Registration& registration, const NotificationHeader& header,
                          std::span<const std::byte> payload) {
  BufferPool* const pool = registration.pool;
  if (pool == nullptr || payload.empty()) {
    registration.handler(*this, header, payload);
    return true;
  }
  if (pool->element_size != 0 && payload.size() > pool->element_size) return false;
  std::byte* const buffer = pool->get(payload.size());
  if (buffer == nullptr) return false;
  std::memcpy(buffer, payload.data(), payload.size());
  registration.handler(*this, header, {buffer, payload.size()});
  if (pool->give_back) pool->give_back(buffer);
  return true;
}

}  // namespace offramp::dpu
