// Progress: work that needs a rank's processor waits until the rank is in an MPI call.
#include <cmath>

#include "simulators/world/world_team.hpp"

namespace offramp::world {

/// Returns false if the event is deferred until the processor serves it.
bool Core::is_served(Rank& rank, Progress progress, const Event& event, std::uint64_t order) {
  if (progress != Progress::kCalls) return true;
  const Time at = rank.served(now_);
  if (at == now_) return true;
  if (at == Time::never()) {
    rank.unserved.push_back({event, order});
  } else {
    push(at, rank, event.kind, event.object, order, event.number);
  }
  return false;
}

void Core::enter_call(Thread& thread, Time at) {
  if (thread.gate.is_open()) return;
  thread.gate.open(at);
  Rank& rank = thread.rank();
  for (const WaitingEvent& waiting : rank.unserved)
    push(later(at, now_), rank, waiting.event.kind, waiting.event.object, waiting.order,
         waiting.event.number);
  rank.unserved.clear();
}

std::uint8_t Core::carrier_of(const offramp::Operation& operation) const {
  const std::uint8_t chosen = std::min(route_of(rules_, operation, primary_), last_);
  const bool is_carried = (last_ > 0 && chosen == 0) || members_[chosen].backend->supports(operation).yes();
  return is_carried ? chosen : 0;
}

Time Core::beside_thread(const Rank& rank, Time computing) const {
  if (rank.by_thread == 0) [[likely]]
    return computing;
  return Time::ps(std::llround(static_cast<double>(computing.count()) / (1 - thread_share_)));
}

void Core::resume(Operation& part, Time at) {
  Rank& rank = *part.rank;
  push(later(at, now_), rank, EventKind::kResume, &part, rank.next_departure());
}

void Core::resume_algorithm(Operation& part) {
  Rank& rank = *part.rank;
  Collective& collective = *part.collective;
  if (is_served(rank, collective.progress(), {&part, EventKind::kResume}, rank.next_departure()))
    collective.resume(part);
}

void Core::interrupt(Rank& rank, Time work) {
  if (!needs_calls_) return;
  if (Thread* const thread = rank.interrupted_at(now_); thread != nullptr) thread->interrupted += work;
}

}  // namespace offramp::world
