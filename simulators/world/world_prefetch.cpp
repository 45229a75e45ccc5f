// What events that come soon will touch is fetched into the caches, which do not hold many ranks: without
// that, a world of 65,536 ranks waits for memory most of the time.
//
// The objects of an event refer to others, and those again. Each kind is fetched some events before it is
// needed, and the one behind it some events later, when the first is there to be read.
#include <cstddef>
#include <utility>

#include "simulators/world/world_team.hpp"

namespace offramp::world {
namespace {

// So many events before.
constexpr std::size_t kObjects = 8;   // the message and the rank
constexpr std::size_t kReferred = 6;  // what these refer to, but for
constexpr std::size_t kFrames = 4;    // the coroutine that goes on; then what awaits it, one event later each
constexpr std::size_t kLines = 64;
// Lines of the frame of a coroutine that waits for a message, and of one that awaits another coroutine.
constexpr std::size_t kFrameLines = 5;
constexpr std::size_t kOuterFrameLines = 3;

std::size_t bytes_between(const void* begin, const void* end) {
  return static_cast<std::size_t>(static_cast<const char*>(end) - static_cast<const char*>(begin));
}

/// Others have no message.
constexpr bool is_of_message(EventKind kind) {
  return kind > EventKind::kReleaseReceiver && kind < EventKind::kWake;
}
/// A message comes to its receiver.
constexpr bool is_arrival(EventKind kind) {
  return kind == EventKind::kArrive || kind == EventKind::kRequested;
}

}  // namespace

void Core::prefetch() const {
  if (const auto* const entry = queue_.soon(kObjects); entry != nullptr) prefetch_objects(*entry);
  if (const auto* const entry = queue_.soon(kReferred); entry != nullptr) prefetch_referred(*entry);
  for (std::size_t level = 0; level < kFrames; ++level) {
    const auto* const entry = queue_.soon(kFrames - level);
    if (entry == nullptr) continue;
    Resumption resumption = resumed_by(*entry);
    if (resumption.frame != nullptr && level == 0 && resumption.collective != nullptr) {
      const Team& team = *resumption.collective;
      fetch_ahead(&team, bytes_between(&team, resumption.collective + 1));
    }
    for (std::size_t i = 0; i < level && resumption.frame != nullptr; ++i) resumption.go_out();
    if (resumption.frame != nullptr)
      fetch_ahead(resumption.frame.address(), (level == 0 ? kFrameLines : kOuterFrameLines) * kLines);
  }
}

/// The coroutine that awaits this one.
void Core::Resumption::go_out() {
  using Frame = std::coroutine_handle<offramp::detail::PromiseBase>;
  frame = Frame::from_address(frame.address()).promise().continuation;
  if (frame == nullptr && collective != nullptr) frame = std::exchange(collective, nullptr)->waiter;
}

void Core::prefetch_objects(const EventQueue<Event>::Entry& entry) const {
  const Event& event = entry.event;
  if (!is_of_message(event.kind) && event.kind != EventKind::kWake)
    return fetch_ahead(event.object, 2 * kLines);
  const Rank& rank = *ranks_.find(entry.rank(), 1);
  if (is_arrival(event.kind) || event.kind == EventKind::kWake) {
    fetch_ahead(&rank, bytes_between(&rank, rank.end_of_first()));
  } else if (const Device* const device = rank.device_if_inline(primary_); device != nullptr) {
    fetch_ahead(device, sizeof(Device));
  }
  if (event.kind != EventKind::kWake) fetch_ahead(event.object, sizeof(Message));
}

void Core::prefetch_referred(const EventQueue<Event>::Entry& entry) const {
  const Event& event = entry.event;
  if (event.kind == EventKind::kNetwork) return options_.network->prefetch(event.object);
  if (!is_of_message(event.kind)) return;
  const Rank& rank = *ranks_.find(entry.rank(), 1);
  if (const Device* const device = rank.device_if_inline(primary_);
      device != nullptr && device->resources.front() != nullptr)
    fetch_ahead(device->resources.front(), 4 * kLines);
  if (!is_arrival(event.kind)) return;
  const Message& message = *static_cast<const Message*>(event.object);
  fetch_ahead(message.flow, sizeof(Flow));
  fetch_ahead(message.source, kLines);
  if (rank.posted.first() != nullptr) fetch_ahead(rank.posted.first(), sizeof(Operation));
}

/// What an event probably resumes.
Core::Resumption Core::resumed_by(const EventQueue<Event>::Entry& entry) const {
  const Event& event = entry.event;
  const auto waiter_of = [](const Matchable* awaited) -> Resumption {
    if (awaited == nullptr) return {};
    const auto& operation = *static_cast<const Operation*>(awaited);
    return {operation.waiter, operation.collective};
  };
  if (event.kind == EventKind::kResume) return waiter_of(static_cast<const Operation*>(event.object));
  if (event.kind == EventKind::kWake) {
    const Thread& thread = *static_cast<const Thread*>(event.object);
    return {event.number == 0 ? thread.program.handle() : thread.sleeper, nullptr};
  }
  if (!is_of_message(event.kind)) return {};
  const Message& message = *static_cast<const Message*>(event.object);
  if (!is_arrival(event.kind)) return waiter_of(message.send);
  return waiter_of(message.receive != nullptr ? message.receive
                                              : ranks_.find(entry.rank(), 1)->posted.first());
}

}  // namespace offramp::world
