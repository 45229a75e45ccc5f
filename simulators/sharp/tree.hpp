// Aggregation trees: which switches combine what the nodes of a communicator contribute.
//
// The tree is laid over the switches of the network. The root is a switch in the middle, from which
// the way to the farthest node is shortest. Where there are several, communicators are spread over them by
// the switch of their first node. From the root, each node's switch is reached over a shortest way.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "offramp/model/machine.hpp"

namespace offramp::sharp {

/// Members are nodes of the communicator, numbered by their lowest rank. A switch adds its inputs in the
/// order of the lowest member below each.
struct Tree {
  struct Input {
    bool is_member = false;
    int index = 0;  // of a member, or of a switch of the tree
  };
  struct Switch {
    int number = 0;  // of the network
    int parent = -1;
    int first = 0;       // the lowest member below
    std::size_t up = 0;  // links: to the parent, and from it
    std::size_t down = 0;
    std::vector<Input> inputs;
  };
  std::vector<Switch> switches;  // the root is the first
  std::vector<int> of_member;    // the switch of each member, by its index in the tree

  [[nodiscard]] const Switch& root() const { return switches.front(); }
  [[nodiscard]] int levels() const;
};

class Fabric {
 public:
  /// Null: one switch.
  explicit Fabric(std::shared_ptr<const SwitchMap> map) : map_(std::move(map)) {}
  /// False: the network does not describe its switches.
  [[nodiscard]] bool is_known() const { return map_ == nullptr || map_->switches() > 0; }
  /// nodes: of the members, without duplicates. trees: at most so many roots are used.
  [[nodiscard]] Tree tree_of(std::span<const int> nodes, int trees);
  [[nodiscard]] int switch_of(int node) const { return map_ == nullptr ? 0 : map_->switch_of(node); }

 private:
  static constexpr std::size_t kNoLink = SIZE_MAX;
  /// Ways from one switch to all others.
  struct Ways {
    std::vector<int> distance;      // negative: there is no way
    std::vector<std::size_t> last;  // the link over which a switch is reached
  };
  [[nodiscard]] Ways ways_from(int start) const;
  [[nodiscard]] int root_of(std::span<const int> leaves, int trees) const;
  void look_at_links();
  /// The other direction of a cable. kNoLink: the network has none that joins the same two switches.
  [[nodiscard]] std::size_t opposite(std::size_t link) const;

  std::shared_ptr<const SwitchMap> map_;
  std::vector<std::size_t> first_;  // by switch: among `links_`, those that lead away from it
  std::vector<std::size_t> links_;
};

}  // namespace offramp::sharp
