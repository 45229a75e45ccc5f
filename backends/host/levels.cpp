// A SubTeam forwards sends and receives to the parent with translated ranks; Part stores the parent's handle.
// The teams share one clock, which synchronize() transfers before and after calls into the parent. An
// operation of a held team (InFlight::begin()) stops at its first wait even if the message is there, because
// its progress must not depend on arrival times.
#include "backends/host/levels.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

namespace offramp::host {

// --- nodes ---

NodeMap::NodeMap(const Team& team, const MachineLayout& machine) {
  std::map<int, int> found;  // node in the world -> node here
  for (int rank = 0; rank < team.size(); ++rank) {
    const auto [entry, is_new] = found.try_emplace(machine.node(team.world_rank(rank)), nodes());
    if (is_new) ranks_.emplace_back();
    std::vector<int>& there = ranks_[static_cast<std::size_t>(entry->second)];
    places_.push_back({entry->second, static_cast<int>(there.size())});
    there.push_back(rank);
  }
}

Nodes NodeMap::kind() const {
  const auto [least, most] = std::minmax_element(
      ranks_.begin(), ranks_.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  if (nodes() < 2 || most->size() < 2) return Nodes::kAny;
  return least->size() == most->size() ? Nodes::kEqual : Nodes::kSeveral;
}

bool NodeMap::in_order() const {
  int next = 0;
  for (const std::vector<int>& node : ranks_) {
    for (const int rank : node) {
      if (rank != next++) return false;
    }
  }
  return true;
}

// --- a part of a team ---

SubTeam::SubTeam(Team& parent, std::vector<int> ranks, int own)
    : Team(own, static_cast<int>(ranks.size()), parent.carries_data()),
      parent_(parent),
      ranks_(std::move(ranks)) {
  operation = parent.operation;
  footprint = parent.footprint;
}

void SubTeam::enter() {
  synchronize();
  scratch_used_ = 0;
}

MutableBytes SubTeam::scratch(std::size_t bytes) {
  if (scratch_used_ == scratch_.size()) scratch_.emplace_back();
  MutableBytes& room = scratch_[scratch_used_++];
  if (room.size() < bytes) room = parent_.scratch(bytes);
  return room.first(bytes);
}

Team::Handle SubTeam::track(Pending message) {
  clock = parent_.clock;
  parts_.emplace_front(message);
  parts_.front().self = parts_.begin();
  return &parts_.front();
}

Team::Handle SubTeam::start_send(int peer, Bytes data, [[maybe_unused]] const Stamp* stamp) {
  assert(stamp == nullptr && "the host's algorithms send no tokens");
  synchronize();
  return track(parent_.send(parent_rank(peer), data));
}

Team::Handle SubTeam::start_receive(int peer, MutableBytes data, [[maybe_unused]] bool token) {
  assert(!token);
  synchronize();
  return track(parent_.receive(parent_rank(peer), data));
}

bool SubTeam::ready(Handle handle) {
  return !suspended_ && static_cast<PendingMessage*>(handle)->pending.await_ready();
}

void SubTeam::wait(Handle handle, std::coroutine_handle<> waiter) {
  auto* const part = static_cast<PendingMessage*>(handle);
  if (suspended_) {
    waiting_.emplace(Waiting{part, waiter});
  } else {
    part->pending.await_suspend(waiter);
  }
}

void SubTeam::resume() {
  suspended_ = false;
  if (!waiting_) return;  // it did not wait at all
  const Waiting waiting = *waiting_;
  waiting_.reset();
  if (waiting.part->pending.await_ready()) {
    waiting.waiter.resume();
  } else {
    waiting.part->pending.await_suspend(waiting.waiter);
  }
}

Outcome SubTeam::finish(Handle handle) {
  synchronize();
  auto* const part = static_cast<PendingMessage*>(handle);
  const Outcome outcome = part->pending.await_resume();
  clock = parent_.clock;
  parts_.erase(part->self);
  return outcome;
}

Team::Arrival SubTeam::finish_token(Handle) {
  assert(false && "the host's algorithms receive no tokens");
  return {};
}

// --- an operation in flight ---

void InFlight::begin(SubTeam& team, Task<Outcome> operation) {
  team_ = &team;
  operation_ = std::move(operation);
  team.enter();
  team.suspend();
  operation_.start(
      [](void* self) {
        if (const auto waiter = std::exchange(static_cast<InFlight*>(self)->waiter_, nullptr))
          waiter.resume();
      },
      this);
  team.leave();
}

bool InFlight::await_ready() {
  team_->resume();
  return operation_.done();
}

Outcome InFlight::await_resume() {
  team_->leave();
  return operation_.result();
}

}  // namespace offramp::host
