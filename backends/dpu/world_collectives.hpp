// Collectives in a world: service processes execute them in the order of modelled time, sharing resources
// with messages and other collectives. Each rank joins when it issues its part; the work begins with the
// first rank. If a service process fails, the effects depend on all arrivals, so the operation then has the
// devices to itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "offramp/model/backend.hpp"
#include "simulators/dpu/collective.hpp"
#include "simulators/world/awaited_part.hpp"

namespace offramp::dpu {

/// The result of an operation for one rank.
struct Completion {
  Outcome outcome = Outcome::kOk;
  Time populated;  // when the communicator's endpoint cache was populated, if the rank waited for it
  Time done;
  Time host_work;
};

/// Owns all operations in progress. Destroy it only when the world runs no more steps.
class WorldCollectives {
 public:
  /// spec must outlive the object.
  explicit WorldCollectives(const PlatformSpec& spec);
  ~WorldCollectives();
  WorldCollectives& operator=(WorldCollectives&&) = delete;

  using RankPart = AwaitedPart<Completion, WorldCollectives>;

  /// Adds a rank's part. posted: when the rank's host has posted its notification. devices: not nullptr.
  /// fills_a_cache: populate the communicator's endpoint cache first, if that has not happened.
  void join(RankPart& part, const Operation& operation, const Team& team, WorldDevices& devices,
            const CollectiveBuffers& buffers, Time posted, bool fills_a_cache);
  /// The communicator was freed.
  void forget(std::uint64_t context);

  /// Counts operations that have ended.
  [[nodiscard]] const WireCounters& wire() const { return wire_; }

 private:
  class Steps;
  class Shared;
  class Alone;
  class Filling;
  using Name = std::pair<std::uint64_t, std::uint32_t>;  // communicator, number of the collective on it

  /// Returns the operation of that kind (Shared, Alone), created when the first rank joins.
  template <typename Work>
  Work& work_on(std::map<Name, std::unique_ptr<Work>>& works, const Name& name, const Operation& operation,
                const Team& team, WorldDevices& devices, const CollectiveBuffers& buffers);

  const PlatformSpec& spec_;
  std::map<std::pair<std::uint64_t, int>, std::uint32_t> begun_;  // by communicator and rank
  std::map<Name, std::unique_ptr<Shared>> running_;
  std::map<Name, std::unique_ptr<Alone>> alone_;               // with a failing service process
  std::map<std::uint64_t, std::unique_ptr<Filling>> filling_;  // by communicator; nullptr: populated
  /// Notifications in flight, which all operations share.
  Notifications notifications_;
  /// Operations so far, which orders the work of equal times.
  std::uint64_t sequence_ = 0;
  WireCounters wire_;
};

}  // namespace offramp::dpu
