// The host's collectives of Open MPI's component "han": right results for any placement of ranks, and two
// levels that work at the same time.
#include "backends/host/levels.hpp"
#include "tests/host/trial.hpp"
#include "tests/timed_cluster.hpp"

namespace offramp {
namespace {

using namespace test;

// --- results ---

/// Ranks dealt out to nodes one by one, as by mpirun --map-by node.
std::vector<int> dealt_out(int ranks, int ranks_per_node) {
  std::vector<int> members;
  for (int index = 0; index < ranks_per_node; ++index) {
    for (int rank = index; rank < ranks; rank += ranks_per_node) members.push_back(rank);
  }
  return members;
}

class HostByNodes : public testing::TestWithParam<std::tuple<OperationKind, int, int>> {};

TEST_P(HostByNodes, GivesMpisResults) {
  const auto [kind, ranks, ranks_per_node] = GetParam();
  for (const bool dealt : {false, true}) {
    ClusterOptions options;
    options.machine.ranks_per_node = ranks_per_node;
    if (dealt) options.members = dealt_out(ranks, ranks_per_node);
    for (const double segment : {0.0, 1000.0}) {
      const Overrides overrides{{"han_segment", {segment, {}}}, {std::string(to_string(kind)), {0, "han"}}};
      try_all(kind, ranks, overrides, dealt ? "han, dealt out" : "han", options);
    }
  }
}

TEST(HostByNodes, PipelinesLongMessages) {
  // libnbc uses a chain on 2 nodes, Rabenseifner or linear on 3, and chains on 6.
  constexpr std::size_t kLong = 3 * 64 * kKi + 4096;
  Int32Sum sum;
  for (const OperationKind kind :
       {OperationKind::kBcast, OperationKind::kReduce, OperationKind::kAllreduce}) {
    for (const int ranks : {8, 12, 24}) {
      for (const char* algorithm : {"han", "by_nodes"}) {
        ClusterOptions options;
        options.machine.ranks_per_node = 4;
        const Settings settings = host_settings({{std::string(to_string(kind)), {0, algorithm}}});
        Trial(kind, ranks, has_root(kind) ? 5 : 0, kLong, reduces(kind) ? &sum : nullptr, false)
            .run(settings, std::string(algorithm) + " of a long message", options);
        options.members = dealt_out(ranks, 4);
        Trial(kind, ranks, has_root(kind) ? 5 : 0, kLong, reduces(kind) ? &sum : nullptr, false)
            .run(settings, std::string(algorithm) + " of a long message, dealt out", options);
      }
    }
  }
}

TEST(HostByNodes, DoesNotDependOnTheOrderOfArrival) {
  for (const OperationKind kind :
       {OperationKind::kBcast, OperationKind::kReduce, OperationKind::kAllreduce}) {
    std::vector<Time> first;
    for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5, 6, 7}) {
      WorldOptions options;
      options.machine.ranks_per_node = 3;
      options.shuffle_seed = seed;
      TimedCluster cluster(12, test::backend_named("host"),
                           host_settings({{std::string(to_string(kind)), {0, "han"}}}), options);
      Int32Sum sum;
      EXPECT_EQ(cluster.run([&](TimedRank& rank) -> Task<void> {
        Buffer own(300 * kKi);
        Buffer result(own.size());
        if (kind == OperationKind::kBcast) co_await rank.bcast(own, 4);
        if (kind == OperationKind::kReduce) co_await rank.reduce(own, result, 4, sum);
        if (kind == OperationKind::kAllreduce) co_await rank.allreduce(own, result, sum);
      }),
                "");
      if (seed == 0) first = cluster.clocks();
      EXPECT_EQ(cluster.clocks(), first) << to_string(kind) << ", seed " << seed;
    }
  }
}

