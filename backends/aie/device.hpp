// The array as its ranks share it: what serves one thing at a time, and the windows and kernels of
// collectives on it. Messages use the same resources (backends/aie/aie.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "backends/aie/setup.hpp"
#include "offramp/model/resource.hpp"
#include "offramp/model/team.hpp"

namespace offramp::aie {

enum DeviceResource : std::size_t {
  kSendKernel,     // of a rank's messages
  kReceiveKernel,  // the same
  kCore,           // of a rank's tile
  kPortIn,         // GMIO, of one rank or more
  kPortOut,
  kMemoryIn,  // the NoC and the memory behind all ports
  kMemoryOut,
  kDeviceResources
};
/// In the order of the names.
std::vector<ResourceDescription> device_resources(const Setup& setup, int ranks);

/// So many windows through a rank's port and the memory.
DeviceWork host_work(const HostPath& path, bool in, std::size_t window, std::size_t windows);

/// A rank's port, for windows of a collective. alike: ranks that do the same at once.
class TeamHostPort final : public HostPort {
 public:
  TeamHostPort(Team& team, const DeviceWork& work, int alike) : team_(team), work_(work), alike_(alike) {}
  void start(std::size_t buffer, Time at) override { team_.start(pending_[buffer], work_, at, alike_); }
  Task<Time> end(std::size_t buffer) override {
    Team::PendingWork& pending = pending_[buffer];
    const Arbiter::Grant grant = co_await pending;
    co_return grant.end;
  }

 private:
  Team& team_;
  DeviceWork work_;
  int alike_;
  std::array<Team::PendingWork, 2> pending_;
};

/// A rank's core, for a kernel of a collective.
class TeamCore final : public CoreUnit {
 public:
  explicit TeamCore(Team& team) : team_(team) {}
  Task<void> compute(Time& clock, Time duration) override;

 private:
  Team& team_;
};

}  // namespace offramp::aie
