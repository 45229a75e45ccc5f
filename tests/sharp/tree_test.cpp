// Aggregation trees over the topologies of the network.
#include "simulators/sharp/tree.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <set>

#include "tests/sharp/support.hpp"

namespace offramp::sharp {
namespace {

std::shared_ptr<const SwitchMap> map_of(const std::string& topology, int nodes,
                                        const std::string& placement = "order") {
  test::Scene setup;
  setup.topology = topology;
  setup.placement = placement;
  return switches_of(test::network_of(setup), nodes, {});
}

std::vector<int> all_of(int nodes) {
  std::vector<int> all(static_cast<std::size_t>(nodes));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// A tree: each member and each switch below the root is an input of exactly one switch, at the other end of
/// its cable; inputs are in the order of the lowest member below them.
void expect_tree(const Tree& tree, const SwitchMap& map, std::span<const int> nodes) {
  std::set<int> members;
  std::set<int> below;
  std::set<int> numbers;
  for (std::size_t i = 0; i < tree.switches.size(); ++i) {
    const Tree::Switch& one = tree.switches[i];
    EXPECT_TRUE(numbers.insert(one.number).second);
    int before = -1;
    for (const Tree::Input& input : one.inputs) {
      const int lowest =
          input.is_member ? input.index : tree.switches[static_cast<std::size_t>(input.index)].first;
      EXPECT_GT(lowest, before);
      before = lowest;
      if (input.is_member) {
        EXPECT_TRUE(members.insert(input.index).second);
        EXPECT_EQ(tree.of_member[static_cast<std::size_t>(input.index)], static_cast<int>(i));
        EXPECT_EQ(map.switch_of(nodes[static_cast<std::size_t>(input.index)]), one.number);
        continue;
      }
      EXPECT_TRUE(below.insert(input.index).second);
      const Tree::Switch& child = tree.switches[static_cast<std::size_t>(input.index)];
      EXPECT_EQ(child.parent, static_cast<int>(i));
      EXPECT_EQ(map.ends(child.up).from, child.number);
      EXPECT_EQ(map.ends(child.up).to, one.number);
      EXPECT_EQ(map.ends(child.down).from, one.number);
      EXPECT_EQ(map.ends(child.down).to, child.number);
    }
    ASSERT_FALSE(one.inputs.empty());
    EXPECT_EQ(one.first, one.inputs.front().is_member
                             ? one.inputs.front().index
                             : tree.switches[static_cast<std::size_t>(one.inputs.front().index)].first);
  }
  EXPECT_EQ(members.size(), nodes.size());
  EXPECT_EQ(below.size() + 1, tree.switches.size());
  EXPECT_EQ(tree.root().parent, -1);
}

TEST(AggregationTree, WithOneSwitchHasAllNodes) {
  Fabric fabric(nullptr);
  const Tree tree = fabric.tree_of(all_of(5), 126);
  ASSERT_EQ(tree.switches.size(), 1U);
  EXPECT_EQ(tree.root().inputs.size(), 5U);
  EXPECT_EQ(tree.levels(), 1);
}

TEST(AggregationTree, HasTheLeavesOfAFatTreeBelowOneSpine) {
  const auto map = map_of("fat-tree:8", 64);
  Fabric fabric(map);
  const Tree tree = fabric.tree_of(all_of(64), 126);
  expect_tree(tree, *map, all_of(64));
  EXPECT_EQ(tree.switches.size(), 9U);
  EXPECT_EQ(tree.levels(), 2);
  EXPECT_EQ(tree.root().inputs.size(), 8U);
}

TEST(AggregationTree, IsOneSwitchIfAllNodesAreBehindIt) {
  Fabric fabric(map_of("fat-tree:8", 64));
  const std::vector<int> nodes = {16, 18, 23};
  const Tree tree = fabric.tree_of(nodes, 126);
  ASSERT_EQ(tree.switches.size(), 1U);
  EXPECT_EQ(tree.root().number, 2);
}

TEST(AggregationTree, CommunicatorsAreSpreadOverTheRoots) {
  Fabric fabric(map_of("fat-tree:8", 64));
  const std::vector<int> first = {0, 8, 16};
  const std::vector<int> second = {24, 32, 40};
  EXPECT_NE(fabric.tree_of(first, 126).root().number, fabric.tree_of(second, 126).root().number);
  EXPECT_EQ(fabric.tree_of(first, 1).root().number, fabric.tree_of(second, 1).root().number);
}

TEST(AggregationTree, HoldsOnEveryTopologyForEveryChoiceOfNodes) {
  std::mt19937 random(5);
  struct Case {
    const char* topology;
    int nodes;
    int most_levels;
  };
  for (const Case& one :
       {Case{"fat-tree:4", 32, 2}, Case{"fat-tree:4,4", 64, 3}, Case{"fat-tree:2;4,4;1,2;1,2", 16, 2},
        Case{"fat-tree:8:4", 64, 2}, Case{"torus:4x4x2", 32, 6}, Case{"dragonfly:5:4:2:1", 40, 4},
        Case{"dragonfly:4:2:2:2", 16, 4}}) {
    for (const char* const placement : {"order", "random:3"}) {
      const auto map = map_of(one.topology, one.nodes, placement);
      ASSERT_NE(map, nullptr) << one.topology;
      Fabric fabric(map);
      for (int trial = 0; trial < 20; ++trial) {
        std::vector<int> nodes = all_of(one.nodes);
        std::shuffle(nodes.begin(), nodes.end(), random);
        nodes.resize(1 + random() % nodes.size());
        const Tree tree = fabric.tree_of(nodes, 126);
        expect_tree(tree, *map, nodes);
        EXPECT_LE(tree.levels(), one.most_levels) << one.topology;
      }
    }
  }
}

/// The opposite direction of each cable is a link, too, and the links of a route are contiguous.
TEST(Switches, AreAtTheEndsOfTheLinksOfEachRoute) {
  for (const char* const topology : {"fat-tree:4", "fat-tree:4,4", "fat-tree:2;4,4;1,2;1,2", "torus:4x3x2",
                                     "dragonfly:5:4:2:1", "dragonfly:3:2:2:3"}) {
    const auto parsed = parse_topology(topology, 8);
    ASSERT_TRUE(parsed) << topology;
    const Topology& network = **parsed;
    const struct : LinkLoads {
      [[nodiscard]] std::int64_t load(std::size_t) const override { return 0; }
    } idle;
    for (int from = 0; from < network.nodes(); ++from) {
      for (int to = 0; to < network.nodes(); ++to) {
        if (from == to) continue;
        std::vector<std::size_t> links;
        ASSERT_TRUE(network.route({from, to, 0}, Routing::kStatic, idle, links));
        int at = network.switch_of(from);
        for (const std::size_t link : links) {
          EXPECT_EQ(network.ends(link).from, at) << topology << " " << from << " to " << to;
          at = network.ends(link).to;
        }
        EXPECT_EQ(at, network.switch_of(to)) << topology << " " << from << " to " << to;
      }
    }
  }
}

TEST(Switches, AreUnknownInAPlatformFile) {
  test::Scene setup;
  Operation operation = test::operation_of(OperationKind::kAllreduce, 4, 8);
  class Unknown final : public SwitchMap {
   public:
    [[nodiscard]] int switches() const override { return 0; }
    [[nodiscard]] int switch_of(int) const override { return 0; }
    [[nodiscard]] std::size_t links() const override { return 0; }
    [[nodiscard]] Ends ends(std::size_t) const override { return {}; }
  };
  MachineLayout machine;
  machine.switches = std::make_shared<Unknown>();
  const Settings settings = test::settings_with({});
  const auto backend = sharp_backend().create({0, 4, settings, {}, nullptr, nullptr, machine});
  EXPECT_EQ(backend->supports(operation).reason, "the platform file does not describe switches");
}

}  // namespace
}  // namespace offramp::sharp
