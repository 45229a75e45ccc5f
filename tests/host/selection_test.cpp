// How the host's algorithms are chosen: as Open MPI does, as MPICH does, or by the model, which takes the
// fastest.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/host/trial.hpp"

namespace offramp {
namespace {

using test::chosen;
using test::forecast_of;
using test::host_settings;
using test::kKi;
using test::kMi;

Settings by(std::string selection) {
  return host_settings({{"collectives", {0, std::move(selection)}}});
}

TEST(HostSelection, ChoosesAsMpichDoes) {
  using enum OperationKind;
  const test::Choice choices[] = {
      {kBcast, 4, kMi, "binomial"},
      {kBcast, 16, 12 * kKi, "binomial"},
      {kBcast, 16, 12 * kKi + 1, "scatter_allgather"},
      {kBcast, 12, 12 * kKi + 1, "scatter_allgather_ring"},
      {kBcast, 16, 512 * kKi + 1, "scatter_allgather_ring"},
      {kAllreduce, 16, 8, "recursive_doubling"},
      {kAllreduce, 16, 16, "rabenseifner"},
      {kReduce, 16, 2 * kKi, "binomial"},
      {kReduce, 16, 2 * kKi + 4, "rabenseifner"},
      {kAllgather, 16, 32 * kKi - 1, "recursive_doubling"},
      {kAllgather, 16, 32 * kKi, "ring"},
      {kAllgather, 10, 8 * kKi - 1, "bruck"},
      {kAllgather, 10, 8 * kKi, "ring"},
      {kAllgatherv, 10, 8 * kKi, "ring"},
      {kReduceScatter, 8, 64 * kKi - 1, "recursive_halving"},
      {kReduceScatter, 8, 64 * kKi, "pairwise"},
      {kReduceScatter, 8, 64 * kKi, "recursive_doubling", false},
      {kAlltoall, 7, 8, "linear"},
      {kAlltoall, 8, 256, "modified_bruck"},
      {kAlltoall, 8, 257, "linear"},
      {kAlltoall, 8, 32 * kKi + 1, "pairwise"},
      {kGather, 8, kMi, "binomial"},
      {kScatter, 8, kMi, "binomial"},
      {kScan, 8, 8, "recursive_doubling"},
      {kBarrier, 8, 0, "bruck"},
      {kBarrier, 8, 0, "han", true, host::Nodes::kSeveral},
  };
  for (const test::Choice& choice : choices)
    EXPECT_EQ(chosen(choice, by("mpich")), choice.algorithm)
        << to_string(choice.kind) << " of " << choice.bytes << " on " << choice.ranks;
}

TEST(HostSelection, ChoosesAsReleasesOfOpenMpiDo) {
  using enum OperationKind;
  const test::Choice old[] = {
      {kBcast, 64, 2047, "binomial"},
      {kBcast, 64, 2048, "split_binary_tree"},
      {kBcast, 64, kMi, "pipeline"},
      {kReduce, 64, 2047, "binomial"},
      {kReduce, 64, kMi, "pipeline"},
      {kReduce, 64, kMi, "in-order_binary", false},
      {kAllreduce, 64, 9999, "recursive_doubling"},
      {kAllreduce, 64, 10000, "ring"},
      {kAllreduce, 64, 10000, "nonoverlapping", false},
      {kAllreduce, 2, 2 * kMi + 1, "segmented_ring"},
      {kAlltoall, 64, 199, "modified_bruck"},
      {kAlltoall, 12, 199, "linear"},
      {kAlltoall, 64, 2999, "linear"},
      {kAlltoall, 64, 3000, "pairwise"},
      {kAllgather, 64, 512, "recursive_doubling"},
      {kAllgather, 48, 512, "bruck"},
      {kAllgather, 64, kKi, "neighbor"},
      {kAllgather, 63, kKi, "ring"},
      {kGather, 64, 8, "binomial"},
      {kGather, 64, 6001, "linear_sync"},
      {kScatter, 11, 299, "binomial"},
      {kReduceScatter, 64, 8, "basic_linear"},
      {kBarrier, 48, 0, "bruck"},
      {kBarrier, 64, 0, "recursive_doubling"},
  };
  for (const std::string release : {"openmpi-3.1", "openmpi-4.0"}) {
    for (const test::Choice& choice : old)
      EXPECT_EQ(chosen(choice, by(release)), choice.algorithm)
          << to_string(choice.kind) << " of " << choice.bytes << " on " << choice.ranks;
  }
  const test::Choice allreduce{kAllreduce, 64, 64 * kKi, ""};
  const test::Choice on_nodes{kAllreduce, 64, 64 * kKi, "", true, host::Nodes::kSeveral};
  EXPECT_EQ(chosen(allreduce, by("openmpi-4.1")), chosen(allreduce, by("openmpi")));
  EXPECT_EQ(chosen(allreduce, by("openmpi-5")), chosen(allreduce, by("openmpi-4.1")));
  EXPECT_EQ(chosen(on_nodes, by("openmpi-5")), "han");
  EXPECT_EQ(chosen(on_nodes, by("openmpi-6")), "han");
  EXPECT_EQ(chosen(allreduce, by("openmpi-6")), chosen(allreduce, by("openmpi-4.1")));
  EXPECT_EQ(chosen(on_nodes, by("node-wise")), "by_nodes");
  EXPECT_EQ(chosen(allreduce, by("node-wise")), chosen(allreduce, by("mpich")));
}

TEST(HostSelection, ChoosesAsComponentsForNodesDo) {
  using enum OperationKind;
  constexpr auto kSeveral = host::Nodes::kSeveral;
  constexpr auto kEqual = host::Nodes::kEqual;
  const test::Choice by_hcoll[] = {
      {kBcast, 64, 32 * kKi, "knomial"},
      {kBcast, 64, 32 * kKi + 1, "scatter_allgather"},
      {kBcast, 64, 4 * kKi, "by_nodes", true, kEqual},
      {kBcast, 64, 4 * kKi + 1, "knomial", true, kEqual},
      {kReduce, 64, 32 * kKi, "binomial"},
      {kReduce, 64, 32 * kKi + 4, "rabenseifner"},
      {kReduce, 64, 8, "by_nodes", true, kEqual},
      {kAllreduce, 64, 4 * kKi, "knomial"},
      {kAllreduce, 60, 4 * kKi, "recursive_doubling"},
      {kAllreduce, 64, 4 * kKi + 4, "rabenseifner"},
      {kAllreduce, 64, 8, "by_nodes", true, kSeveral},
      {kAlltoall, 64, 128, "modified_bruck"},
      {kAlltoall, 64, 129, "pairwise"},
      {kBarrier, 64, 0, "han", true, kSeveral},
  };
  const test::Choice by_acoll[] = {
      {kAllreduce, 64, 16 * kKi, "recursive_doubling"},
      {kAllreduce, 64, 16 * kKi + 4, "rabenseifner"},
      {kAllreduce, 64, 16 * kKi, "by_nodes", true, kSeveral},
      {kAllreduce, 64, 16 * kKi + 4, "rabenseifner", true, kSeveral},
      {kBcast, 64, 64 * kKi, "knomial", true, kEqual},
      {kBcast, 64, 64 * kKi + 1, "by_nodes", true, kEqual},
      {kBcast, 64, 64 * kKi + 1, "basic_linear"},
  };
  const test::Choice left_open[] = {{kGather, 64, 8, ""}, {kAllreduce, 64, 8, "", false}};
  for (const test::Choice& choice : by_hcoll)
    EXPECT_EQ(chosen(choice, by("hcoll")), choice.algorithm)
        << to_string(choice.kind) << " of " << choice.bytes;
  for (const test::Choice& choice : by_acoll)
    EXPECT_EQ(chosen(choice, by("acoll")), choice.algorithm)
        << to_string(choice.kind) << " of " << choice.bytes;
  for (const test::Choice& choice : left_open) {
    EXPECT_EQ(chosen(choice, by("hcoll")), chosen(choice, by("openmpi")));
    EXPECT_EQ(chosen(choice, by("acoll")), chosen(choice, by("openmpi")));
  }
}

TEST(HostSelection, ForwardsInThePiecesOfTheRelease) {
  // 128 pieces of 8 KiB pass 15 links one after the other.
  const auto time = [](const test::Overrides& overrides) {
    return forecast_of(OperationKind::kBcast, 16, kMi, overrides).time.seconds();
  };
  const double pieces = time({{"bcast", {0, "openmpi-4.0"}}});
  EXPECT_EQ(pieces, time({{"bcast", {0, "pipeline"}}, {"segment", {8 * 1024, {}}}}));
  EXPECT_LT(pieces, 0.4 * time({{"bcast", {0, "pipeline"}}}));
}

TEST(HostSelection, GivesOneCollectiveToAnotherChooser) {
  const test::Choice bcast{OperationKind::kBcast, 16, kMi, ""};
  const test::Choice gather{OperationKind::kGather, 4, 256 * kKi, ""};
  Settings settings = by("mpich");
  settings.set("gather", {0, "openmpi"});
  EXPECT_EQ(chosen(bcast, settings), "scatter_allgather_ring");
  EXPECT_EQ(chosen(gather, settings), "linear_sync");
  settings.set("bcast", {0, "chain"});
  EXPECT_EQ(chosen(bcast, settings), "chain");
}

class TheFastest : public testing::TestWithParam<std::tuple<OperationKind, int, int>> {};

TEST_P(TheFastest, IsNeverSlowerThanAnyOtherByMoreThanItsMargin) {
  const auto [kind, ranks, ranks_per_node] = GetParam();
  for (const std::size_t bytes : {std::size_t{8}, 8 * kKi, 256 * kKi}) {
    const auto time = [&, k = kind, n = ranks, per_node = ranks_per_node](
                          const char* name, std::string value, double margin = 0, double segment = 0) {
      return forecast_of(
                 k, n, bytes,
                 {{name, {0, std::move(value)}}, {"best_margin", {margin, {}}}, {"segment", {segment, {}}}},
                 per_node)
          .time;
    };
    const Time usual = time("collectives", "openmpi");
    Time least = std::min(usual, time("collectives", "mpich"));
    for (const host::Algorithm& algorithm : host::collective_kind(kind).algorithms) {
      for (const double segment : {0, 64 * 1024})
        if (algorithm.is_common)
          least = std::min(
              least, time(std::string(to_string(kind)).c_str(), std::string(algorithm.name), 0, segment));
    }
    EXPECT_EQ(time("collectives", "best"), least) << bytes;
    constexpr double kMargin = 0.15;
    const bool is_clear = least.seconds() < usual.seconds() / (1 + kMargin);
    EXPECT_EQ(time("collectives", "best", kMargin), is_clear ? least : usual) << bytes;
  }
}

TEST_P(TheFastest, GivesTheSameResults) {
  const auto [kind, ranks, ranks_per_node] = GetParam();
  ClusterOptions options;
  options.machine.ranks_per_node = ranks_per_node;
  for (const char* selection : {"best", "mpich", "openmpi-4.0", "openmpi-6", "node-wise", "acoll", "hcoll"}) {
    for (const bool nonblocking : {false, true})
      test::try_all(kind, ranks, {{"collectives", {0, selection}}}, selection, options, nonblocking);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Collectives, TheFastest,
    testing::Combine(testing::Values(OperationKind::kBcast, OperationKind::kReduce, OperationKind::kAllreduce,
                                     OperationKind::kGather, OperationKind::kAllgather,
                                     OperationKind::kReduceScatter, OperationKind::kAlltoall),
                     testing::Values(5, 8), testing::Values(1, 4)),
    [](const auto& each) {
      return std::string(to_string(std::get<0>(each.param))) + "_" + std::to_string(std::get<1>(each.param)) +
             "_on_" + std::to_string(std::get<2>(each.param));
    });

TEST(HostSelection, FastestAlgorithmForwardsLongMessagesInSegments) {
  const auto time = [](const test::Overrides& overrides) {
    return forecast_of(OperationKind::kBcast, 4, 16 * kMi, overrides).time;
  };
  const Time best = time({{"collectives", {0, "best"}}});
  EXPECT_LE(best, time({{"bcast", {0, "pipeline"}}, {"segment", {256 * 1024, {}}}}));
  EXPECT_LT(best, time({{"bcast", {0, "pipeline"}}}));
}

TEST(HostSelection, TakesTheFastestWhereBlocksDiffer) {
  for (const OperationKind kind :
       {OperationKind::kAllgatherv, OperationKind::kReduceScatterv, OperationKind::kAlltoallv})
    test::try_all(kind, 6, {{"collectives", {0, "best"}}}, "best");
}

}  // namespace
}  // namespace offramp
