// The array as shared by its ranks: its exclusive resources, and the work of collectives on them, which a
// world schedules in the order of modelled time. Messages use the same resources (backends/aie/aie.cpp).
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "backends/aie/parameters.hpp"
#include "offramp/model/team.hpp"

namespace offramp::aie {

/// The units of a rank, and those that ranks share. The values are indices.
enum DeviceResource : std::size_t {
  kSendKernel,     // for a rank's messages
  kReceiveKernel,  // for a rank's messages
  kCore,           // of a rank's tile
  kPortIn,         // GMIO, of one or more ranks
  kPortOut,
  kMemoryIn,  // the NoC and the memory behind all ports
  kMemoryOut,
  kDeviceResources
};

/// Work on `own`, an exclusive resource, through a resource shared by several such (a port with the memory
/// behind all ports). It takes at least its own time. The shared resource serves work in the order of its
/// beginning: n users that keep it busy with equal pieces get one n-th each, and never more than their own
/// resource carries.
struct DeviceWork {
  std::size_t own = kCore;
  Time time;
  std::size_t shared = kNoResource;  // kNoResource: the work is on `own` alone
  Time shared_time;
  std::uint64_t bytes = 0;
  /// The duration on idle resources.
  [[nodiscard]] Time alone() const { return later(time, shared_time); }
};
/// Work that moves this number of windows through a rank's port and the memory.
DeviceWork host_work(const HostPath& path, bool in, std::size_t window, std::size_t windows);
/// Serves from `at`, or as soon as the own resource is free. Keeps the order of modelled time only if it is
/// free at `at`.
Arbiter::Grant serve(const Resources& resources, const DeviceWork& work, Time at);

class DeviceJob;

/// Owns the queues. All work must end before it is destroyed.
class Device {
 public:
  /// ranks: of the world; if they outnumber the host's ports, several share one.
  Device(const Setup& setup, int ranks);
  /// In the order of DeviceResource.
  [[nodiscard]] std::span<const ResourceDescription> resources() const { return resources_; }

  /// As serve(), for a stage of a message at time `now`. If others are first, returns nullopt and sets
  /// passage.again; the message is then queued among the users of the resource.
  std::optional<Arbiter::Grant> serve(const Resources& resources, const DeviceWork& work, Passage& passage,
                                      Time now);

 private:
  friend class DeviceJob;
  /// Exactly one of the members is set.
  struct Waiting {
    DeviceJob* job = nullptr;
    const Passage* message = nullptr;
    friend bool operator==(const Waiting&, const Waiting&) = default;
  };
  /// The first job in the queue is scheduled when its turn comes. A message is called again by the world
  /// whenever the resource becomes free.
  std::optional<Arbiter::Grant> serve_in_turn(const Resources& resources, const DeviceWork& work,
                                              const Waiting& waiting, Time asked, Time now);

  std::vector<ResourceDescription> resources_;
  std::unordered_map<const Resource*, std::deque<Waiting>> waiting_;  // in order of arrival
};

/// Work of one rank for a collective, which is queued among all users of the same resources. The object must
/// not move between start() and its end.
class DeviceJob final : public WorldDevices::Work {
 public:
  /// Both must outlive this object.
  DeviceJob(Device& device, Team& team) : device_(device), team_(team) {}
  DeviceJob& operator=(DeviceJob&&) = delete;

  /// at: not before the last event that the algorithm has awaited.
  void start(const DeviceWork& work, Time at);
  [[nodiscard]] bool ended() const { return ended_; }
  /// Resumes the waiter when the work has ended.
  void wait(std::coroutine_handle<> waiter) { waiter_ = waiter; }
  /// Valid once it has ended.
  [[nodiscard]] Time end() const { return end_; }

  void step(Time now, std::uint32_t number) override;

 private:
  friend class Device;
  Device& device_;
  Team& team_;
  DeviceWork work_;
  /// When the work was started.
  Time asked_;
  Time end_;
  bool ended_ = false;
  std::coroutine_handle<> waiter_;
};

/// A rank's port, for windows of a collective.
class TeamHostPort final : public HostPort {
 public:
  /// work: of one window.
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
  /// A rank has one at a time.
  TeamCore(Device& device, Team& team) : job_(device, team) {}
  bool begin(Time clock, Time duration) override;
  void wait(std::coroutine_handle<> kernel) override { job_.wait(kernel); }
  [[nodiscard]] Time end() const override { return later(least_, job_.end()); }

 private:
  DeviceJob job_;
  /// The end without any delay.
  Time least_;
};

}  // namespace offramp::aie
