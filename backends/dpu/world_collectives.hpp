// Collectives in a world: service processes work on them with the resources that messages and other
// collectives use, in the order of modelled time. Ranks join when they issue their part; the work begins with
// the first of them. Where a service process fails, what that changes follows from all arrivals: then the
// operation has the devices to itself.
#pragma once

#include <coroutine>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "offramp/model/backend.hpp"
#include "simulators/dpu/collective.hpp"

namespace offramp::dpu {

/// What a rank learns about its operation.
struct Completion {
  Outcome outcome = Outcome::kOk;
  Time populated;  // the endpoint cache of the communicator, where that was waited for
  Time done;
  Time host_work;
};

class WorldCollectives {
 public:
  /// spec outlives it.
  explicit WorldCollectives(const PlatformSpec& spec);
  ~WorldCollectives();
  WorldCollectives(const WorldCollectives&) = delete;
  WorldCollectives& operator=(const WorldCollectives&) = delete;

  /// One rank's part; awaited once, where it was made.
  class [[nodiscard]] Part {
   public:
    Part() = default;
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    [[nodiscard]] bool await_ready() const { return ready_; }
    void await_suspend(std::coroutine_handle<> waiter) { waiter_ = waiter; }
    [[nodiscard]] Completion await_resume() const { return completion_; }

   private:
    friend class WorldCollectives;
    Completion completion_;
    bool ready_ = false;
    std::coroutine_handle<> waiter_;
  };

  /// posted: when the rank's host has handed over its notification. devices: not null. fills_a_cache: the
  /// communicator's endpoint cache, if it is not populated yet.
  void join(Part& part, const Operation& operation, const Team& team, WorldDevices& devices,
            const CollectiveBuffers& buffers, Time posted, bool fills_a_cache);
  /// The communicator is gone.
  void forget(std::uint64_t context);

  [[nodiscard]] const WireCounters& wire() const { return wire_; }

 private:
  class Steps;
  class Shared;
  class Alone;
  class Filling;
  using Name = std::pair<std::uint64_t, std::uint32_t>;  // communicator, number of the collective on it

  /// Of the kind (Shared, Alone) that `works` has. Made when the first rank joins.
  template <typename Work>
  Work& work_on(std::map<Name, std::unique_ptr<Work>>& works, const Name& name, const Operation& operation,
                const Team& team, WorldDevices& devices, const CollectiveBuffers& buffers);

  const PlatformSpec& spec_;
  std::map<std::pair<std::uint64_t, int>, std::uint32_t> begun_;  // by communicator and rank
  std::map<Name, std::unique_ptr<Shared>> running_;
  std::map<Name, std::unique_ptr<Alone>> alone_;               // where a service process fails
  std::map<std::uint64_t, std::unique_ptr<Filling>> filling_;  // by communicator; null: populated
  Notifications notifications_;
  std::uint64_t sequence_ = 0;
  WireCounters wire_;
};

}  // namespace offramp::dpu
