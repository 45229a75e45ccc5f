// Collectives: the host hands over its part, and learns when the service processes are done with it. In a
// world they work in world_collectives.cpp, in a live run in timing.cpp; data.cpp moves the bytes.
#include <bit>

#include "backends/dpu/backend.hpp"
#include "backends/dpu/data.hpp"
#include "simulators/model/units.hpp"

namespace offramp::dpu {

Task<Outcome> DpuBackend::collective(const Operation& operation, Team& team, CollectiveBuffers buffers) {
  const PlatformSpec& platform = driver_.platform;
  const auto own = static_cast<std::int64_t>(
      has_blocks_of_different_sizes(operation.kind) ? buffers.send.size() : operation.bytes);
  const HostCost cost = host_cost(platform, operation.kind, own, team.size(), team.rank() == operation.root);
  const int rank = team.world_rank(team.rank());
  const Time called = team.clock;
  const Ready start = team.size() > 1 ? ready(rank) : Ready();
  const Time issued = later(called, start.populated);
  const Time posted = issued + cost.post;
  team.host_free = posted + cost.copy;
  if (team.size() == 1) {
    team.clock = team.host_free;
    co_return co_await move_data(operation, team, buffers);
  }
  Completion completion;
  // Under a failure all arrivals decide what it changes: then an operation has the devices to itself.
  if (team.devices() != nullptr && platform.failure.kind == Failure::kNone) {
    WorldCollectives::Part part;
    shared_.join(part, operation, team, *team.devices(), buffers, posted, fills_a_cache(team));
    completion = co_await part;
  } else {
    completion = co_await by_itself(operation, team, buffers, posted);
  }
  team.clock = later(team.host_free, completion.done);
  team.host_begin = team.host_free;
  team.host_work = completion.host_work;
  record_setup(start, called, team.operation, rank);
  span("host", "post", issued, team.host_free, team.operation, rank);
  span("endpoint cache", "populate, communicator", posted, completion.populated, team.operation, rank);
  span("service process", "collective", later(posted, completion.populated), completion.done, team.operation,
       rank);
  co_return completion.outcome;
}

Task<Completion> DpuBackend::by_itself(const Operation& operation, Team& team, CollectiveBuffers buffers,
                                       Time posted) {
  const std::size_t process =
      node_.process(placement_of(driver_.platform).global_id(team.world_rank(team.rank())));
  Units* const units = team.units();
  CollectiveTiming::Exchange exchange;
  timing_.begin(exchange, operation, team, buffers, posted,
                units != nullptr ? (*units)[process].free_at() : Time(), fills_a_cache(team));
  const Outcome outcome = co_await move_data(operation, team, buffers);
  Completion completion = co_await timing_.end(exchange, team);
  if (outcome != Outcome::kOk) completion.outcome = outcome;
  if (units != nullptr) (*units)[process].merge(completion.process_free);
  co_return completion;
}

/// That of all ranks is filled when the service starts: their communicator is the one whose context has no
/// number beside the mark of collectives.
bool DpuBackend::fills_a_cache(const Team& team) const {
  const bool has_number = team.context() != 0 && !std::has_single_bit(team.context());
  return driver_.platform.setup != Setup::kNone && has_number;
}

void DpuBackend::forget(std::uint64_t context) {
  shared_.forget(context);
  timing_.forget(context);
}

}  // namespace offramp::dpu
