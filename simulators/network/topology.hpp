// Topologies: the switches between the nodes of a machine, the links between switches, and the routes over
// them.
//
// The link between a node and its switch is the backend's own (its NIC, its engine's port); the links here
// are those behind. A direction of a link is a link of its own. A topology has no times and no state: any
// thread.
//
// Sources: [fat-trees] for the tree and its labels; [d-mod-k] for its routing; [dally-towles] for tori with
// dimension-order routing; [dragonfly] for the dragonfly with minimal and Valiant's routing.
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

enum class Routing : std::uint8_t {
  kStatic,    // by the destination alone: D-mod-k, dimension order, the shortest way
  kAdaptive,  // fat tree: of the ways up, the one that is free first
  kValiant,   // dragonfly: over a group that is drawn for each message
};

/// How busy a link is, in any unit: adaptive routing takes the link with the least.
class LinkLoads {
 public:
  [[nodiscard]] virtual std::int64_t load(std::size_t link) const = 0;

 protected:
  ~LinkLoads() = default;
};

class Topology {
 public:
  struct Way {
    int source = 0;  // nodes
    int destination = 0;
    std::uint64_t draw = 0;  // of the message, for what is drawn
  };
  struct Link {
    Bandwidth rate;
    Time latency;
    bool shared = true;  // otherwise each message has the rate for itself
  };
  virtual ~Topology() = default;

  /// How many nodes it has room for.
  [[nodiscard]] virtual int nodes() const = 0;
  [[nodiscard]] virtual std::size_t links() const = 0;
  /// "leaf 3 to spine 1".
  [[nodiscard]] virtual std::string link_name(std::size_t link) const = 0;
  [[nodiscard]] virtual std::string node_name(int node) const { return std::to_string(node); }
  /// Null: the topology does not say, and all links are alike.
  [[nodiscard]] virtual const Link* link(std::size_t /*link*/) const { return nullptr; }
  /// As SwitchMap has it, with nodes of the machine. 0: the topology does not say.
  [[nodiscard]] virtual int switches() const { return 0; }
  [[nodiscard]] virtual int switch_of(int node) const { return node; }
  [[nodiscard]] virtual SwitchMap::Ends ends(std::size_t /*link*/) const { return {}; }
  [[nodiscard]] virtual bool knows(Routing routing) const { return routing == Routing::kStatic; }
  /// Appends the links from one node's switch to the other's, in this order; none if they have the same
  /// switch. False: there is no way.
  virtual bool route(const Way& way, Routing routing, const LinkLoads& loads,
                     std::vector<std::size_t>& links) const = 0;
  /// Of a way that there is not: what is missing, and where.
  [[nodiscard]] virtual std::string missing(const Way& way) const {
    return "there is no way from " + node_name(way.source) + " to " + node_name(way.destination);
  }
};

/// "star", "fat-tree:DOWN[,DOWN...][:OVERSUBSCRIPTION]" (nodes per switch, switches per switch of the next
/// level; as many up again, at the first level divided by the oversubscription),
/// "fat-tree:LEVELS;DOWN,...;UP,...;CABLES,..." as SimGrid writes them, "torus:AxBx...",
/// "dragonfly:GROUPS:ROUTERS:NODES:GLOBAL" (routers of a group, nodes and global links of a router). The last
/// DOWN of the short form grows until there is room for the nodes. Null: a star, in which nothing is shared.
/// An error names the part that is wrong, or says for how many nodes there is room.
Result<std::shared_ptr<const Topology>> parse_topology(const std::string& text, int nodes);

/// The text alone, without a number of nodes: empty, or what is wrong with it.
std::string check_topology(const std::string& text);

}  // namespace offramp
