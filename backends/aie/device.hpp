// The array as its ranks share it: what serves one thing at a time, and the work of collectives on it, which
// a world does in the order of modelled time. Messages use the same resources (backends/aie/aie.cpp).
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "backends/aie/setup.hpp"
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

/// Work on `own`, which serves one thing after the other, through a resource that several such share: a port
/// and the memory behind all ports. It takes its own time at the least, and the shared resource serves such
/// work in the order in which it begins: of n users that keep it busy with pieces of one size each gets its
/// n-th part, and none gets more than its own resource carries.
struct DeviceWork {
  std::size_t own = kCore;
  Time time;
  std::size_t shared = kNoResource;  // none: the work is on `own` alone
  Time shared_time;
  std::uint64_t bytes = 0;
  /// What it takes where nothing else is.
  [[nodiscard]] Time alone() const { return later(time, shared_time); }
};
/// So many windows through a rank's port and the memory.
DeviceWork host_work(const HostPath& path, bool in, std::size_t window, std::size_t windows);
/// From `at` on, or from when its own resource is free. In order of modelled time only if it is free then.
Arbiter::Grant serve(const Resources& resources, const DeviceWork& work, Time at);

class DeviceJob;

class Device {
 public:
  Device(const Setup& setup, int ranks);
  /// In the order of the names.
  [[nodiscard]] std::span<const ResourceDescription> resources() const { return resources_; }

  /// The same for a stage of a message that has come to `now`. Where its turn has not come it waits among all
  /// that use the same resource: there is no grant, and passage.again is set.
  std::optional<Arbiter::Grant> serve(const Resources& resources, const DeviceWork& work, Passage& passage,
                                      Time now);

 private:
  friend class DeviceJob;
  /// One of the two.
  struct Waiting {
    DeviceJob* job = nullptr;
    const Passage* message = nullptr;
    friend bool operator==(const Waiting&, const Waiting&) = default;
  };
  /// A job waits for its turn once it is first; the world calls a message whenever the resource gets free.
  std::optional<Arbiter::Grant> serve_in_turn(const Resources& resources, const DeviceWork& work,
                                              const Waiting& waiting, Time asked, Time now);

  std::vector<ResourceDescription> resources_;
  std::unordered_map<const Resource*, std::deque<Waiting>> waiting_;  // in the order in which they came
};

/// Work of one rank for a collective. It waits for its turn among all that use the same resources. The object
/// stays where it is from start() until it has ended.
class DeviceJob final : public WorldDevices::Work {
 public:
  DeviceJob(Device& device, Team& team) : device_(device), team_(team) {}
  DeviceJob(const DeviceJob&) = delete;
  DeviceJob& operator=(const DeviceJob&) = delete;

  /// at: not before what the algorithm has awaited last.
  void start(const DeviceWork& work, Time at);
  [[nodiscard]] bool ended() const { return ended_; }
  /// waiter: goes on when it has ended.
  void wait(std::coroutine_handle<> waiter) { waiter_ = waiter; }
  [[nodiscard]] Time end() const { return end_; }

  void step(Time now, std::uint32_t number) override;

 private:
  friend class Device;
  Device& device_;
  Team& team_;
  DeviceWork work_;
  Time asked_;
  Time end_;
  bool ended_ = false;
  std::coroutine_handle<> waiter_;
};

/// A rank's port, for windows of a collective.
class TeamHostPort final : public HostPort {
 public:
  TeamHostPort(Device& device, Team& team, const DeviceWork& work)
      : work_(work), jobs_{{{device, team}, {device, team}}} {}
  void start(std::size_t buffer, Time at) override { jobs_[buffer].start(work_, at); }

 protected:
  [[nodiscard]] bool ended(std::size_t buffer) const override { return jobs_[buffer].ended(); }
  void wait(std::size_t buffer, std::coroutine_handle<> kernel) override { jobs_[buffer].wait(kernel); }
  [[nodiscard]] Time end_of(std::size_t buffer) const override { return jobs_[buffer].end(); }

 private:
  DeviceWork work_;
  std::array<DeviceJob, 2> jobs_;
};

/// A rank's core, for a kernel of a collective.
class TeamCore final : public CoreUnit {
 public:
  TeamCore(Device& device, Team& team) : job_(device, team) {}
  bool begin(Time clock, Time duration) override;
  void wait(std::coroutine_handle<> kernel) override { job_.wait(kernel); }
  [[nodiscard]] Time end() const override { return later(least_, job_.end()); }

 private:
  DeviceJob job_;
  Time least_;
};

}  // namespace offramp::aie
