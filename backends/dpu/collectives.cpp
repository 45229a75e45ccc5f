// Collectives: the host posts its part and is notified when the service processes are done. Their work is in
// world_collectives.cpp, their algorithms are in simulators/dpu/plan.cpp and barrier.cpp. In a run,
// simulators/world/dataflow.cpp moves the bytes.
#include <bit>

#include "backends/dpu/backend.hpp"
#include "simulators/world/dataflow.hpp"

namespace offramp::dpu {
namespace {

/// supports() accepts commutative reductions only, so a binomial tree is equivalent to the service's
/// algorithms.
Task<Outcome> carry(const Operation& operation, Team& team, const CollectiveBuffers& buffers) {
  if (!reduces(operation.kind)) return move_data(operation, team, buffers);
  return move_data(operation, team, buffers, binomial_fold(team, top_of(operation)));
}

}  // namespace

Task<Outcome> DpuBackend::collective(const Operation& operation, Team& team, CollectiveBuffers buffers) {
  return team.hardware() != nullptr ? serve(operation, team, buffers) : carry(operation, team, buffers);
}

Task<Outcome> DpuBackend::serve(const Operation& operation, Team& team, CollectiveBuffers buffers) {
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
    co_return co_await carry(operation, team, buffers);
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