std::vector<OperationKind> kinds_of_han() {
  std::vector<OperationKind> kinds;
  for (const host::CollectiveKind& one : host::collective_kinds()) {
    for (const host::Algorithm& algorithm : one.algorithms) {
      if (algorithm.name == "han") kinds.push_back(one.kind);
    }
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Of, HostByNodes,
                         testing::Combine(testing::ValuesIn(kinds_of_han()),
                                          testing::Values(2, 3, 4, 6, 8, 11, 12, 24),
                                          testing::Values(2, 3, 4)),
                         [](const auto& each) {
                           return std::string(to_string(std::get<0>(each.param))) + "On" +
                                  std::to_string(std::get<1>(each.param)) + "By" +
                                  std::to_string(std::get<2>(each.param));
                         });

// --- choices ---

TEST(HostByNodes, LeavesItToTheRulesWhereTheNodesAreNotFit) {
  using enum OperationKind;
  using enum host::Nodes;
  Overrides overrides;
  for (const OperationKind kind : kinds_of_han()) overrides[std::string(to_string(kind))] = {0, "han"};
  const Settings han = host_settings(overrides);
  const Choice choices[] = {
      {kBcast, 16, 8, "han", true, kEqual},
      {kBcast, 16, 8, "knomial", true, kSeveral},
      {kBcast, 16, 8, "knomial", true, kAny},
      {kReduce, 16, 8, "han", true, kEqual},
      {kReduce, 16, 8, "binary", true, kSeveral},
      {kReduce, 16, 8, "in-order_binary", false, kEqual},
      {kAllreduce, 16, 8, "han", true, kEqual},
      {kAllreduce, 16, 8, "han", true, kSeveral},
      {kAllreduce, 16, 8, "segmented_ring", true, kAny},
      {kAllreduce, 16, 8, "recursive_doubling", false, kEqual},
      {kGather, 16, 8, "han", true, kEqual},
      {kGather, 16, 8, "binomial", true, kSeveral},
      {kScatter, 16, 8, "han", true, kEqual},
      {kScatter, 16, 8, "binomial", true, kSeveral},
      {kAllgather, 16, 8, "han", true, kEqual},
      {kAllgather, 16, 8, "recursive_doubling", true, kSeveral},
      {kBarrier, 16, 0, "han", true, kSeveral},
      {kBarrier, 16, 0, "recursive_doubling", true, kAny},
  };
  for (const Choice& choice : choices)
    EXPECT_EQ(chosen(choice, han), choice.algorithm) << to_string(choice.kind);
}

/// A communicator of the given world ranks.
class Somewhere final : public Team {
 public:
  explicit Somewhere(std::vector<int> members)
      : Team(0, static_cast<int>(members.size()), false), members_(std::move(members)) {}
  [[nodiscard]] int world_rank(int rank) const override { return members_[static_cast<std::size_t>(rank)]; }
  MutableBytes scratch(std::size_t) override { return {}; }

 protected:
  void combine_elements(Bytes, MutableBytes) override {}
  Handle start_send(int, Bytes, const Stamp*) override { return nullptr; }
  Handle start_receive(int, MutableBytes, bool) override { return nullptr; }
  bool ready(Handle) override { return true; }
  void wait(Handle, std::coroutine_handle<>) override {}
  Outcome finish(Handle) override { return Outcome::kOk; }
  Arrival finish_token(Handle) override { return {}; }

 private:
  std::vector<int> members_;
};

TEST(HostNodeMap, KnowsWhichRanksShareANode) {
  using host::NodeMap;
  using enum host::Nodes;
  EXPECT_EQ(NodeMap(Somewhere({0, 1, 2, 3}), {.ranks_per_node = 4}).kind(), kAny);  // one node
  EXPECT_EQ(NodeMap(Somewhere({0, 4, 8}), {.ranks_per_node = 4}).kind(), kAny);     // one rank on each node
  EXPECT_EQ(NodeMap(Somewhere({0, 1, 4}), {.ranks_per_node = 4}).kind(), kSeveral);
  EXPECT_EQ(NodeMap(Somewhere({0, 1, 4, 5}), {.ranks_per_node = 4}).kind(), kEqual);
  EXPECT_TRUE(NodeMap(Somewhere({0, 1, 4, 5}), {.ranks_per_node = 4}).in_order());
  const NodeMap dealt(Somewhere({5, 0, 4, 1}), {.ranks_per_node = 4});
  EXPECT_EQ(dealt.kind(), kEqual);
  EXPECT_FALSE(dealt.in_order());
  EXPECT_EQ(dealt.ranks(0), (std::vector<int>{0, 2}));  // in the order of first ranks
  EXPECT_EQ(dealt.ranks(1), (std::vector<int>{1, 3}));
  EXPECT_EQ(dealt.node_of(3), 1);
  EXPECT_EQ(dealt.index_of(3), 1);
}

// --- times ---

TEST(HostByNodes, SendsOverTheNetworkOnlyDataThatOtherNodesNeed) {
  using enum OperationKind;
  const auto crosses = [](OperationKind kind, int nodes, int ranks_per_node, std::size_t bytes) {
    const Overrides han{{std::string(to_string(kind)), {0, "han"}}};
    return forecast_of(kind, nodes * ranks_per_node, bytes, han, ranks_per_node).wire.payload_bytes;
  };
  for (const std::size_t bytes : {8 * kKi, 256 * kKi}) {
    EXPECT_EQ(crosses(kBcast, 3, 8, bytes), 2 * bytes);
    EXPECT_EQ(crosses(kReduce, 2, 8, bytes), bytes);
    EXPECT_EQ(crosses(kAllreduce, 2, 8, bytes), 2 * bytes);
    EXPECT_EQ(crosses(kGather, 2, 8, bytes), 8 * bytes);
    EXPECT_EQ(crosses(kScatter, 2, 8, bytes), 8 * bytes);
    EXPECT_EQ(crosses(kAllgather, 2, 8, bytes), 16 * bytes);
  }
}

TEST(HostByNodes, SpreadsASegmentOnTheNodesWhileTheNextOneComes) {
  using enum OperationKind;
  // 2 nodes of 2 ranks. The segments cross the link one after the other; then the last one is copied.
  const std::size_t bytes = 16 * kMi;
  const Time link = Bandwidth::gigabits_per_second(100).bytes(static_cast<std::int64_t>(bytes));
  const Time copy = Bandwidth::gigabits_per_second(80).bytes(static_cast<std::int64_t>(bytes));
  const Overrides long_segments{{"bcast", {0, "han"}}, {"han_segment", {256.0 * kKi, {}}}};
  const Time pipelined = forecast_of(kBcast, 4, bytes, long_segments, 2).time;
  const Time whole = forecast_of(kBcast, 4, bytes, {{"bcast", {0, "han"}}, {"han_segment", {0, {}}}}, 2).time;
  EXPECT_NEAR(whole.seconds(), (link + copy).seconds(), 0.05 * whole.seconds());
  EXPECT_GT(pipelined, later(link, copy));
  EXPECT_LT(pipelined.seconds(), 1.12 * later(link, copy).seconds());  // with a handshake each
}

}  // namespace
}  // namespace offramp
