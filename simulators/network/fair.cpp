// The start and the end of every message call share() for the flows that reached_from() finds: those on its
// links, those on their links, and so on. New rates imply new end times, and stale end events are recognised
// by their turn number. Filling uses integers and settles all flows of a level before it subtracts their
// rates, so the result is independent of their order.
#include "simulators/network/fair.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace offramp {
namespace {

using detail::Wide;
constexpr Wide kScale = detail::kPicosecondsPerSecond;

}  // namespace

FairNetwork::FairNetwork(NetworkSetting setting)
    : RoutedNetwork(std::move(setting)), on_(size()), seen_(size()) {}

void FairNetwork::carry(const Parcel& parcel, NetworkWorld& world) {
  Parcel slowed = parcel;
  Route links;
  const PathLatency path = this->path(slowed, links);
  if (links.empty() || parcel.bytes == 0 || slowed.left <= slowed.leaves) return pass(slowed, path, world);
  Flow& flow = flows_[++numbers_];
  flow.number = numbers_;
  flow.parcel = slowed;
  flow.parcel.latency += path.latency;
  flow.route = std::move(links);
  flow.left = static_cast<Wide>(parcel.bytes) * 8 * kScale;
  const Wide span = (slowed.left - slowed.leaves).count();
  flow.own = static_cast<std::int64_t>(
      std::min<Wide>((flow.left + span - 1) / span, std::numeric_limits<std::int64_t>::max()));
  call(later(world.now(), parcel.leaves), flow, world);
}

void FairNetwork::call(Time at, Flow& flow, NetworkWorld& world) {
  Turn& turn = turns_.acquire();
  // Earlier calls cannot be withdrawn. They find another turn and are ignored.
  turn = {flow.number, ++flow.turn};
  world.call(at, flow.parcel, &turn);
}

void FairNetwork::step(void* what, NetworkWorld& world) {
  const Turn turn = *static_cast<Turn*>(what);
  turns_.release(*static_cast<Turn*>(what));
  const auto found = flows_.find(turn.flow);
  if (found == flows_.end() || found->second.turn != turn.turn) return;
  Flow& flow = found->second;
  if (!flow.begun) {
    flow.begun = true;
    flow.since = world.now();
    for (const std::size_t link : flow.route) {
      on_[link].push_back(&flow);
      carried(link).bytes += flow.parcel.bytes;
    }
    std::vector<Flow*> flows = reached_from(flow.route);
    return share(flows, world);
  }
  progress(flow, world);
  const auto bytes = static_cast<std::int64_t>(flow.parcel.bytes);
  // Without other messages, the slowest link or the sender determines the end.
  const Time alone = slowest(flow.route).bytes(bytes);
  const Time at_best = later(flow.parcel.leaves + alone, flow.parcel.left);
  const Time waited = later(world.now() - at_best, {});
  for (const std::size_t link : flow.route) {
    std::erase(on_[link], &flow);
    Carried& use = carried(link);
    use.busy += rate(link).bytes(bytes);
    use.waited += waited;
    use.longest = later(use.longest, waited);
  }
  const Time way = flow.parcel.latency;
  world.arrived(flow.parcel, flow.parcel.leaves + way, later(world.now(), flow.parcel.left) + way, waited);
  std::vector<Flow*> flows = reached_from(flow.route);
  flows_.erase(found);
  share(flows, world);
}

void FairNetwork::progress(Flow& flow, NetworkWorld& world) {
  const Time now = world.now();
  if (flow.rate > 0 && now > flow.since) {
    for (const std::size_t link : flow.route)
      world.carries(link, flow.since, now, Bandwidth::bits_per_second(flow.rate));
  }
  flow.left -= static_cast<Wide>(flow.rate) * (now - flow.since).count();
  flow.left = std::max<Wide>(flow.left, 0);
  flow.since = now;
}

std::vector<FairNetwork::Flow*> FairNetwork::reached_from(const Route& route) {
  ++searches_;
  std::vector<Flow*> flows;
  Route links = route;
  for (const std::size_t link : route) seen_[link] = searches_;
  for (std::size_t at = 0; at < links.size(); ++at) {
    for (Flow* const flow : on_[links[at]]) {
      if (flow->settled) continue;
      flow->settled = true;
      flows.push_back(flow);
      for (const std::size_t link : flow->route) {
        if (std::exchange(seen_[link], searches_) != searches_) links.push_back(link);
      }
    }
  }
  for (Flow* const flow : flows) flow->settled = false;
  std::sort(flows.begin(), flows.end(), [](const Flow* a, const Flow* b) { return a->number < b->number; });
  return flows;
}

void FairNetwork::share(std::vector<Flow*>& flows, NetworkWorld& world) {
  struct Room {
    std::int64_t rate = 0;  // not assigned to settled flows
    std::int64_t open = 0;  // flows that are not settled
  };
  std::map<std::size_t, Room> rooms;
  for (Flow* const flow : flows) {
    progress(*flow, world);
    flow->settled = false;
    for (const std::size_t link : flow->route) {
      Room& room = rooms[link];
      room.rate = rate(link).count();
      ++room.open;
    }
  }
  for (std::size_t open = flows.size(); open > 0;) {
    std::int64_t level = std::numeric_limits<std::int64_t>::max();
    for (const auto& [link, room] : rooms) {
      if (room.open > 0) level = std::min(level, room.rate / room.open);
    }
    for (const Flow* const flow : flows) {
      if (!flow->settled) level = std::min(level, flow->own);
    }
    // Collect all flows that end at this level before subtracting rates, so that their order does not matter.
    std::vector<Flow*> ended;
    for (Flow* const flow : flows) {
      if (flow->settled) continue;
      const bool full = std::any_of(flow->route.begin(), flow->route.end(), [&](std::size_t link) {
        const Room& room = rooms[link];
        return room.rate / room.open <= level;
      });
      if (full || flow->own <= level) ended.push_back(flow);
    }
    for (Flow* const flow : ended) {
      flow->settled = true;
      // At least 1 bit/s, so that every message ends.
      const std::int64_t given = std::max<std::int64_t>(level, 1);
      for (const std::size_t link : flow->route) {
        Room& room = rooms[link];
        room.rate = std::max<std::int64_t>(room.rate - given, 0);
        --room.open;
      }
      // With an unchanged rate, the scheduled end remains valid.
      if (flow->rate != given) {
        flow->rate = given;
        // Rounds up, so that nothing is left at the end.
        const Wide left = (flow->left + given - 1) / given;
        call(world.now() + Time::ps(static_cast<std::int64_t>(left)), *flow, world);
      }
    }
    open -= ended.size();
  }
  for (Flow* const flow : flows) flow->settled = false;
}

}  // namespace offramp
