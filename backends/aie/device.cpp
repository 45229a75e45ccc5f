#include "backends/aie/device.hpp"

#include <utility>

namespace offramp::aie {

Device::Device(const Setup& setup, int ranks) {
  const HostPath& host = setup.host;
  const auto port = [&](const char* name) {
    return ResourceDescription{name, Scope::kGroup, Occupation::kForAWhile, host.port.count(),
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
  DeviceWork work;
  work.own = in ? kPortIn : kPortOut;
  work.time = path.port_time(window) * count;
  work.shared = in ? kMemoryIn : kMemoryOut;
  work.shared_time = path.total_time(window) * count;
  work.bytes = window * windows;
  return work;
}

Arbiter::Grant serve(const Resources& resources, const DeviceWork& work, Time at) {
  const Time begin = later(at, resources[work.own].timeline.free_at());
  Time end = begin + work.time;
  if (work.shared != kNoResource)
    end = later(end, resources.occupy(work.shared, begin, work.shared_time, work.bytes).end);
  return resources.occupy(work.own, at, end - begin, work.bytes);
}

void DeviceJob::start(const DeviceWork& work, Time at, int alike) {
  work_ = work;
  asked_ = at;
  ended_ = false;
  if (WorldDevices* const world = team_.world()) return world->schedule(at, *this, 0);
  work_.shared_time = work_.shared_time * alike;
  work_.bytes *= static_cast<std::uint64_t>(alike);
  end_ = serve(team_.hardware()->resources(team_.world_rank(team_.rank())), work_, at).end;
  ended_ = true;
}

/// Messages may take a resource while others wait for it. The kernel may go on, and end, in here.
void DeviceJob::step(Time now, std::uint32_t /*number*/) {
  WorldDevices& world = *team_.world();
  const Resources resources = world.resources(team_.world_rank(team_.rank()));
  const Arbiter& own = resources[work_.own].timeline;
  const auto found = device_.waiting_.find(&resources[work_.own]);
  std::deque<DeviceJob*>* const queue = found == device_.waiting_.end() ? nullptr : &found->second;
  const bool is_first = queue != nullptr && !queue->empty() && queue->front() == this;
  if (own.free_at() > now || (queue != nullptr && !queue->empty() && !is_first)) {
    if (is_first) return world.schedule(own.free_at(), *this, 0);
    std::deque<DeviceJob*>& waiting = device_.waiting_[&resources[work_.own]];
    waiting.push_back(this);
    if (waiting.size() == 1) world.schedule(own.free_at(), *this, 0);
    return;
  }
  end_ = serve(resources, work_, asked_).end;
  if (is_first) {
    queue->pop_front();
    if (!queue->empty()) world.schedule(own.free_at(), *queue->front(), 0);
  }
  ended_ = true;
  if (waiter_ != nullptr) std::exchange(waiter_, nullptr).resume();
}

/// What it has spent before lies before what it computes now: on a core of its own nothing is in the way.
bool TeamCore::begin(Time clock, Time duration) {
  const Time before = std::exchange(spent, {});
  least_ = clock + duration;
  if (before + duration == Time()) return true;
  DeviceWork work;
  work.time = before + duration;
  job_.start(work, clock - before);
  return job_.ended();
}

}  // namespace offramp::aie
