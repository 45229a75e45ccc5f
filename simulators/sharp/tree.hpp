// Aggregation trees: which switches combine the contributions of a communicator's nodes.
//
// The root is a central switch that minimises the distance to the farthest node. If there are several,
// communicators are distributed over them by the switch of their first node. Each node's switch is connected
// to the root by a shortest path.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "offramp/model/machine.hpp"

namespace offramp::sharp {

/// Members are the communicator's nodes, numbered by their lowest rank. A switch adds its inputs in order of
/// the lowest member below each.
struct Tree {
  /// An operand's origin: a member at this switch, or a switch below.
  struct Input {
    bool is_member = false;
    int index = 0;  // member, or switch of the tree
  };
  struct Switch {
    int number = 0;  // in the network
    int parent = -1;
    int first = 0;       // the lowest member below
    std::size_t up = 0;  // link to the parent
    std::size_t down = 0;
    std::vector<Input> inputs;
  };
  std::vector<Switch> switches;  // the root is first
  std::vector<int> of_member;    // by member: index of its switch in `switches`

  [[nodiscard]] const Switch& root() const { return switches.front(); }
  /// Switches on the longest way from a member to the root, including the root.
  [[nodiscard]] int levels() const;
};

/// The switches of a network, as a source of trees. One thread at a time.
class Fabric {
 public:
  /// map: null for a single switch.
  explicit Fabric(std::shared_ptr<const SwitchMap> map) : map_(std::move(map)) {}
  /// Returns whether the network describes its switches.
  [[nodiscard]] bool is_known() const { return map_ == nullptr || map_->switches() > 0; }
  /// nodes: of the members, without duplicates. trees: the maximum number of roots in use.
  [[nodiscard]] Tree tree_of(std::span<const int> nodes, int trees);
  /// The switch of a node. 0 if there is a single switch.
  [[nodiscard]] int switch_of(int node) const { return map_ == nullptr ? 0 : map_->switch_of(node); }

 private:
  static constexpr std::size_t kNoLink = SIZE_MAX;
  /// Shortest paths from one switch to all others.
  struct Routes {
    std::vector<int> distance;      // negative: unreachable
    std::vector<std::size_t> last;  // last link of the path
  };
  [[nodiscard]] Routes routes_from(int start) const;
  /// leaves: the members' switches, each once, in the order of their lowest members.
  [[nodiscard]] int root_of(std::span<const int> leaves, int trees) const;
  /// Fills first_ and links_ when the first tree needs them.
  void look_at_links();
  /// The other direction of a cable, or kNoLink if no link leads back between the two switches.
  [[nodiscard]] std::size_t opposite(std::size_t link) const;

  std::shared_ptr<const SwitchMap> map_;
  std::vector<std::size_t> first_;  // by switch: index in `links_` of its first outgoing link
  // All links, sorted by the switch at which they begin.
  std::vector<std::size_t> links_;
};

}  // namespace offramp::sharp
