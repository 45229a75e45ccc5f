// The endpoint cache: population, broadcast, lookups, revocation and incarnations.
#include "simulators/dpu_protocol/endpoint_cache.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace offramp::dpu {
namespace {

GroupDescription world_of(int ranks, std::uint32_t incarnation = 1) {
  GroupDescription group;
  group.world_ranks.resize(static_cast<std::size_t>(ranks));
  std::iota(group.world_ranks.begin(), group.world_ranks.end(), 0);
  group.uid = group_uid(0, group.world_ranks);
  group.incarnation = incarnation;
  return group;
}

/// All service processes of a platform, connected by direct delivery.
struct Service {
  Service(const Placement& placement, int ranks) {
    const int processes = placement.nodes(ranks) * placement.processes;
    for (int id = 0; id < processes; ++id) caches.emplace_back(placement, id, processes);
  }

  void add(const GroupDescription& group) {
    for (std::size_t id = 0; id < caches.size(); ++id) {
      const std::vector<int> own = caches[id].own_ranks(group);
      for (const int rank : own) {
        const CacheActions actions = caches[id].add_rank(group, rank);
        EXPECT_FALSE(actions.refused);
        if (actions.entries_to_processes == 0) continue;
        messages += actions.entries_to_processes;
        for (std::size_t other = 0; other < caches.size(); ++other) {
          if (other == id) continue;
          EXPECT_FALSE(caches[other].add_entries(group, own).refused);
        }
      }
    }
  }
  void revoke(const GroupDescription& group) {
    for (int rank = 0; rank < static_cast<int>(group.world_ranks.size()); ++rank) {
      for (EndpointCache& cache : caches)
        EXPECT_FALSE(cache.revoke_entry(group.uid, group.incarnation, rank).refused);
    }
  }

