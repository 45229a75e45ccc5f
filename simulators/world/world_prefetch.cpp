// Prefetches what the next events will use. Worlds with many ranks exceed the caches; without prefetching, a
// world of 65,536 ranks waits for memory most of the time.
//
// An event's objects refer to further objects. Each level is prefetched a few events later than the one
// before, when the pointers to it can be read from the cache.
#include <cstddef>
#include <utility>

#include "simulators/world/world_team.hpp"

namespace offramp::world {
namespace {

// Number of events by which each level is prefetched ahead of its use.
constexpr std::size_t kObjects = 14;   // message and rank
constexpr std::size_t kReferred = 12;  // what these refer to, except coroutines
// The coroutine to resume is fetched in the second of the program's steps; its callers follow one event later
// each.
constexpr std::size_t kLines = 64;
// Cache lines of the frame of a coroutine that waits for a message, and of one that awaits another coroutine.
constexpr std::size_t kFrameLines = 5;
constexpr std::size_t kOuterFrameLines = 3;

std::size_t bytes_between(const void* begin, const void* end) {
  return static_cast<std::size_t>(static_cast<const char*>(end) - static_cast<const char*>(begin));
}

/// Returns whether the event's object is a Message.
constexpr bool is_of_message(EventKind kind) {
  return kind > EventKind::kReleaseReceiver && kind < EventKind::kWake;
}
/// Returns whether a message arrives at its receiver.
constexpr bool is_arrival(EventKind kind) {
  return kind == EventKind::kArrive || kind == EventKind::kRequested;
}

}  // namespace

void Core::prefetch() const {
  if (const auto* const entry = queue_.upcoming(kObjects); entry != nullptr) prefetch_objects(*entry);
  if (const auto* const entry = queue_.upcoming(kReferred); entry != nullptr) prefetch_referred(*entry);
  for (unsigned step = 0; step < ProgramMemory::kSteps; ++step) {
    if (const auto* const entry = queue_.upcoming(2 * (ProgramMemory::kSteps - step)); entry != nullptr)
      prefetch_resumed(*entry, step);
  }
}

/// Each step fetches what the one before refers to: a coroutine after the one that awaits it, or further
/// memory of a program that has named it and waits without others.
void Core::prefetch_resumed(const EventQueue<Event>::Entry& entry, unsigned step) const {
  const Event& event = entry.event;
  if (event.kind == EventKind::kWake) {
    const Thread& thread = *static_cast<const Thread*>(event.object);
    if (thread.further != nullptr) {
      if (step == 1) fetch_ahead(thread.sleeper.address(), kFrameLines * kLines);
      return thread.further->fetch(step);
    }
  } else if (!is_of_message(event.kind) && event.kind != EventKind::kResume) {
    return;
  }
  if (step == 0) return;
  const unsigned level = step - 1;
  Resumption resumption = resumed_by(entry);
  if (resumption.frame == nullptr) return;
  if (level == 0 && resumption.collective != nullptr) {
    const Team& team = *resumption.collective;
    fetch_ahead(&team, bytes_between(&team, resumption.collective + 1));
  }
  for (unsigned i = 0; i < level && resumption.frame != nullptr; ++i) resumption.go_out();
  if (resumption.frame != nullptr)
    fetch_ahead(resumption.frame.address(), (level == 0 ? kFrameLines : kOuterFrameLines) * kLines);
}

/// Moves to the coroutine that awaits this one.
void Core::Resumption::go_out() {
  using Frame = std::coroutine_handle<offramp::detail::PromiseBase>;
  frame = Frame::from_address(frame.address()).promise().continuation;
  if (frame == nullptr && collective != nullptr) frame = std::exchange(collective, nullptr)->awaiting();
}

void Core::prefetch_objects(const EventQueue<Event>::Entry& entry) const {
  const Event& event = entry.event;
  if (!is_of_message(event.kind) && event.kind != EventKind::kWake)
    return fetch_ahead(event.object, 2 * kLines);
  const Rank& rank = *ranks_.find(entry.rank(), 1);
  if (is_arrival(event.kind) || event.kind == EventKind::kWake)
    fetch_ahead(&rank, bytes_between(&rank, rank.end_of_first()));
  const Device* const device = is_arrival(event.kind) ? nullptr : primary_device(entry.rank());
  if (device != nullptr) fetch_ahead(device, sizeof(Device));
  if (event.kind != EventKind::kWake) fetch_ahead(event.object, sizeof(Message));
}

void Core::prefetch_referred(const EventQueue<Event>::Entry& entry) const {
  const Event& event = entry.event;
  if (event.kind == EventKind::kNetwork) return options_.network->prefetch(event.object);
  if (!is_of_message(event.kind) && event.kind != EventKind::kWake) return;
  const Rank& rank = *ranks_.find(entry.rank(), 1);
  if (const Device* const device = primary_device(entry.rank());
      device != nullptr && device->resources.front() != nullptr)
    fetch_ahead(device->resources.front(), 4 * kLines);
  if (event.kind == EventKind::kWake) {
    const std::span<const std::byte> used = static_cast<const Thread*>(event.object)->used;
    fetch_ahead(used.data(), used.size());
    return fetch_ahead(rank.flows(), kLines);  // it will probably send
  }
  if (!is_arrival(event.kind)) return;
  const Message& message = *static_cast<const Message*>(event.object);
  fetch_ahead(message.flow, sizeof(Flow));
  fetch_ahead(message.source, kLines);
  if (rank.posted.first() != nullptr) fetch_ahead(rank.posted.first(), sizeof(Operation));
}

/// The coroutine that an event will probably resume.
Core::Resumption Core::resumed_by(const EventQueue<Event>::Entry& entry) const {
  const Event& event = entry.event;
  const auto waiter_of = [](const Matchable* awaited) -> Resumption {
    if (awaited == nullptr) return {};
    const auto& operation = *static_cast<const Operation*>(awaited);
    return {operation.awaiting(), operation.in_set ? nullptr : operation.collective};
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
