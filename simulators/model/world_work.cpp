// Work of collectives on the resources of their ranks' devices: at its time, and in turn.
#include "simulators/model/world_team.hpp"

namespace offramp::world {

void Core::push_departure(Time at, Rank& rank, void* object, std::uint32_t number) {
  push(later(at, now_), rank, EventKind::kDepart, object,
       static_cast<std::uint64_t>(EventKind::kDepart) << kKindShift |
           (rank.departures++ & ((std::uint64_t{1} << kKindShift) - 1)),
       number);
}

void Core::start_work(Rank& rank, Team::PendingWork& work) {
  push_departure(work.at, rank, &work, kWork);
}

void Core::begin_work(Team::PendingWork& work) {
  auto& team = static_cast<Collective&>(*work.team);
  const Device& own = device(team.device_rank(), team.backend());
  Resource& resource = view(own, members_[team.backend()])[work.work.own];
  if (resource.timeline.free_at() <= now_) {
    const auto found = work_queues_.find(&resource);
    if (found == work_queues_.end() || found->second.waiting.empty()) return serve(work);
  }
  WorkQueue& queue = work_queues_[&resource];
  queue.resource = &resource;
  queue.waiting.push_back(&work);
  if (queue.waiting.size() == 1) wait_for(queue);
}

void Core::wait_for(WorkQueue& queue) {
  auto& team = static_cast<Collective&>(*queue.waiting.front()->team);
  push_departure(queue.resource->timeline.free_at(), team.device_rank(), &queue, kWaitingWork);
}

/// Messages may have taken the resource meanwhile.
void Core::go_on(WorkQueue& queue) {
  while (queue.resource->timeline.free_at() <= now_) {
    Team::PendingWork& next = *queue.waiting.front();
    queue.waiting.pop_front();
    serve(next);
    if (queue.waiting.empty()) return;
  }
  wait_for(queue);
}

/// Its algorithm may go on, and end.
void Core::serve(Team::PendingWork& work) {
  auto& team = static_cast<Collective&>(*work.team);
  const Device& own = device(team.device_rank(), team.backend());
  work.finish(view(own, members_[team.backend()]).serve(work.work, work.at));
}

}  // namespace offramp::world
