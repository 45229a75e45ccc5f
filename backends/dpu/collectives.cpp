// Collectives: the host posts its part and is notified when the service processes are done. Their work is in
// world_collectives.cpp, their algorithms are in simulators/dpu/plan.cpp and barrier.cpp. They combine in the
// order of arrival, so supports() accepts commutative reductions only, and the order of a run is the default.
#include <bit>

#include "backends/dpu/backend.hpp"

namespace offramp::dpu {

Task<Outcome> DpuBackend::collective(const Operation& operation, Team& team, CollectiveBuffers buffers) {
  const PlatformSpec& platform = driver_.platform;
  // Bytes that the host may have to copy.
  const auto own = static_cast<std::int64_t>(
      has_blocks_of_different_sizes(operation.kind) ? buffers.send.size() : operation.bytes);
  const HostCost cost = host_cost(platform, operation.kind, own, team.size(), team.rank() == operation.root);
  const int rank = team.world_rank(team.rank());
  const Time called = team.clock;
  const Ready start = team.size() > 1 ? ready(rank) : Ready();
  const Time issued = later(called, start.populated);
  const Time posted = issued + cost.post;
  team.host_free = posted + cost.copy;
  // A rank alone only copies.
  if (team.size() == 1) {
    team.clock = team.host_free;
    co_return Outcome::kOk;
  }
  WorldCollectives::RankPart part;
  shared_.join(part, operation, team, *team.devices(), buffers, posted, fills_a_cache(team));
  const Completion completion = co_await part;
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

/// The cache of all ranks is filled when the service starts. Their communicator is the one whose context has
/// no number besides the mark of collectives.
bool DpuBackend::fills_a_cache(const Team& team) const {
  const std::uint64_t context = team.setup_context();
  const bool has_number = context != 0 && !std::has_single_bit(context);
  return driver_.platform.setup != Setup::kNone && has_number;
}

void DpuBackend::forget(std::uint64_t context) {
  shared_.forget(context);
}

}  // namespace offramp::dpu
