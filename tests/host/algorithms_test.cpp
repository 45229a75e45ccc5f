// Every algorithm of the host's catalogue gives MPI's results for any number of ranks, and the choices among
// them are those of the decision tables.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/host/trial.hpp"
#include "tests/timed_cluster.hpp"

namespace offramp {
namespace {

using namespace test;

// --- results ---

class HostAlgorithm : public testing::TestWithParam<std::tuple<OperationKind, int>> {};

TEST_P(HostAlgorithm, GivesMpisResults) {
  const auto [kind, ranks] = GetParam();
  const host::CollectiveKind& of = host::collective_kind(kind);
  for (const host::Algorithm& algorithm : of.algorithms) {
    for (const double segment : {0.0, 1000.0}) {
      Overrides overrides{{"segment", {segment, {}}}};
      if (of.algorithms.size() > 1)
        overrides[std::string(to_string(kind))] = {0, std::string(algorithm.name)};
      try_all(kind, ranks, overrides, std::string(algorithm.name));
    }
  }
}

TEST_P(HostAlgorithm, GivesMpisResultsAsASchedule) {
  const auto [kind, ranks] = GetParam();
  try_all(kind, ranks, {}, "libnbc's schedule", {}, true);
}

std::vector<OperationKind> all_kinds() {
  std::vector<OperationKind> kinds;
  for (const host::CollectiveKind& one : host::collective_kinds()) kinds.push_back(one.kind);
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Of, HostAlgorithm,
                         testing::Combine(testing::ValuesIn(all_kinds()),
                                          testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 21)),
                         [](const auto& each) {
                           return std::string(to_string(std::get<0>(each.param))) + "On" +
                                  std::to_string(std::get<1>(each.param));
                         });

// --- choices ---

TEST(HostAlgorithms, AreChosenAsOpenMpiDoes) {
  using enum OperationKind;
  // On both sides of the limits in ranks and in bytes.
  const Choice choices[] = {
      {kBcast, 3, 31, "pipeline"},
      {kBcast, 3, 32, "binary_tree"},
      {kBcast, 16, kMi - 1, "binomial"},
      {kBcast, 16, kMi, "scatter_allgather"},
      {kBcast, 31, kMi, "scatter_allgather"},
      {kBcast, 32, kMi, "knomial"},
      {kBcast, 1023, 16 * kKi, "split_binary_tree"},
      {kBcast, 1024, 512 * kKi, "scatter_allgather"},
      {kReduce, 3, 7, "rabenseifner"},
      {kReduce, 8, 8 * kKi - 1, "binary"},
      {kReduce, 8, 8 * kKi, "binomial"},
      {kReduce, 8, 1024, "linear", false},
      {kReduce, 16, 1024, "in-order_binary", false},
      {kAllreduce, 3, 262143, "segmented_ring"},
      {kAllreduce, 3, 262144, "rabenseifner"},
      {kAllreduce, 512, 2047, "nonoverlapping"},
      {kAllreduce, 512, 2048, "recursive_doubling"},
      {kAllreduce, 512, 16 * kKi, "rabenseifner"},
      {kAllreduce, 8, kMi, "nonoverlapping", false},
      {kAllreduce, 16, kMi, "recursive_doubling", false},
      {kGather, 3, 131072, "linear_sync"},
      {kGather, 8, 131072, "binomial"},
      {kScatter, 64, 511, "binomial"},
      {kScatter, 64, 512, "linear_nb"},
      {kAllgather, 2, 8, "two_proc"},
      {kAllgather, 3, 8, "bruck"},  // recursive doubling needs a power of two
      {kAllgather, 4, 8, "recursive_doubling"},
      {kAllgather, 64, 65535, "neighbor"},
      {kAllgather, 64, 65536, "ring"},
      {kAllgather, 65, 65535, "ring"},  // neighbour exchange needs an even number
      {kAllgather, 256, 32, "bruck"},
      {kAllgatherv, 4, 255, "default"},
      {kAllgatherv, 128, 1023, "bruck"},
      {kAllgatherv, 128, 1024, "neighbor"},
      {kAllgatherv, 128, 65536, "ring"},
      {kReduceScatter, 8, 524288, "basic_linear"},
      {kReduceScatter, 8, 524287, "recursive_halving"},
      {kReduceScatter, 8, 524287, "basic_linear", false},
      {kReduceScatterv, 8, 262143, "recursive_halving"},
      {kReduceScatterv, 8, 262144, "ring"},
      {kReduceScatterv, 64, 4096, "butterfly"},
      {kReduceScatterv, 8, 262144, "non-overlapping", false},
      {kAlltoall, 2, 1, "pairwise"},
      {kAlltoall, 2, 2, "two_proc"},
      {kAlltoall, 64, 1023, "modified_bruck"},
      {kAlltoall, 64, 1024, "linear"},
      {kAlltoall, 64, 262144, "pairwise"},
      {kAlltoallv, 3, 0, "pairwise"},
      {kAlltoallv, 4, 0, "basic_linear"},
      {kBarrier, 3, 0, "recursive_doubling"},
      {kBarrier, 4, 0, "linear"},
      {kBarrier, 64, 0, "bruck"},
      {kBarrier, 256, 0, "tree"},
      {kScan, 1000, kMi, "linear"},
      {kGatherv, 1000, 0, "basic_linear"},
  };
  for (const Choice& choice : choices)
    EXPECT_EQ(chosen(choice), choice.algorithm)
        << to_string(choice.kind) << " of " << choice.bytes << " bytes on " << choice.ranks;
}

TEST(HostAlgorithms, AreThoseOfTheSettingsUnlessTheyCannotRun) {
  const Settings ring = host_settings({{"allreduce", {0, "ring"}}});
  EXPECT_EQ(chosen({OperationKind::kAllreduce, 5, 8, {}}, ring), "ring");
  EXPECT_EQ(chosen({OperationKind::kAllreduce, 5, 8, {}, false}, ring), "recursive_doubling");
  EXPECT_EQ(chosen({OperationKind::kAllreduce, 2 * static_cast<int>(kMi), 8, {}}, ring),
            "recursive_doubling");
}

TEST(HostAlgorithms, NameAlgorithmsThatExist) {
  const auto exists = [](const host::CollectiveKind& kind, std::string_view name) {
    return std::any_of(kind.algorithms.begin(), kind.algorithms.end(),
                       [&](const host::Algorithm& algorithm) { return algorithm.name == name; });
  };
  for (const host::CollectiveKind& kind : host::collective_kinds()) {
    for (const host::Rule& rule : kind.rules) EXPECT_TRUE(exists(kind, rule.algorithm)) << rule.algorithm;
    for (const host::Rule& rule : kind.ordered_rules)
      EXPECT_TRUE(exists(kind, rule.algorithm)) << rule.algorithm;
    for (const host::Algorithm& algorithm : kind.algorithms) {
      const bool unlimited = !algorithm.commutative && algorithm.ranks == host::Ranks::kAny &&
                             algorithm.elements == host::Elements::kAny &&
                             algorithm.nodes == host::Nodes::kAny;
      EXPECT_EQ(unlimited, algorithm.instead.empty()) << algorithm.name;
      EXPECT_TRUE(unlimited || algorithm.instead == host::kByOpenMpi || exists(kind, algorithm.instead))
          << algorithm.name;
    }
  }
}

// --- times ---

Time time_of(OperationKind kind, int ranks, std::size_t bytes, const Overrides& overrides = {}) {
  return forecast_of(kind, ranks, bytes, overrides).time;
}

TEST(HostAlgorithms, TakeTheTimeOfTheirComplexity) {
  using enum OperationKind;
  const auto seconds = [](std::size_t bytes, double gigabits) {
    return static_cast<double>(bytes) * 8 / gigabits / 1e9;
  };
  const double link = 100.0 * 4096 / (4096 + 82);  // Gb/s of payload
  const std::size_t large = 64 * kMi;
  // Rabenseifner: the vector crosses the link twice, is combined once and copied once.
  const double allreduce = seconds(large, link) * 2 + seconds(large, 160) + seconds(large, 80);
  EXPECT_NEAR(time_of(kAllreduce, 512, large).seconds(), allreduce, 0.01 * allreduce);
  // Scatter and allgather: twice, in any steps.
  const double twice = seconds(large, link) * 2;
  EXPECT_NEAR(time_of(kBcast, 512, large, {{"bcast", {0, "scatter_allgather"}}}).seconds(), twice,
              0.02 * twice);
  // The root of a 4-nomial tree of 512 ranks sends 3 + 3 + 3 + 3 + 1 times; the last child on that path
  // begins after 13 consecutive messages have left.
  const double tree = seconds(large, link) * 13;
  EXPECT_NEAR(time_of(kBcast, 512, large).seconds(), tree, 0.01 * tree);
  // A chain in segments: the whole vector once, and one segment more for each rank, if no segment needs a
  // handshake or a long copy.
  const double chain = seconds(large + 511 * 64 * kKi, link);
  const Overrides pipeline{{"bcast", {0, "pipeline"}},
                           {"segment", {64.0 * kKi, {}}},
                           {"eager_limit", {64.0 * kKi, {}}},
                           {"copy_bandwidth", {1e5, {}}}};
  EXPECT_NEAR(time_of(kBcast, 512, large, pipeline).seconds(), chain, 0.2 * chain);
  // Nine exchanges of 1.5 us. In the last four the NIC fetches the data.
  EXPECT_NEAR(time_of(kAllgather, 512, 8).seconds(), 17.4e-6, 0.2e-6);
  EXPECT_NEAR(time_of(kBarrier, 64, 0).seconds(), 6 * 1.5e-6, 0.3e-6);
}

TEST(HostAlgorithms, TakeTheForecastsTimeInAProgram) {
  for (const int ranks : {4, 5, 8}) {
    for (const std::size_t bytes : {std::size_t{64}, 8 * kKi, 256 * kKi}) {
      if (ranks == 5 && bytes > 64 * kKi) continue;
      TimedCluster cluster(ranks, test::backend_named("host"));
      Int32Sum sum;
      EXPECT_EQ(cluster.run([&](TimedRank& rank) -> Task<void> {
        Buffer own(bytes);
        Buffer result(bytes);
        co_await rank.allreduce(own, result, sum);
      }),
                "");
      const std::vector<Time> clocks = cluster.clocks();
      EXPECT_EQ(*std::max_element(clocks.begin(), clocks.end()),
                time_of(OperationKind::kAllreduce, ranks, bytes))
          << ranks << " ranks, " << bytes << " bytes";
    }
  }
}

}  // namespace
}  // namespace offramp
