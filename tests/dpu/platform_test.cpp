// Places and names: the formulas of [dpu-service] and of [dpu-service-src] on worked examples.
#include "simulators/dpu/platform.hpp"

#include <gtest/gtest.h>

namespace offramp::dpu {
namespace {

TEST(DpuPlacement, FollowsTheWorkedTraceOfTwoHostsWithTwoServiceProcesses) {
  const Placement placement{4, 2};
  EXPECT_EQ(placement.nodes(8), 2);
  const int expected[] = {0, 1, 0, 1, 2, 3, 2, 3};
  for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(placement.global_id(rank), expected[rank]) << rank;
  EXPECT_EQ(Placement::host_slot(4), 4);
  for (int id = 0; id < 4; ++id) {
    EXPECT_EQ(Placement::inbound(id), id);
    EXPECT_EQ(Placement::outbound(id, 4), 3 - id);
    EXPECT_EQ(placement.expected_ranks(4, id % 2), 2);
  }
  EXPECT_EQ(placement.node(6), 1);
}

TEST(DpuPlacement, OnThirtyTwoHostsGivesFourRanksToEachProcess) {
  const Placement placement{16, 4};
  EXPECT_EQ(placement.nodes(512), 32);
  std::vector<int> ranks(128);
  for (int rank = 0; rank < 512; ++rank) {
    const int host = rank / 16;
    EXPECT_EQ(placement.global_id(rank), 4 * host + rank % 4);
    ++ranks[static_cast<std::size_t>(placement.global_id(rank))];
  }
  for (const int count : ranks) EXPECT_EQ(count, 4);
}

TEST(DpuPlacement, HandsOutRanksThatDoNotDivide) {
  const Placement placement{40, 3};
  EXPECT_EQ(placement.expected_ranks(40, 0), 14);
  EXPECT_EQ(placement.expected_ranks(40, 1), 13);
  EXPECT_EQ(placement.expected_ranks(40, 2), 13);
  EXPECT_EQ(placement.local_id(7), 1);
  std::vector<int> counts(3);
  for (int rank = 0; rank < 40; ++rank) ++counts[static_cast<std::size_t>(placement.local_id(rank))];
  for (int id = 0; id < 3; ++id)
    EXPECT_EQ(counts[static_cast<std::size_t>(id)], placement.expected_ranks(40, id));
}

TEST(DpuPlacement, FillsTheFirstDpuOfAHostBeforeTheNext) {
  const Placement placement{6, 2, 2};  // two DPUs of two service processes per host
  EXPECT_EQ(placement.per_node(), 4);
  const int expected[] = {0, 1, 2, 3, 0, 1, 4, 5, 6, 7, 4, 5};
  const int dpus[] = {0, 0, 1, 1, 0, 0, 2, 2, 3, 3, 2, 2};
  const int local[] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  for (int rank = 0; rank < 12; ++rank) {
    EXPECT_EQ(placement.global_id(rank), expected[rank]) << rank;
    EXPECT_EQ(placement.dpu(rank), dpus[rank]) << rank;
    EXPECT_EQ(placement.local_id(rank), local[rank]) << rank;
    EXPECT_EQ(placement.global_id(rank) % placement.processes, placement.local_id(rank)) << rank;
    EXPECT_EQ(placement.node_of_process(placement.global_id(rank)), rank / 6) << rank;
  }
  int all = 0;
  for (int which = 0; which < placement.per_node(); ++which) all += placement.expected_ranks(6, which);
  EXPECT_EQ(all, 6);
  EXPECT_EQ(placement.expected_ranks(6, 1), 2);
  EXPECT_EQ(placement.expected_ranks(6, 2), 1);
}

TEST(DpuPlacement, TheSlotOfTheHostIsBehindAllServiceProcesses) {
  EXPECT_EQ(Placement::host_slot(8 * 8), 64);
}

}  // namespace
}  // namespace offramp::dpu
