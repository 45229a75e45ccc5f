// A service process keeps its event system. A rank has one only while it has open sends, and the object is
// then reused, because a world may have many more ranks than senders at a time. A note that cannot leave yet
// waits under the number that the event system gave it. Payloads have a size but no memory (no_memory.hpp).
#include "simulators/dpu/notifications.hpp"

#include <cassert>
#include <span>

#include "simulators/world/no_memory.hpp"

namespace offramp::dpu {
namespace {

constexpr std::uint64_t kType = 601;                      // read in [ucc-offload]: first type of collectives
constexpr std::uint64_t kRanks = std::uint64_t{1} << 32;  // after all service processes

/// The sender's id in the headers of its notifications.
std::uint64_t id_of(const Sender& sender) {
  return sender.world_rank >= 0 ? kRanks + static_cast<std::uint64_t>(sender.world_rank)
                                : static_cast<std::uint64_t>(sender.global_id);
}

}  // namespace

EventSystem& Notifications::system_of(const Sender& sender) {
  const bool is_rank = sender.world_rank >= 0;
  const auto place = static_cast<std::size_t>(sender.global_id);
  if (!is_rank && place >= processes_.size()) processes_.resize(place + 1);
  System& system = is_rank ? ranks_[sender.world_rank] : processes_[place];
  if (system == nullptr && is_rank && !idle_.empty()) {
    system = std::move(idle_.back());
    idle_.pop_back();
  } else if (system == nullptr) {
    system = std::make_unique<EventSystem>(NotificationHeader(), nullptr, posted_sends_);
  }
  return *system;
}

void Notifications::recycle_if_idle(const Sender& sender) {
  const auto found = sender.world_rank >= 0 ? ranks_.find(sender.world_rank) : ranks_.end();
  if (found == ranks_.end() || found->second->ongoing() > 0) return;
  idle_.push_back(std::move(found->second));
  ranks_.erase(found);
}

Event* Notifications::begin_meta(const Sender& sender) {
  EventSystem& system = system_of(sender);
  Event* const meta = system.get();
  system.make_meta(*meta);
  return meta;
}

void Notifications::end_meta(const Sender& sender, Event* meta) {
  system_of(sender).emit_meta(meta);
}

void Notifications::emit(const Note& note, const Sender& sender, std::uint64_t receiver, NoteCarrier& carrier,
                         Time at, Event* meta) {
  EventSystem& system = system_of(sender);
  Event* event = system.get();
  if (meta != nullptr) system.queue_sub(*meta, *event);
  current_ = {note, &carrier, at};
  now_ = at;
  // Sizes only; the carrier reads no bytes.
  static std::byte nothing;
  const std::span<const std::byte> payload(no_memory(&nothing), static_cast<std::size_t>(note.payload));
  const EventResult result = system.emit(event, kType, payload, {this, receiver, id_of(sender)});
  assert(result != EventResult::kError);
  static_cast<void>(result);
  // The event system has not called send(): its limit of posted sends holds the note back.
  if (current_.carrier != nullptr) waiting_[{id_of(sender), event->number()}] = std::exchange(current_, {});
  recycle_if_idle(sender);
}

bool Notifications::send(const NotificationHeader& header, std::span<const std::byte> /*payload*/,
                         std::uint64_t event) {
  Departing departing = std::exchange(current_, {});
  // A note that was held back. Its header identifies it.
  if (departing.carrier == nullptr)
    departing = waiting_.extract({header.server_id, header.event_id}).mapped();
  return departing.carrier->depart(departing.note, event, later(now_, departing.at));
}

void Notifications::sent(const Sender& sender, std::uint64_t send, Time at) {
  EventSystem& system = system_of(sender);
  system.sent(send);
  now_ = at;
  system.progress();
  recycle_if_idle(sender);
}

}  // namespace offramp::dpu
