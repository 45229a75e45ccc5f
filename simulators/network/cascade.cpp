// The route is fixed, as in [simgrid]: to the router with the blue link to the other group, over it, and on
// to the destination. Router g of the first chassis has the link to group g. Parallel cables are one link of
// their combined rate (cables()).
#include "simulators/network/cascade.hpp"

#include <fmt/format.h>

namespace offramp {

std::string Cascade::link_name(std::size_t link) const {
  const auto number = static_cast<std::int64_t>(link);
  const RouterPosition at = place_of(number / ports());
  const std::int64_t port = number % ports();
  const std::string from = fmt::format("router {}.{}.{} to ", at.group, at.chassis, at.router);
  if (port < s_.routers) return from + fmt::format("router {}.{}.{}", at.group, at.chassis, port);
  if (port < s_.routers + s_.chassis)
    return from + fmt::format("router {}.{}.{}", at.group, port - s_.routers, at.router);
  return from + fmt::format("group {}", at.router);
}

std::int64_t Cascade::cables(std::size_t link) const {
  const std::int64_t port = static_cast<std::int64_t>(link) % ports();
  if (port < s_.routers) return s_.green;
  return port < s_.routers + s_.chassis ? s_.black : s_.blue;
}

void Cascade::to_router(RouterPosition& at, std::int64_t router, std::vector<std::size_t>& links) const {
  if (at.router != router) links.push_back(link_of(at, router));
  at.router = router;
}

void Cascade::to_chassis(RouterPosition& at, std::int64_t chassis, std::vector<std::size_t>& links) const {
  if (at.chassis != chassis) links.push_back(link_of(at, s_.routers + chassis));
  at.chassis = chassis;
}

bool Cascade::route(const RouteRequest& request, Routing /*routing*/, const LinkLoads& /*loads*/,
                    std::vector<std::size_t>& links) const {
  RouterPosition at = place_of(request.source / s_.nodes);
  const RouterPosition to = place_of(request.destination / s_.nodes);
  if (at.group != to.group) {
    // Router g of the first chassis has the blue link to group g.
    to_router(at, to.group, links);
    to_chassis(at, 0, links);
    links.push_back(link_of(at, s_.routers + s_.chassis));
    // The blue link ends at the router that leads back to this group.
    at = {to.group, 0, at.group};
  }
  to_router(at, to.router, links);
  to_chassis(at, to.chassis, links);
  return true;
}

}  // namespace offramp
