// A network under a world: what ranks see of it, over backends whose messages pass it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/core/registry.hpp"
#include "lib/core/world_setting.hpp"

namespace offramp {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Played {
  Time end;
  std::string problem;
  std::vector<std::string> violations;
  std::vector<LinkUse> links;
};

Played played(const char* backend, const std::string& topology, int ranks, const World::Program& program,
              int ranks_per_node = 1, std::uint64_t shuffle = 0) {
  const Registry registry{built_in_backends()};
  Configuration configuration;
  configuration.network.topology = topology;
  configuration.ranks_per_node = ranks_per_node;
  auto setting = world_setting(configuration, registry, *registry.find(backend));
  EXPECT_TRUE(setting) << setting.error();
  (*setting).check = true;
  WorldOptions options;
  options.shuffle_seed = shuffle;
  auto world = make_world(*setting, ranks, options);
  if (!world) return {{}, world.error(), {}, {}};
  const std::string stuck = (*world)->run(program);
  return {(*world)->end(), (*world)->declined().empty() ? stuck : (*world)->declined(),
          (*world)->violations(), (*world)->links()};
}

Task<void> everything(RankHandle& rank) {
  const int ranks = rank.size();
  (void)co_await rank.bcast(100000, 0);
  (void)co_await rank.allreduce(65536);
  (void)co_await rank.alltoall(4096);
  (void)co_await rank.gather(8, 1);
  (void)co_await rank.sendrecv((rank.rank() + 1) % ranks, 300000, (rank.rank() + ranks - 1) % ranks, 300000);
  (void)co_await rank.barrier();
}

class Backends : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Over, Backends, testing::Values("host", "zrlmpi"),
                         [](const auto& backend) { return std::string(backend.param); });

TEST_P(Backends, KeepTheirInvariantsOnEveryTopologyAndInEveryOrder) {
  const Time star = played(GetParam(), "star", 16, everything).end;
  for (const char* const topology : {"fat-tree:4", "fat-tree:4:4", "torus:4x4", "dragonfly:4:2:2:2"}) {
    const Played one = played(GetParam(), topology, 16, everything);
    EXPECT_EQ(one.problem, "");
    EXPECT_THAT(one.violations, IsEmpty()) << topology;
    EXPECT_GT(one.end, star) << topology;
    EXPECT_FALSE(one.links.empty());
    EXPECT_EQ(played(GetParam(), topology, 16, everything, 1, 7).end, one.end) << topology;
  }
}

TEST_P(Backends, SeeNoDifferenceBehindOneSwitch) {
  EXPECT_EQ(played(GetParam(), "fat-tree:16:4", 16, everything).end,
            played(GetParam(), "star", 16, everything).end);
}

TEST(Host, TakesTheTimeOfAnOversubscribedTree) {
  constexpr std::size_t kBytes = 1 << 20;
  const auto shift = [](RankHandle& rank) -> Task<void> {
    (void)co_await rank.sendrecv((rank.rank() + 8) % 16, kBytes, (rank.rank() + 8) % 16, kBytes);
  };
  const Time star = played("host", "star", 16, shift).end;
  const Time full = played("host", "fat-tree:8", 16, shift).end;
  const Time quarter = played("host", "fat-tree:8:4", 16, shift).end;
  const Time message = Bandwidth::gigabits_per_second(100).bytes(kBytes);
  // Handshake and data take the longer way.
  EXPECT_EQ(full, star + 3 * 2 * Time::ns(150));
  EXPECT_GE(quarter, full + 3 * message);
  EXPECT_LE(quarter, full + 3 * message + Time::us(4));
}

TEST(Host, HasNodesOnTheNetworkAndNotRanks) {
  const auto pairs = [](RankHandle& rank) -> Task<void> {
    const int peer = rank.rank() ^ 1;
    (void)co_await rank.sendrecv(peer, 1 << 20, peer, 1 << 20);
  };
  EXPECT_THAT(played("host", "torus:4x2", 16, pairs, 2).links, IsEmpty());
  EXPECT_FALSE(played("host", "torus:4x4", 16, pairs, 1).links.empty());
}

TEST(AWorld, HasNoRoomForMoreNodesThanItsNetwork) {
  EXPECT_THAT(played("host", "torus:2x2", 16, everything).problem,
              HasSubstr("has room for 4 nodes, and there are 16"));
  EXPECT_EQ(played("host", "torus:2x2", 16, everything, 4).problem, "");
}

TEST(ABackendWithWiresOfItsOwn, SaysSo) {
  EXPECT_THAT(played("tinsel", "torus:4x4", 16, everything).problem,
              HasSubstr("tinsel has wires of its own"));
}

}  // namespace
}  // namespace offramp
