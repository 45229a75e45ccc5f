// The dragonfly of Cray's XC series, as in SimGrid's DRAGONFLY clusters: groups of chassis of routers
// (blades). Green links connect the routers of a chassis. Black links connect routers at the same position in
// the chassis of a group. Blue links connect the groups.
//
// Sources: [cascade] for the structure; [simgrid], read in DragonflyZone.cpp, for the routers with blue links
// and the order of the hops.
#pragma once

#include "simulators/network/topology.hpp"

namespace offramp {

class Cascade final : public Topology {
 public:
  /// The size of the machine. All links of a colour have equally many cables.
  struct Shape {
    std::int64_t groups = 1;
    std::int64_t blue = 1;  // cables per link between groups
    std::int64_t chassis = 1;
    std::int64_t black = 1;
    std::int64_t routers = 1;  // per chassis; at least `groups`, since a router has one blue link at most
    std::int64_t green = 1;
    std::int64_t nodes = 1;  // per router
  };
  explicit Cascade(const Shape& shape) : s_(shape) {}

  [[nodiscard]] int nodes() const override {
    return static_cast<int>(s_.groups * s_.chassis * s_.routers * s_.nodes);
  }
  [[nodiscard]] std::size_t links() const override {
    return static_cast<std::size_t>(s_.groups * s_.chassis * s_.routers * ports());
  }
  [[nodiscard]] std::string link_name(std::size_t link) const override;
  bool route(const RouteRequest& request, Routing routing, const LinkLoads& loads,
             std::vector<std::size_t>& links) const override;
  /// The number of cables whose combined rate a link has.
  [[nodiscard]] std::int64_t cables(std::size_t link) const;

 private:
  /// A router's group, its chassis in the group, and its slot in the chassis.
  struct RouterPosition {
    std::int64_t group = 0;
    std::int64_t chassis = 0;
    std::int64_t router = 0;
  };
  /// Ports per router: to the routers of its chassis, to the chassis of its group, and to another group.
  [[nodiscard]] std::int64_t ports() const { return s_.routers + s_.chassis + 1; }
  /// Routers are numbered through the slots of a chassis, then its group, then all groups.
  [[nodiscard]] RouterPosition place_of(std::int64_t router) const {
    return {router / s_.routers / s_.chassis, router / s_.routers % s_.chassis, router % s_.routers};
  }
  /// Links are numbered by the router where they begin, then by its port.
  [[nodiscard]] std::size_t link_of(const RouterPosition& place, std::int64_t port) const {
    const std::int64_t router = (place.group * s_.chassis + place.chassis) * s_.routers + place.router;
    return static_cast<std::size_t>(router * ports() + port);
  }
  /// Moves to another router of the chassis. Adds no link if it is the current one.
  void to_router(RouterPosition& at, std::int64_t router, std::vector<std::size_t>& links) const;
  /// Moves to the router with this slot in another chassis of the group.
  void to_chassis(RouterPosition& at, std::int64_t chassis, std::vector<std::size_t>& links) const;

  Shape s_;
};

}  // namespace offramp
