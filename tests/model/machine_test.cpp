// Which ranks share which resources of a machine, in worlds and in backends.
#include "offramp/model/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "backends/cclo/cclo.hpp"
#include "backends/dpu/dpu.hpp"
#include "backends/host/host.hpp"
#include "lib/base/registry/registry.hpp"
#include "simulators/world/world.hpp"

namespace offramp::machine_test {
namespace {

constexpr std::size_t kMebibyte = 1 << 20;

template <typename Of>
std::vector<int> of_ranks(int ranks, Of of) {
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(of(rank));
  return all;
}

TEST(AMachine, HasOneRankPerNodeByDefault) {
  const MachineLayout machine;
  for (int rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(machine.node(rank), rank);
    EXPECT_EQ(machine.socket(rank), rank);
    EXPECT_EQ(machine.card(rank), rank);
    EXPECT_EQ(machine.link(rank), rank);
  }
  EXPECT_EQ(machine.nodes(5), 5);
  EXPECT_EQ(machine.ranks_per_card(), 1);
}

TEST(AMachine, PutsRanksBlockByBlockAndDealsCardsAndLinks) {
  const MachineLayout machine{8, 2, 2, 2};
  EXPECT_EQ(of_ranks(10, [&](int r) { return machine.node(r); }),
            (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(of_ranks(10, [&](int r) { return machine.socket(r); }),
            (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2}));
  EXPECT_EQ(of_ranks(10, [&](int r) { return machine.card(r); }),
            (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1, 2, 3}));
  EXPECT_EQ(of_ranks(10, [&](int r) { return machine.link(r); }),
            (std::vector<int>{0, 2, 1, 3, 0, 2, 1, 3, 4, 6}));
  EXPECT_EQ(machine.nodes(10), 2);
  EXPECT_EQ(machine.ranks_per_card(), 4);
  EXPECT_TRUE(machine.on_one_node(0, 7));
  EXPECT_FALSE(machine.on_one_node(7, 8));
}

TEST(AMachine, StaysWithinItsCardsAndLinks) {
  for (const int per_node : {1, 2, 3, 7, 16}) {
    for (const int cards : {1, 2, 3}) {
      for (const int links : {1, 2}) {
        const MachineLayout machine{per_node, 2, cards, links};
        const int ranks = 5 * per_node - per_node / 2;
        std::map<int, std::set<int>> nodes_of_cards;
        std::map<int, std::set<int>> cards_of_links;
        std::map<int, int> ranks_of_cards;
        for (int rank = 0; rank < ranks; ++rank) {
          nodes_of_cards[machine.card(rank)].insert(machine.node(rank));
          cards_of_links[machine.link(rank)].insert(machine.card(rank));
          ++ranks_of_cards[machine.card(rank)];
          EXPECT_LT(machine.card(rank), machine.nodes(ranks) * cards);
          EXPECT_LT(machine.link(rank), machine.nodes(ranks) * cards * links);
          EXPECT_LT(machine.socket(rank), machine.nodes(ranks) * 2);
        }
        for (const auto& [card, nodes] : nodes_of_cards) EXPECT_EQ(nodes.size(), 1U);
        for (const auto& [link, its] : cards_of_links) EXPECT_EQ(its.size(), 1U);
        for (const auto& [card, sharers] : ranks_of_cards) EXPECT_LE(sharers, machine.ranks_per_card());
      }
    }
  }
}

/// Each rank of the first node sends a mebibyte to a rank of the second one.
double microseconds_of_a_shift(const BackendDescription& backend, const MachineLayout& machine,
                               const Settings& settings) {
  WorldOptions options;
  const int half = machine.ranks_per_node;
  options.ranks = 2 * half;
  options.machine = machine;
  options.check = true;
  World world(options, WorldBackend(backend, settings));
  EXPECT_EQ(world.run([half](RankHandle& rank) -> Task<void> {
    if (rank.rank() < half) {
      (void)co_await rank.send(rank.rank() + half, kMebibyte);
    } else {
      (void)co_await rank.receive(rank.rank() - half, kMebibyte);
    }
  }),
            "");
  EXPECT_EQ(world.violations(), std::vector<std::string>());
  return world.end().seconds() * 1e6;
}

double microseconds_of_a_shift(const BackendDescription& backend, const MachineLayout& machine) {
  return microseconds_of_a_shift(backend, machine, Settings::defaults(backend.parameters));
}

/// The time of all ranks' mebibytes over a node's way out.
double bound_of(const BackendDescription& backend, const MachineLayout& machine) {
  const Deployment deployment = backend.deployment(Settings::defaults(backend.parameters), machine, 2);
  return machine.ranks_per_node * static_cast<double>(kMebibyte) * 8e6 /
         static_cast<double>(deployment.node_bits_per_second);
}

TEST(ANode, SharesItsCardsAndTheirLinks) {
  for (const BackendDescription* backend : {&host_backend(), &dpu_backend(), &cclo_backend()}) {
    SCOPED_TRACE(backend->name);
    const double one = microseconds_of_a_shift(*backend, {8, 1, 1, 1});
    const double two = microseconds_of_a_shift(*backend, {8, 1, 2, 1});
    const double all = microseconds_of_a_shift(*backend, {8, 1, 8, 1});
    EXPECT_GE(one, bound_of(*backend, {8, 1, 1, 1}));
    EXPECT_GE(two, bound_of(*backend, {8, 1, 2, 1}));
    EXPECT_GE(all, bound_of(*backend, {8, 1, 8, 1}));
    EXPECT_LT(two, 0.75 * one);
    EXPECT_LT(all, two);
  }
}

TEST(ACard, SharesItsLinks) {
  for (const BackendDescription* backend : {&host_backend(), &dpu_backend()}) {
    SCOPED_TRACE(backend->name);
    Settings settings = Settings::defaults(backend->parameters);
    if (backend->name == "dpu") settings.set("pcie", {10000, {}});  // the link is the only limit
    const double one = microseconds_of_a_shift(*backend, {4, 1, 1, 1}, settings);
    const double two = microseconds_of_a_shift(*backend, {4, 1, 1, 2}, settings);
    EXPECT_GE(two, bound_of(*backend, {4, 1, 1, 2}));
    EXPECT_LT(two, 0.8 * one);
  }
  // An FPGA has one port.
  EXPECT_EQ(microseconds_of_a_shift(cclo_backend(), {4, 1, 1, 1}),
            microseconds_of_a_shift(cclo_backend(), {4, 1, 1, 2}));
}

TEST(ASocket, HasItsPartOfTheNodesMemory) {
  const auto within = [](int sockets) {
    WorldOptions options;
    options.ranks = 8;
    options.machine = {8, sockets, 1, 1};
    Settings settings = Settings::defaults(host_backend().parameters);
    settings.set("memory_bandwidth", {80, {}});
    World world(options, WorldBackend(host_backend(), settings));
    // All receiving ranks are on the first socket.
    EXPECT_EQ(world.run([](RankHandle& rank) -> Task<void> {
      if (rank.rank() >= 4) {
        (void)co_await rank.send(rank.rank() - 4, 8 * kMebibyte);
      } else {
        (void)co_await rank.receive(rank.rank() + 4, 8 * kMebibyte);
      }
    }),
              "");
    return world.end();
  };
  EXPECT_GT(within(8), within(1));
}

TEST(HardwareThatStandsOnNodes, SaysOnWhich) {
  const auto text = [](const BackendDescription& backend, const MachineLayout& machine, int ranks) {
    return backend.deployment(Settings::defaults(backend.parameters), machine, ranks).text;
  };
  EXPECT_EQ(text(host_backend(), {}, 4),
            "4 nodes of 1 rank, each with 1 NIC of 100 Gb/s, and chooses algorithms as Open MPI does");
  EXPECT_EQ(text(host_backend(), {16, 2, 2, 2}, 16),
            "1 node of 16 ranks, with 2 NICs of 2 links of 100 Gb/s, memory of 24 GB/s (processor = any: 21 "
            "to 90), "
            "and chooses algorithms as Open MPI does");
  EXPECT_EQ(text(dpu_backend(), {16, 1, 1, 1}, 64), "4 nodes of 16 ranks, each with 1 DPU of 200 Gb/s");
  EXPECT_EQ(text(cclo_backend(), {16, 1, 2, 2}, 64),
            "4 nodes of 16 ranks, each with 2 FPGAs of 100 Gb/s, 8 engines on each, called through XRT");
  for (const BackendDescription* backend : built_in_backends()) {
    ASSERT_NE(backend->deployment, nullptr) << backend->name;
    const Deployment deployment =
        backend->deployment(Settings::defaults(backend->parameters), {16, 1, 1, 1}, 64);
    EXPECT_NE(deployment.text, "");
    const bool on_nodes = backend->name == "host" || backend->name == "dpu" || backend->name == "cclo" ||
                          backend->name == "sharp";
    EXPECT_EQ(deployment.node_bits_per_second > 0, on_nodes) << backend->name;
  }
}

}  // namespace
}  // namespace offramp::machine_test
