// Work for a busy resource waits in a queue (waiting_) instead of reserving time ahead. It is served when the
// resource becomes free, so that collectives (DeviceJob) and messages (Passage) share the host's path in the
// order of modelled time.
#include "backends/aie/device.hpp"

#include <algorithm>
#include <utility>

namespace offramp::aie {

Device::Device(const Setup& setup, int ranks) {
  const HostPath& host = setup.host;
  const auto port = [&](const char* name) {
    return ResourceDescription{name, Scope::kGroup, Occupation::kForAWhile, host.port.count(),
                               // Neighbouring ranks share a port if there are more ranks than ports.
                               (ranks + host.ports - 1) / host.ports};
  };
  const auto memory = [&](const char* name) {
    return ResourceDescription{name, Scope::kMachine, Occupation::kForAWhile, host.total.count()};
  };
  resources_ = {{"aie.send kernel", Scope::kRank, Occupation::kBySender},
                {"aie.receive kernel", Scope::kRank, Occupation::kByReceiver},
                {"aie.core", Scope::kRank},
                port("aie.gmio port in"),
                port("aie.gmio port out"),
                memory("aie.gmio in"),
                memory("aie.gmio out")};
}

DeviceWork host_work(const HostPath& path, bool in, std::size_t window, std::size_t windows) {
  const auto count = static_cast<std::int64_t>(windows);
  return {.own = in ? kPortIn : kPortOut,
          .time = path.port_time(window) * count,
          .shared = in ? kMemoryIn : kMemoryOut,
          .shared_time = path.total_time(window) * count,
          .bytes = window * windows};
}

Arbiter::Grant serve(const Resources& resources, const DeviceWork& work, Time at) {
  const Time begin = later(at, resources[work.own].timeline.free_at());
  Time end = begin + work.time;
  if (work.shared != kNoResource)
    // The shared unit may end later than the own one.
    end = later(end, resources.occupy(work.shared, begin, work.shared_time, work.bytes).end);
  return resources.occupy(work.own, at, end - begin, work.bytes);
}

void DeviceJob::start(const DeviceWork& work, Time at) {
  work_ = work;
  asked_ = at;
  ended_ = false;
  // Other ranks with earlier clocks may still come first.
  team_.devices()->schedule(at, *this, 0);
}

std::optional<Arbiter::Grant> Device::serve_in_turn(const Resources& resources, const DeviceWork& work,
                                                    const Waiting& waiting, Time asked, Time now) {
  const Arbiter& own = resources[work.own].timeline;
  const auto found = waiting_.find(&resources[work.own]);
  std::deque<Waiting>* queue = found == waiting_.end() || found->second.empty() ? nullptr : &found->second;
  const bool is_first = queue != nullptr && queue->front() == waiting;
  if (own.free_at() > now || (queue != nullptr && !is_first)) {
    if (queue == nullptr) queue = &waiting_[&resources[work.own]];
    // A message asks again whenever the resource becomes free.
    if (std::find(queue->begin(), queue->end(), waiting) == queue->end()) queue->push_back(waiting);
    // Only the front is scheduled; the others follow it.
    if (queue->front().job != nullptr && queue->front() == waiting)
      waiting.job->team_.devices()->schedule(own.free_at(), *waiting.job, 0);
    return {};
  }
  const Arbiter::Grant grant = aie::serve(resources, work, asked);
  if (is_first) {
    queue->pop_front();
    if (!queue->empty() && queue->front().job != nullptr)
      queue->front().job->team_.devices()->schedule(own.free_at(), *queue->front().job, 0);
  }
  return grant;
}

/// A message that is not first retries just after the resource becomes free, when the first user has it.
std::optional<Arbiter::Grant> Device::serve(const Resources& resources, const DeviceWork& work,
                                            Passage& passage, Time now) {
  const auto grant = serve_in_turn(resources, work, {nullptr, &passage}, now, now);
  if (!grant) passage.again = later(resources[work.own].timeline.free_at(), now + Time::ps(1));
  return grant;
}

/// May resume the kernel, which may end.
void DeviceJob::step(Time now, std::uint32_t /*number*/) {
  const Resources resources = team_.devices()->resources(team_.world_rank(team_.rank()));
  const auto grant = device_.serve_in_turn(resources, work_, {this, nullptr}, asked_, now);
  if (!grant) return;
  end_ = grant->end;
  ended_ = true;
  // Last, since the kernel may destroy this job.
  if (waiter_ != nullptr) std::exchange(waiter_, nullptr).resume();
}

/// Charges deferred time first: a core of its own is never delayed.
bool TeamCore::begin(Time clock, Time duration) {
  const Time before = std::exchange(spent, {});
  least_ = clock + duration;
  // Nothing to schedule.
  if (before + duration == Time()) return true;
  DeviceWork work;
  work.time = before + duration;
  job_.start(work, clock - before);
  return job_.ended();
}

}  // namespace offramp::aie
