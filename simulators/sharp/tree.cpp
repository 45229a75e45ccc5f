// The root comes from breadth-first searches: to the leaf farthest from the first, and to the leaf farthest
// from that one. The root is a switch that minimises the distance to both. Links are visited in their order,
// so the tree is the same in every run. Links without an opposite direction are ignored, since operands go up
// and results down.
#include "simulators/sharp/tree.hpp"

#include <algorithm>
#include <unordered_map>

namespace offramp::sharp {

int Tree::levels() const {
  int most = 0;
  for (const int leaf : of_member) {
    int level = 1;
    for (int at = leaf; switches[static_cast<std::size_t>(at)].parent >= 0; ++level)
      at = switches[static_cast<std::size_t>(at)].parent;
    most = std::max(most, level);
  }
  return most;
}

void Fabric::look_at_links() {
  if (!first_.empty()) return;
  const auto switches = static_cast<std::size_t>(map_->switches());
  std::vector<std::size_t> degree(switches + 1);
  for (std::size_t link = 0; link < map_->links(); ++link)
    ++degree[static_cast<std::size_t>(map_->ends(link).from) + 1];
  // Counting sort: the links of a switch stay in their order.
  for (std::size_t i = 1; i <= switches; ++i) degree[i] += degree[i - 1];
  first_ = degree;
  links_.resize(map_->links());
  for (std::size_t link = 0; link < map_->links(); ++link)
    links_[degree[static_cast<std::size_t>(map_->ends(link).from)]++] = link;
}

std::size_t Fabric::opposite(std::size_t link) const {
  const SwitchMap::Ends ends = map_->ends(link);
  const auto to = static_cast<std::size_t>(ends.to);
  for (std::size_t l = first_[to]; l < first_[to + 1]; ++l) {
    if (map_->ends(links_[l]).to == ends.from) return links_[l];
  }
  return kNoLink;
}

/// Breadth-first search in order of links, so that the choice among shortest paths is fixed.
Fabric::Routes Fabric::routes_from(int start) const {
  const auto switches = static_cast<std::size_t>(map_->switches());
  Routes ways{std::vector<int>(switches, -1), std::vector<std::size_t>(switches, kNoLink)};
  std::vector<int> reached = {start};
  ways.distance[static_cast<std::size_t>(start)] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto at = static_cast<std::size_t>(reached[i]);
    for (std::size_t l = first_[at]; l < first_[at + 1]; ++l) {
      const auto next = static_cast<std::size_t>(map_->ends(links_[l]).to);
      if (ways.distance[next] >= 0 || opposite(links_[l]) == kNoLink) continue;
      ways.distance[next] = ways.distance[at] + 1;
      ways.last[next] = links_[l];
      reached.push_back(static_cast<int>(next));
    }
  }
  return ways;
}

/// Chooses a switch in the middle between two switches that are farthest apart.
int Fabric::root_of(std::span<const int> leaves, int trees) const {
  if (leaves.size() == 1) return leaves.front();
  const auto farthest = [&](const Routes& ways) {
    return *std::max_element(leaves.begin(), leaves.end(), [&](int a, int b) {
      return ways.distance[static_cast<std::size_t>(a)] < ways.distance[static_cast<std::size_t>(b)];
    });
  };
  const Routes one = routes_from(farthest(routes_from(leaves.front())));
  const Routes other = routes_from(farthest(one));
  // More than any distance.
  int least = map_->switches();
  std::vector<int> middle;
  for (std::size_t at = 0; at < one.distance.size(); ++at) {
    const int away = std::max(one.distance[at], other.distance[at]);
    if (away < 0 || away > least) continue;
    if (away < least) middle.clear();
    least = away;
    middle.push_back(static_cast<int>(at));
  }
  const auto usable = std::min(middle.size(), static_cast<std::size_t>(trees));
  return middle[static_cast<std::size_t>(leaves.front()) % usable];
}

Tree Fabric::tree_of(std::span<const int> nodes, int trees) {
  Tree tree;
  if (map_ == nullptr) {
    tree.switches.emplace_back();
    for (int member = 0; member < static_cast<int>(nodes.size()); ++member) {
      tree.switches[0].inputs.push_back({true, member});
      tree.of_member.push_back(0);
    }
    return tree;
  }
  look_at_links();
  std::vector<int> leaves;
  std::vector<bool> is_leaf(static_cast<std::size_t>(map_->switches()));
  for (const int node : nodes) {
    const int own = map_->switch_of(node);
    if (!is_leaf[static_cast<std::size_t>(own)]) leaves.push_back(own);
    is_leaf[static_cast<std::size_t>(own)] = true;
  }
  const int root = root_of(leaves, trees);
  // A single leaf is the root itself.
  const Routes ways = leaves.size() == 1 ? Routes() : routes_from(root);
  std::unordered_map<int, int> places;  // switch of the network -> index in the tree
  tree.switches.emplace_back().number = root;
  places[root] = 0;
  for (int member = 0; member < static_cast<int>(nodes.size()); ++member) {
    int at = map_->switch_of(nodes[static_cast<std::size_t>(member)]);
    Tree::Input input{true, member};
    // Climbs until a switch that is already in the tree.
    for (;;) {
      const auto [place, is_new] = places.try_emplace(at, static_cast<int>(tree.switches.size()));
      const int index = place->second;
      if (input.is_member) tree.of_member.push_back(index);
      if (is_new) {
        Tree::Switch& added = tree.switches.emplace_back();
        added.number = at;
        added.first = member;
        added.down = ways.last[static_cast<std::size_t>(at)];
        added.up = opposite(added.down);
      }
      tree.switches[static_cast<std::size_t>(index)].inputs.push_back(input);
      if (!input.is_member) tree.switches[static_cast<std::size_t>(input.index)].parent = index;
      if (!is_new) break;
      input = {false, index};
      at = map_->ends(tree.switches[static_cast<std::size_t>(index)].down).from;
    }
  }
  return tree;
}

}  // namespace offramp::sharp
