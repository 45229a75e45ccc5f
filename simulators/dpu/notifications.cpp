#include "simulators/dpu/notifications.hpp"

#include <cassert>
#include <span>

#include "simulators/model/no_memory.hpp"

namespace offramp::dpu {
namespace {

constexpr std::uint64_t kType = 601;  // read in code: those of collectives begin here

}  // namespace

EventSystem& Notifications::system_of(int global_id) {
  const auto place = static_cast<std::size_t>(global_id);
  if (place >= systems_.size()) systems_.resize(place + 1);
  if (systems_[place] == nullptr) {
    NotificationHeader identity;
    identity.id = static_cast<std::uint64_t>(global_id);
    identity.scope = Scope::kInterProcess;
    identity.sender = Role::kServer;
    systems_[place] = std::make_unique<EventSystem>(identity, nullptr, posted_sends_);
  }
  return *systems_[place];
}

Event* Notifications::begin_meta(int global_id) {
  EventSystem& system = system_of(global_id);
  Event* const meta = system.get();
  system.make_meta(*meta);
  return meta;
}

void Notifications::end_meta(int global_id, Event* meta) {
  system_of(global_id).emit_meta(meta);
}

void Notifications::emit(const Note& note, int global_id, std::uint64_t receiver, Way& way, Time at,
                         Event* meta) {
  EventSystem& system = system_of(global_id);
  Event* event = system.get();
  if (meta != nullptr) system.queue_sub(*meta, *event);
  current_ = {note, &way, at};
  now_ = at;
  // Sizes only: the carrier looks at no bytes.
  static std::byte nothing;
  const std::span<const std::byte> payload(no_memory(&nothing), static_cast<std::size_t>(note.payload));
  const EventResult result =
      system.emit(event, kType, payload, {this, receiver, static_cast<std::uint64_t>(global_id)});
  assert(result != EventResult::kError);
  static_cast<void>(result);
  if (current_.way != nullptr)
    waiting_[{static_cast<std::uint64_t>(global_id), event->number()}] = std::exchange(current_, {});
}

bool Notifications::send(const NotificationHeader& header, std::span<const std::byte> /*payload*/,
                         std::uint64_t event) {
  Departing departing = std::exchange(current_, {});
  if (departing.way == nullptr) departing = waiting_.extract({header.server_id, header.event_id}).mapped();
  return departing.way->depart(departing.note, event, later(now_, departing.at));
}

void Notifications::sent(int global_id, std::uint64_t send, Time at) {
  EventSystem& system = system_of(global_id);
  system.sent(send);
  now_ = at;
  system.progress();
}

}  // namespace offramp::dpu
