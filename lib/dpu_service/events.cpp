#include "lib/dpu_service/events.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace offramp::dpu {

EventSystem::EventSystem(const NotificationHeader& identity, Carrier* carrier)
    : identity_(identity), way_{carrier, identity.client_id, identity.server_id} {}

EventSystem::~EventSystem() {
  clear();
}

void EventSystem::clear() {
  ongoing_.clear();
  for (Event& event : events_) {
    if (event.state_ != Event::State::kFree) release(event);
  }
}

bool EventSystem::register_handler(std::uint64_t type, Handler handler, BufferPool* pool) {
  if (type >= kTypes || !handler || (pool != nullptr && !pool->get)) return false;
  if (!handlers_.try_emplace(type, Registration{std::move(handler), pool}).second) return true;
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
    for (std::size_t i = 0; i < kGrowth; ++i) free_.push_back(&events_.emplace_back());
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
  free_.pop_back();
  event.state_ = Event::State::kHeld;
  event.explicit_return_ = info.explicit_return;
  event.owner_ = this;
  return &event;
}

EventResult EventSystem::emit(Event*& event, std::uint64_t type) {
  return emit(event, type, way_);
}

EventResult EventSystem::emit(Event*& event, std::uint64_t type, std::span<const std::byte> payload) {
  return emit(event, type, payload, way_);
}

EventResult EventSystem::emit(Event*& event, std::uint64_t type, const Way& way) {
  if (event == nullptr) return EventResult::kError;
  return launch(event, type, event->payload_, way);
}

EventResult EventSystem::emit(Event*& event, std::uint64_t type, std::span<const std::byte> payload,
                              const Way& way) {
  if (event == nullptr || !event->payload_.empty()) return EventResult::kError;
  if (!payload.empty() && payload.data() == nullptr) return EventResult::kError;
  return launch(event, type, payload, way);
}

EventResult EventSystem::launch(Event*& event, std::uint64_t type, std::span<const std::byte> payload,
                                const Way& way) {
  const bool ready = (event->state_ == Event::State::kHeld || event->state_ == Event::State::kSub) &&
                     !event->sent_ && event->number_ == 0 && !event->meta_;
  if (!ready || type >= kTypes || payload.size() > kMostPayload) return EventResult::kError;
  NotificationHeader header = identity_;
  header.type = type;
  header.payload_size = payload.size();
  header.event_id = event->number_ = ++numbers_;
  header.client_id = way.client_id;
  header.server_id = way.server_id;
  if (way.carrier == nullptr) {
    event->sent_ = true;
    dispatch(header, payload);
  } else {
    unsent_.emplace(event->number_, event);
    if (way.carrier->send(header, payload, event->number_)) sent(event->number_);
    if (event->failed_ && event->state_ == Event::State::kHeld) {
      event->sent_ = event->failed_ = false;
      return EventResult::kError;
    }
  }
  return hold(event);
}

/// What emit() leaves behind.
EventResult EventSystem::hold(Event*& event) {
  settle(*event);
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
  ongoing_.push_back(event);
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
  event->sent_ = true;  // nothing leaves for a meta-event itself
  return hold(event);
}

/// Drops finished sub-events and tells the owner once.
void EventSystem::settle(Event& event) {
  std::erase_if(event.subs_, [this, &event](Event* sub) {
    settle(*sub);
    if (!sub->sent_ || !sub->subs_.empty()) return false;
    event.failed_ = event.failed_ || sub->failed_;
    sub->owner_->release(*sub);
    return true;
  });
  if (event.sent_ && event.subs_.empty() && !std::exchange(event.told_, true) && event.on_complete)
    event.on_complete();
}

bool EventSystem::completed(Event& event) {
  settle(event);
  return event.sent_ && event.subs_.empty();
}

bool EventSystem::give_back(Event*& event) {
  if (event == nullptr) return false;
  const bool held = event->state_ == Event::State::kHeld && event->subs_.empty();
  if (!held && (event->state_ != Event::State::kExplicit || !completed(*event))) return false;
  release(*event);
  event = nullptr;
  return true;
}

void EventSystem::release(Event& event) {
  for (Event* sub : event.subs_) sub->owner_->release(*sub);
  unsent_.erase(event.number_);
  if (event.pool_ != nullptr && event.pool_->give_back) event.pool_->give_back(event.payload_.data());
  const std::function<void()> released = std::move(event.on_release);
  event = Event();
  free_.push_back(&event);
  if (released) released();
}

void EventSystem::sent(std::uint64_t event) {
  const auto found = unsent_.find(event);
  if (found == unsent_.end()) return;
  found->second->sent_ = true;
  unsent_.erase(found);
}

void EventSystem::failed(std::uint64_t event) {
  const auto found = unsent_.find(event);
  if (found == unsent_.end()) return;
  found->second->sent_ = found->second->failed_ = true;
  unsent_.erase(found);
}

void EventSystem::progress() {
  for (std::size_t i = 0; i < ongoing_.size();) {
    Event* const event = ongoing_[i];
    if (!completed(*event)) {
      ++i;
      continue;
    }
    ongoing_.erase(ongoing_.begin() + static_cast<std::ptrdiff_t>(i));
    release(*event);
  }
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
  if (found != handlers_.end()) return deliver(Registration(found->second), header, payload);
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
