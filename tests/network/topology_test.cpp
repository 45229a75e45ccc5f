// Topologies: their sizes and routes, and what is refused.
#include "simulators/network/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "simulators/network/placement.hpp"

namespace offramp::topology_test {
namespace {

using testing::HasSubstr;

class NoLoads final : public LinkLoads {
 public:
  [[nodiscard]] std::int64_t load(std::size_t) const override { return 0; }
};

std::shared_ptr<const Topology> made(const std::string& text, int nodes) {
  auto topology = parse_topology(text, nodes);
  EXPECT_TRUE(topology) << topology.error();
  return *topology;
}

std::vector<std::size_t> way(const Topology& topology, int source, int destination,
                             Routing routing = Routing::kStatic, std::uint64_t draw = 0) {
  std::vector<std::size_t> links;
  topology.route({source, destination, draw}, routing, NoLoads(), links);
  return links;
}

/// "switch 1.0 to switch 2.3": returns both ends.
std::pair<std::string, std::string> ends(const Topology& topology, std::size_t link) {
  const std::string name = topology.link_name(link);
  const std::size_t to = name.find(" to ");
  return {name.substr(0, to), name.substr(to + 4)};
}

TEST(ATopology, IsNullForAStar) {
  EXPECT_EQ(made("star", 100), nullptr);
}

TEST(AFatTree, GrowsWithTheNodes) {
  EXPECT_EQ(made("fat-tree:16", 16)->nodes(), 16);
  EXPECT_EQ(made("fat-tree:16", 17)->nodes(), 32);
  EXPECT_EQ(made("fat-tree:16,16", 1000)->nodes(), 1008);
  EXPECT_EQ(made("fat-tree:2;4,4;1,2;1,2", 16)->nodes(), 16);
}

TEST(AFatTree, HasAsManyLinksUpAsItsOversubscriptionSays) {
  const auto links_of = [](const std::string& text, int nodes) { return made(text, nodes)->links(); };
  EXPECT_EQ(links_of("fat-tree:16", 64), 2U * 64);
  EXPECT_EQ(links_of("fat-tree:16:4", 64), 2U * 16);
  EXPECT_EQ(links_of("fat-tree:4,4,4", 64), 2U * 64 * 2);
  EXPECT_EQ(links_of("fat-tree:2;4,4;1,2;1,2", 16), 2U * 4 * 4);
}

TEST(AFatTree, GoesUpNoFurtherThanItMust) {
  const auto tree = made("fat-tree:4,4,4", 64);
  EXPECT_TRUE(way(*tree, 0, 3).empty());
  EXPECT_EQ(way(*tree, 0, 4).size(), 2U);
  EXPECT_EQ(way(*tree, 0, 16).size(), 4U);
}

/// Each link begins where the one before ends, and the route ends at the destination's switch.
TEST(AFatTree, HasWaysWithoutGaps) {
  for (const char* const text : {"fat-tree:4,4,4", "fat-tree:4,2,3:2", "fat-tree:3;4,3,2;1,2,3;1,2,1"}) {
    const auto tree = made(text, 1);
    for (int source = 0; source < tree->nodes(); ++source) {
      for (int destination = 0; destination < tree->nodes(); ++destination) {
        std::string at = "switch 1." + std::to_string(source / 4);
        for (const std::size_t link : way(*tree, source, destination)) {
          ASSERT_LT(link, tree->links());
          EXPECT_EQ(ends(*tree, link).first, at) << text << ' ' << source << " to " << destination;
          at = ends(*tree, link).second;
        }
        EXPECT_EQ(at, "switch 1." + std::to_string(destination / 4)) << text;
      }
    }
  }
}

/// The known property of D-mod-k.
TEST(AFatTree, GivesEachMessageOfAShiftLinksOfItsOwn) {
  const auto tree = made("fat-tree:4,4,4", 64);
  for (int shift = 1; shift < 64; ++shift) {
    std::map<std::size_t, int> users;
    for (int node = 0; node < 64; ++node) {
      for (const std::size_t link : way(*tree, node, (node + shift) % 64)) ++users[link];
    }
    for (const auto& [link, count] : users) EXPECT_EQ(count, 1) << shift << ' ' << tree->link_name(link);
  }
}

TEST(AFatTree, AdaptsToTheLoad) {
  class Busy final : public LinkLoads {
   public:
    [[nodiscard]] std::int64_t load(std::size_t link) const override { return link == busy ? 5 : 0; }
    std::size_t busy = 0;
  };
  const auto tree = made("fat-tree:4", 16);
  Busy loads;
  loads.busy = way(*tree, 0, 8)[0];
  std::vector<std::size_t> links;
  tree->route({0, 8, 0}, Routing::kAdaptive, loads, links);
  EXPECT_NE(links[0], loads.busy);
  EXPECT_EQ(links.size(), 2U);
}

TEST(ATorus, TakesTheShorterWayAround) {
  const auto torus = made("torus:8x4x2", 64);
  EXPECT_EQ(torus->nodes(), 64);
  EXPECT_EQ(torus->links(), 64U * 6);
  EXPECT_EQ(way(*torus, 0, 3).size(), 3U);
  EXPECT_EQ(way(*torus, 0, 7).size(), 1U);
  EXPECT_EQ(way(*torus, 0, 4).size(), 4U);
  EXPECT_EQ(way(*torus, 0, 4 + 2 * 8 + 32).size(), 4U + 2 + 1);
  EXPECT_EQ(torus->link_name(way(*torus, 0, 7)[0]), "router 0,0,0, dimension 1, down");
}

TEST(ADragonfly, NeedsThreeLinksAtMost) {
  const auto dragonfly = made("dragonfly:9:4:2:2", 72);
  EXPECT_EQ(dragonfly->nodes(), 72);
  std::set<std::size_t> used;
  for (int source = 0; source < 72; ++source) {
    for (int destination = 0; destination < 72; ++destination) {
      const auto links = way(*dragonfly, source, destination);
      EXPECT_LE(links.size(), 3U);
      EXPECT_EQ(links.empty(), source / 2 == destination / 2);
      for (const std::size_t link : links) {
        ASSERT_LT(link, dragonfly->links());
        used.insert(link);
      }
    }
  }
  // All links to other groups, and those within a group except from a router to itself.
  EXPECT_EQ(used.size(), 9U * (4 * 2 + 4 * 3));
}

TEST(ADragonfly, GoesOverAThirdGroupWithValiant) {
  const auto dragonfly = made("dragonfly:9:4:2:2", 72);
  std::set<std::string> over;
  for (std::uint64_t draw = 0; draw < 100; ++draw) {
    const auto links = way(*dragonfly, 0, 70, Routing::kValiant, draw);
    EXPECT_LE(links.size(), 5U);
    for (const std::size_t link : links) {
      const std::string to = ends(*dragonfly, link).second;
      if (to.starts_with("group")) over.insert(to);
    }
  }
  EXPECT_EQ(over.size(), 8U);  // seven groups between, and the destination group
}

TEST(ATopology, IsRefusedWithTheReason) {
  const auto error = [](const std::string& text, int nodes) { return parse_topology(text, nodes).error(); };
  EXPECT_THAT(error("mesh:4", 4), HasSubstr("is not one of star, fat-tree"));
  EXPECT_THAT(error("torus:4x4", 17), HasSubstr("has room for 16 nodes, but there are 17"));
  EXPECT_THAT(error("torus:4xx4", 4), HasSubstr("is not torus:AxBx..."));
  EXPECT_THAT(error("torus:4x0", 4), HasSubstr("is not torus:AxBx..."));
  EXPECT_THAT(error("torus:99999x99999x99999", 4), HasSubstr("is larger than"));
  EXPECT_THAT(error("fat-tree", 4), HasSubstr("is not fat-tree:DOWN"));
  EXPECT_THAT(error("fat-tree:16:3", 4), HasSubstr("not a multiple of 3"));
  EXPECT_THAT(error("fat-tree:2;4,4;2,2;1,1", 4), HasSubstr("more than one link"));
  EXPECT_THAT(error("fat-tree:2;4,4;1,2", 4), HasSubstr("is not fat-tree:LEVELS"));
  EXPECT_THAT(error("fat-tree:2;4;1,2;1,2", 4), HasSubstr("2 numbers"));
  EXPECT_THAT(error("fat-tree:1000000,1000000", 4), HasSubstr("is larger than"));
  EXPECT_THAT(error("fat-tree:2;4,4;1,1000000;1,1000000", 4), HasSubstr("is larger than"));
  EXPECT_THAT(error("dragonfly:9:4:2", 4), HasSubstr("is not dragonfly"));
  EXPECT_THAT(error("dragonfly:9:2:2:2", 4), HasSubstr("4 global links per group, but 8 other groups"));
  EXPECT_THAT(error("dragonfly:1000000:1000000:1:1", 4), HasSubstr("is larger than"));
}

TEST(Places, AreDifferentNodes) {
  for (const char* const text : {"order", "scattered", "random", "random:7", "list:9,8,7,6,5,4,3,2,1,0,10"}) {
    auto places = place_nodes(text, 10, 16);
    ASSERT_TRUE(places) << places.error();
    EXPECT_EQ(std::set<int>(places->begin(), places->end()).size(), 10U) << text;
    for (const int place : *places) EXPECT_TRUE(place >= 0 && place < 16) << text;
  }
  EXPECT_NE(*place_nodes("random:1", 10, 16), *place_nodes("random:2", 10, 16));
  EXPECT_EQ(*place_nodes("random:1", 10, 16), *place_nodes("random:1", 10, 16));
  EXPECT_EQ(*place_nodes("order", 3, 16), (std::vector<int>{0, 1, 2}));
}

TEST(Places, AreRefusedWithTheReason) {
  EXPECT_THAT(place_nodes("near", 2, 4).error(), HasSubstr("is not one of order"));
  EXPECT_THAT(place_nodes("random:x", 2, 4).error(), HasSubstr("is not one of order"));
  EXPECT_THAT(place_nodes("list:0,4", 2, 4).error(), HasSubstr("\"4\" is not a node from 0 to 3"));
  EXPECT_THAT(place_nodes("list:1,1", 2, 4).error(), HasSubstr("node 1 occurs twice"));
  EXPECT_THAT(place_nodes("list:1", 2, 4).error(), HasSubstr("has 1 nodes, but 2 are needed"));
}

}  // namespace
}  // namespace offramp::topology_test
