// Finds routes through nested zones, which platform_file.cpp creates. find() climbs from both ends to the
// innermost common zone (meet()) and crosses it; for the route within each zone that the hops pass, it calls
// itself. Zones of kind kShortest use the reader's table of predecessors.
#include "simulators/network/platform.hpp"

#include <fmt/core.h>

namespace offramp {
namespace {

constexpr std::size_t kLongestRoute = 4096;  // links

class NoLoads final : public LinkLoads {
 public:
  [[nodiscard]] std::int64_t load(std::size_t /*link*/) const override { return 0; }
};

}  // namespace

std::int32_t Platform::meet(std::int32_t& a, std::int32_t& b) const {
  while (point(a).zone != point(b).zone) {
    const Zone& of_a = zone(point(a).zone);
    const Zone& of_b = zone(point(b).zone);
    // The deeper point climbs. At equal depth, both do.
    if (of_a.depth >= of_b.depth) a = of_a.point;
    if (of_b.depth >= of_a.depth) b = of_b.point;
  }
  return point(a).zone;
}

void Platform::through(const Cluster& cluster, const Point& from, const Point& to,
                       std::vector<std::size_t>& links) {
  const auto own = [&](const std::vector<std::int32_t>& all, const Point& host) {
    // Routers have no place, and so no links of their own.
    if (host.place == kNone || all.empty()) return;
    const std::int32_t link = all[static_cast<std::size_t>(host.place)];
    if (link != kNone) links.push_back(static_cast<std::size_t>(link));
  };
  own(cluster.limiters, from);
  own(cluster.up, from);
  if (cluster.backbone != kNone) links.push_back(static_cast<std::size_t>(cluster.backbone));
  if (cluster.inner != nullptr && from.place != kNone && to.place != kNone) {
    const std::size_t first = links.size();
    cluster.inner->route({from.place, to.place, 0}, Routing::kStatic, NoLoads(), links);
    for (std::size_t i = first; i < links.size(); ++i) links[i] += cluster.first_inner;
  }
  own(cluster.down, to);
  own(cluster.limiters, to);
}

/// Routes between two points of one zone. first, last: the hosts or routers at the ends.
bool Platform::cross(const Zone& zone, std::int32_t from, std::int32_t to, std::int32_t first,
                     std::int32_t last, std::vector<std::size_t>& links, Gap& gap) const {
  if (zone.kind == ZoneKind::kCluster) {
    through(*zone.cluster, point(from), point(to), links);
    return true;
  }
  std::vector<std::int32_t> stops = {to};  // in reverse order
  while (zone.kind == ZoneKind::kShortest && stops.back() != from) {
    const auto before = zone.at.find(pair(from, stops.back()));
    if (before == zone.at.end()) {
      gap = {&zone, from, to};
      return false;
    }
    stops.push_back(before->second);
  }
  if (zone.kind == ZoneKind::kFull) stops.push_back(from);
  std::int32_t at = first;
  for (std::size_t i = stops.size() - 1; i-- > 0;) {
    const auto found = zone.hops.find(pair(stops[i + 1], stops[i]));
    if (found == zone.hops.end()) {
      gap = {&zone, stops[i + 1], stops[i]};
      return false;
    }
    const Hop& hop = found->second;
    if (!find(at, hop.leaves, links, gap) || links.size() > kLongestRoute) return false;
    links.insert(links.end(), hop.links.begin(), hop.links.end());
    at = hop.enters;
  }
  return find(at, last, links, gap);
}

/// Terminates, since gateways are deeper than the points they represent and every hop has a link.
bool Platform::find(std::int32_t from, std::int32_t to, std::vector<std::size_t>& links, Gap& gap) const {
  if (from == to) return true;
  std::int32_t a = from;
  std::int32_t b = to;
  const std::int32_t common = meet(a, b);
  return a != b && cross(zone(common), a, b, from, to, links, gap);
}

bool Platform::route(const RouteRequest& request, Routing /*routing*/, const LinkLoads& /*loads*/,
                     std::vector<std::size_t>& links) const {
  Gap gap;
  return find(hosts_[static_cast<std::size_t>(request.source)],
              hosts_[static_cast<std::size_t>(request.destination)], links, gap);
}

std::string Platform::missing(const RouteRequest& request) const {
  std::vector<std::size_t> links;
  Gap gap;
  (void)find(hosts_[static_cast<std::size_t>(request.source)],
             hosts_[static_cast<std::size_t>(request.destination)], links, gap);
  const std::string hosts =
      fmt::format("{} to {}", node_name(request.source), node_name(request.destination));
  // Without a gap, the search has ended at its limit.
  if (gap.zone == nullptr)
    return fmt::format("{}: the route from {} has more than {} links", place_, hosts, kLongestRoute);
  const std::string own = gap.zone->point == kNone ? "" : " " + point(gap.zone->point).id;
  const std::string ends = fmt::format("{} to {}", point(gap.from).id, point(gap.to).id);
  return fmt::format("{}:{}: the zone{} has no route from {}{}", file_, gap.zone->line, own, ends,
                     ends == hosts ? "" : fmt::format(", on the route from {}", hosts));
}

std::string Platform::node_name(int node) const {
  return point(hosts_[static_cast<std::size_t>(node)]).id;
}

}  // namespace offramp
