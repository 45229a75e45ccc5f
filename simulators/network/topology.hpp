// Topologies: the switches of a machine, the links between them, and the routes. The link between a node and
// its switch belongs to the backend (its NIC or its engine's port); links here are those behind that switch.
// Each direction of a link is a separate link. Topologies have neither times nor state, so any thread may use
// them.
//
// Sources: [fat-trees] for the tree and its labels; [d-mod-k] for its routing; [dally-towles] for tori with
// dimension-order routing; [dragonfly] for the dragonfly with minimal and Valiant routing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "offramp/kernel/result.hpp"
#include "offramp/kernel/time.hpp"
#include "offramp/model/machine.hpp"

namespace offramp {

/// How a topology chooses among several routes.
enum class Routing : std::uint8_t {
  kStatic,    // by destination only: D-mod-k, dimension order, or the shortest route
  kAdaptive,  // fat tree: the upward link that is idle first
  kValiant,   // dragonfly: through a random group per message
};

/// The load of links, in any unit. Adaptive routing chooses the link with the lowest load.
class LinkLoads {
 public:
  [[nodiscard]] virtual std::int64_t load(std::size_t link) const = 0;

 protected:
  ~LinkLoads() = default;
};

/// A topology. Implementations: topology.cpp, Cascade, and Platform.
class Topology {
 public:
  /// A message between two nodes of the machine.
  struct RouteRequest {
    int source = 0;  // node
    int destination = 0;
    std::uint64_t draw = 0;  // random value of the message
  };
  /// The properties of one link, which is one direction of a cable.
  struct Link {
    Bandwidth rate;
    Time latency;
    bool shared = true;  // false: each message has the full rate
  };
  virtual ~Topology() = default;

  /// The number of nodes that it can connect.
  [[nodiscard]] virtual int nodes() const = 0;
  /// The number of links. They are numbered from 0.
  [[nodiscard]] virtual std::size_t links() const = 0;
  /// For example "leaf 3 to spine 1".
  [[nodiscard]] virtual std::string link_name(std::size_t link) const = 0;
  /// For messages to the user. A platform file names its nodes itself.
  [[nodiscard]] virtual std::string node_name(int node) const { return std::to_string(node); }
  /// Returns null if all links are alike and have the network's properties.
  [[nodiscard]] virtual const Link* link(std::size_t /*link*/) const { return nullptr; }
  /// As in SwitchMap, with nodes of the machine. 0 if the topology does not describe its switches.
  [[nodiscard]] virtual int switches() const { return 0; }
  [[nodiscard]] virtual int switch_of(int node) const { return node; }
  [[nodiscard]] virtual SwitchMap::Ends ends(std::size_t /*link*/) const { return {}; }
  /// Whether route() can use this routing.
  [[nodiscard]] virtual bool supports(Routing routing) const { return routing == Routing::kStatic; }
  /// Appends the links from the source's switch to the destination's, in order; none if it is the same
  /// switch. Returns false if no route exists.
  virtual bool route(const RouteRequest& request, Routing routing, const LinkLoads& loads,
                     std::vector<std::size_t>& links) const = 0;
  /// Describes which part of a route is missing, and where.
  [[nodiscard]] virtual std::string missing(const RouteRequest& request) const {
    return "there is no route from " + node_name(request.source) + " to " + node_name(request.destination);
  }
};

/// Reads a topology for at least this many nodes:
/// "star": nothing is shared; returns null.
/// "fat-tree:DOWN[,DOWN...][:OVERSUBSCRIPTION]": nodes per switch, then switches per switch of the next
///   level. Each switch has as many links up as down, at the first level divided by OVERSUBSCRIPTION. The
///   last DOWN grows until all nodes fit.
/// "fat-tree:LEVELS;DOWN,...;UP,...;CABLES,...": SimGrid's notation.
/// "torus:AxBx..."
/// "dragonfly:GROUPS:ROUTERS:NODES:GLOBAL": routers per group, nodes and global links per router.
/// Returns an error that names the invalid part, or the number of nodes that would fit.
Result<std::shared_ptr<const Topology>> parse_topology(const std::string& text, int nodes);

/// Checks the text without a number of nodes. Returns an empty text, or what is wrong.
std::string check_topology(const std::string& text);

}  // namespace offramp
