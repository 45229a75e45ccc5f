// The public interface of a world; the implementation is world::Core (world_core.hpp).
#include "simulators/world/world.hpp"

#include "offramp/kernel/frame_pool.hpp"
#include "simulators/world/audit.hpp"
#include "simulators/world/world_core.hpp"
#include "simulators/world/world_rank.hpp"

namespace offramp {

/// What an earlier world of this thread has left is freed here and not at its end, since most processes have
/// one large world, and end after it.
World::World(const WorldOptions& options, const WorldBackend& backend) {
  detail::FramePool::trim();
  core_ = std::make_unique<world::Core>(options, backend);
}
World::~World() {
  if (!core_->options().check && world::Audit::of_all()) {
    for (const std::string& violation : core_->violations(false)) world::Audit::of_all()(violation);
  }
}
void audit_all_worlds(std::function<void(const std::string& violation)> report) {
  world::Audit::of_all() = std::move(report);
}

std::string World::run(const Program& program) {
  std::vector<int> all(static_cast<std::size_t>(ranks()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  return run(program, all);
}
std::string World::run(const Program& program, std::span<const int> ranks,
                       const std::function<bool()>& when_stuck) {
  const TaskErrors errors;
  std::string stuck = core_->run(program, ranks, when_stuck);
  errors.rethrow();
  return stuck;
}
int World::ranks() const {
  return core_->options().ranks;
}
Time World::clock(int rank) const {
  const world::Rank* const used = core_->rank_if_used(rank);
  return used != nullptr ? used->clock() : Time();
}
Time World::straggler_delay(int rank) const {
  const world::Rank* const used = core_->rank_if_used(rank);
  return used != nullptr ? used->straggler_delay : Time();
}
Time World::end() const {
  return core_->end();
}
Time World::engine_time() const {
  return core_->engine_time();
}
WireCounters World::wire() const {
  return core_->wire();
}
std::uint64_t World::messages() const {
  return core_->messages();
}
std::uint64_t World::events() const {
  return core_->events();
}
const std::string& World::declined() const {
  return core_->declined();
}
std::vector<LinkUse> World::links() const {
  return core_->links();
}

std::vector<World::ResourceUse> World::resources() const {
  return core_->resources();
}
std::vector<std::string> World::violations(bool unreceived) const {
  return core_->violations(unreceived);
}

}  // namespace offramp