  std::vector<EndpointCache> caches;
  int messages = 0;
};

TEST(DpuEndpointCache, IsPopulatedAsInTheWorkedTrace) {
  Service service({4, 2}, 8);
  const GroupDescription world = world_of(8);
  EXPECT_FALSE(service.caches[0].populated(world.uid));
  service.add(world);
  EXPECT_EQ(service.messages, 24);  // each of 4 sends 2 messages to each of 3
  for (const EndpointCache& cache : service.caches) {
    ASSERT_TRUE(cache.populated(world.uid));
    EXPECT_EQ(cache.process_of(world.uid, 5), 3);
    EXPECT_TRUE(cache.on_same_node(world.uid, 0, 3));
    EXPECT_TRUE(cache.on_same_process(world.uid, 0, 2));
    EXPECT_FALSE(cache.on_same_process(world.uid, 0, 1));
    EXPECT_EQ(cache.node_of(world.uid, 6), 1);
    EXPECT_EQ(cache.processes_of_group(world.uid), (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(cache.ranks_of_process(world.uid, 3), (std::vector<int>{5, 7}));
    EXPECT_EQ(cache.ranks_on_node(world.uid, 1), (std::vector<int>{4, 5, 6, 7}));
  }
}

// The conformance test of the service: 32 hosts, 4 service processes each. Each of the 128 service processes
// has 16 ranks, 2048 in all.
TEST(DpuEndpointCache, HoldsTwoThousandRanks) {
  const Placement placement{64, 4};
  const GroupDescription world = world_of(2048);
  EndpointCache cache(placement, 0, 128);
  std::vector<int> all(2048);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_TRUE(cache.add_entries(world, all).populated);
  EXPECT_EQ(cache.processes_of_group(world.uid).size(), 128U);
  EXPECT_EQ(cache.nodes_of_group(world.uid).size(), 32U);
  for (int rank = 0; rank < 2048; ++rank)
    EXPECT_EQ(cache.process_of(world.uid, rank), 4 * (rank / 64) + rank % 4);
  for (int process = 0; process < 128; ++process)
    EXPECT_EQ(cache.ranks_of_process(world.uid, process).size(), 16U);
  EXPECT_FALSE(cache.on_same_process(world.uid, 0, 1));
  EXPECT_TRUE(cache.on_same_process(world.uid, 0, 4));
}

TEST(DpuEndpointCache, KnowsOnlyTheMembersOfAGroupThatSkipsRanks) {
  Service service({4, 2}, 8);
  GroupDescription group;
  group.world_ranks = {7, 1, 4};
  group.uid = group_uid(3, group.world_ranks);
  service.add(group);
  for (const EndpointCache& cache : service.caches) {
    ASSERT_TRUE(cache.populated(group.uid));
    EXPECT_EQ(cache.process_of(group.uid, 0), 3);
    EXPECT_EQ(cache.process_of(group.uid, 3), -1);
    EXPECT_EQ(cache.processes_of_group(group.uid), (std::vector<int>{1, 2, 3}));
  }
}

TEST(DpuEndpointCache, ARevokedGroupComesBackInItsNextIncarnation) {
  Service service({4, 2}, 8);
  for (std::uint32_t incarnation = 1; incarnation <= 3; ++incarnation) {
    const GroupDescription world = world_of(8, incarnation);
    service.add(world);
    for (const EndpointCache& cache : service.caches) EXPECT_EQ(cache.incarnation(world.uid), incarnation);
    service.revoke(world);
    for (const EndpointCache& cache : service.caches) EXPECT_FALSE(cache.incarnation(world.uid));
  }
}

TEST(DpuEndpointCache, AnAddDuringARevocationWaitsForItsEnd) {
  EndpointCache cache({2, 1}, 0, 1);
  const GroupDescription first = world_of(2, 1);
  const GroupDescription second = world_of(2, 2);
  cache.add_rank(first, 0);
  cache.add_rank(first, 1);
  EXPECT_FALSE(cache.revoke_entry(first.uid, 1, 0).revoked);
  EXPECT_FALSE(cache.add_rank(second, 0).refused);
  EXPECT_EQ(cache.incarnation(first.uid), 1U);
  EXPECT_TRUE(cache.revoke_entry(first.uid, 1, 1).revoked);
  EXPECT_EQ(cache.incarnation(first.uid), 2U);
  EXPECT_FALSE(cache.populated(first.uid));
  EXPECT_TRUE(cache.add_rank(second, 1).populated);
}

TEST(DpuEndpointCache, RefusesEntriesOutsideAGroup) {
  EndpointCache cache({4, 2}, 0, 2);
  const GroupDescription world = world_of(4);
  EXPECT_TRUE(cache.add_rank(world, 1).refused);  // of the other service process
  EXPECT_TRUE(cache.add_rank(world, 9).refused);
  EXPECT_TRUE(cache.add_rank(world, -1).refused);
  EXPECT_FALSE(cache.add_rank(world, 0).refused);
  EXPECT_TRUE(cache.add_rank(world, 0).refused);  // twice
  GroupDescription collision = world;
  collision.world_ranks = {3, 2};  // another group with the same hash
  EXPECT_TRUE(cache.add_entries(collision, std::vector<int>{0}).refused);
  EXPECT_TRUE(cache.revoke_entry(world.uid, 2, 0).refused);
  EXPECT_TRUE(cache.revoke_entry(world.uid + 1, 1, 0).refused);
  EXPECT_TRUE(cache.revoke_entry(world.uid, 1, 77).refused);
}

TEST(DpuEndpointCache, HashesOfSmallGroupsDoNotCollide) {
  std::set<GroupUid> seen;
  for (std::uint32_t communicator = 0; communicator < 50; ++communicator) {
    for (int first = 0; first < 20; ++first) {
      for (int size = 1; size < 20; ++size) {
        std::vector<int> ranks(static_cast<std::size_t>(size));
        std::iota(ranks.begin(), ranks.end(), first);
        EXPECT_TRUE(seen.insert(group_uid(communicator, ranks)).second);
      }
    }
  }
}

}  // namespace
}  // namespace offramp::dpu
