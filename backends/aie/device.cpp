#include "backends/aie/device.hpp"

#include <utility>

namespace offramp::aie {

std::vector<ResourceDescription> device_resources(const Setup& setup, int ranks) {
  const HostPath& host = setup.host;
  const auto port = [&](const char* name) {
    return ResourceDescription{name, Scope::kGroup, Occupation::kForAWhile, host.port.count(),
                               (ranks + host.ports - 1) / host.ports};
  };
  const auto memory = [&](const char* name) {
    return ResourceDescription{name, Scope::kMachine, Occupation::kForAWhile, host.total.count()};
  };
  return {{"aie.send kernel", Scope::kRank, Occupation::kBySender},
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

/// What it has spent before lies before what it computes now: on a core of its own nothing is in the way.
Task<void> TeamCore::compute(Time& clock, Time duration) {
  const Time before = std::exchange(spent, {});
  DeviceWork work;
  work.own = kCore;
  work.time = before + duration;
  if (work.time == Time()) co_return;
  Team::PendingWork pending;
  team_.start(pending, work, clock - before);
  const Arbiter::Grant grant = co_await pending;
  clock = later(clock + duration, grant.end);
}

}  // namespace offramp::aie
