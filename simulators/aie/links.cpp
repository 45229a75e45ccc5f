// A link divides a message's stream time by its channels: windows of many messages spread over them. All
// links of a route are occupied from the message's start, as its windows follow each other. The latency of
// the hops is in `deadline`, so a message alone is never late.
#include "simulators/aie/links.hpp"

namespace offramp::aie {
namespace {

constexpr int kPlaces = 5;  // four directions and the stream into the tile's memory

// Rounded up.
Time divided(Time time, int parts) {
  return Time::ps((time.count() + parts - 1) / parts);
}

}  // namespace

Time Links::pass(int link, int channels, Time at, Time stream, Time deadline) {
  const Arbiter::Grant grant = used_[link].acquire(at, divided(stream, channels));
  return later(grant.end - deadline, {});
}

Time Links::carry(Tile from, Tile to, Time at, Time stream, Time deadline) {
  Time late;
  Tile here = from;
  const auto go = [&](Direction direction) {
    const int link = array_.index(here) * kPlaces + static_cast<int>(direction);
    late = later(late, pass(link, array_.channels(direction), at, stream, deadline));
    here = neighbour(here, direction);
  };
  while (here.column != to.column) go(here.column < to.column ? Direction::kEast : Direction::kWest);
  while (here.row != to.row) go(here.row < to.row ? Direction::kNorth : Direction::kSouth);
  return later(late, pass(array_.index(to) * kPlaces + kPlaces - 1, 1, at, stream, deadline));
}

}  // namespace offramp::aie
