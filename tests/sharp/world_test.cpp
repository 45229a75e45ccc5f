// Times and shared resources of operations in a world: times from the parameters, and lower bounds for shared
// resources. Each test of a bound prints it beside the time.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "tests/sharp/support.hpp"

namespace offramp::sharp {
namespace {

using test::call;
using test::operation_of;
using test::play;
using test::Scene;
using test::time_of;
using testing::Gt;
using testing::Lt;

constexpr std::size_t kKi = 1024;
constexpr std::size_t kMi = kKi * kKi;

Driver driver_with(const test::Values& values) {
  return driver_of(test::settings_with(values));
}

Time link_time(const Spec& spec, std::size_t bytes) {
  return spec.link.bytes(static_cast<std::int64_t>(bytes));
}

/// The least time of a stream of that many bytes on one link.
Time on_link(const Driver& driver, std::size_t bytes) {
  return driver.spec.stream.bytes(static_cast<std::int64_t>(bytes));
}

void expect_near(const char* what, Time time, Time bound, Time start, double part = 0.03) {
  fmt::print("{:<56} bound {:10.2f} us, world {:10.2f} us\n", what, bound.seconds() * 1e6,
             time.seconds() * 1e6);
  EXPECT_GE(time, bound) << what;
  EXPECT_LE((time - start).seconds(), (1 + part) * bound.seconds()) << what;
}

/// In sequence: the call, the post, the port, half of the route, the packets of all nodes through the
/// aggregation node, its latency, the other half, the port, the processor.
TEST(SharpWorld, ASmallAllreduceBehindOneSwitchTakesTheSumOfItsParts) {
  for (const int nodes : {2, 4, 16}) {
    const Driver driver = driver_with({});
    const Spec& spec = driver.spec;
    const auto packet = static_cast<std::int64_t>(8 + spec.header);
    const Time expected = driver.call + spec.post + spec.link.bytes(packet) * 2 + spec.latency +
                          spec.engine.bytes(packet) * nodes + spec.engine_latency + driver.overhead;
    Scene setup;
    setup.ranks = nodes;
    EXPECT_EQ(time_of(setup, OperationKind::kAllreduce, 8), expected) << nodes;
  }
}

TEST(SharpWorld, AFurtherLevelAddsItsLinksAndItsAggregationNode) {
  Scene star;
  star.ranks = 16;
  Scene tree = star;
  tree.topology = "fat-tree:4";
  const Driver driver = driver_with({});
  const Spec& spec = driver.spec;
  const Time hop = NetworkOptions().hop;
  const auto packet = static_cast<std::int64_t>(8 + spec.header);
  // 4 + 4 packets through two nodes, not 16 through one.
  const Time more =
      2 * (hop + link_time(spec, 8 + spec.header)) + spec.engine_latency - spec.engine.bytes(packet) * 8;
  EXPECT_EQ(time_of(tree, OperationKind::kAllreduce, 8), time_of(star, OperationKind::kAllreduce, 8) + more);
}

TEST(SharpWorld, PacketsPassAnAggregationNodeOneAfterTheOther) {
  Scene setup;
  setup.ranks = 8;
  setup.values = {
      {"low_latency_limit", {1e9, {}}}, {"streaming", {0, {}}}, {"post", {10, {}}}, {"engine", {50, {}}}};
  const Driver driver = driver_with(setup.values);
  const Time bound =
      driver.spec.engine.bytes(static_cast<std::int64_t>(1024 * (driver.spec.payload + driver.spec.header))) *
      8;
  expect_near("1 MiB in packets, 8 nodes", time_of(setup, OperationKind::kAllreduce, kMi), bound,
              Time::us(5));
}

/// With one packet at a time, each waits for the result of the one before.
TEST(SharpWorld, FewerPacketsOnTheirWayTakeLonger) {
  Scene setup;
  setup.ranks = 8;
  Time before = Time::never();
  for (const double outstanding : {1, 2, 4}) {  // with more, the aggregation node is the limit
    setup.values = {
        {"outstanding", {outstanding, {}}}, {"low_latency_limit", {16384, {}}}, {"streaming", {0, {}}}};
    const Time time = time_of(setup, OperationKind::kAllreduce, 16384);
    EXPECT_LT(time, before) << outstanding;
    before = time;
  }
  setup.values = {{"outstanding", {1, {}}}, {"low_latency_limit", {16384, {}}}, {"streaming", {0, {}}}};
  EXPECT_GT(time_of(setup, OperationKind::kAllreduce, 16384), driver_with(setup.values).spec.latency * 16);
}

TEST(SharpWorld, AStreamTakesItsShareOfTheLink) {
  const Driver driver = driver_with({});
  for (const char* const topology : {"star", "fat-tree:4", "torus:4x4", "dragonfly:4:2:2:2"}) {
    Scene setup;
    setup.ranks = 16;
    setup.topology = topology;
    for (const OperationKind kind :
         {OperationKind::kAllreduce, OperationKind::kReduce, OperationKind::kBcast})
      expect_near(fmt::format("{} of 16 MiB, {}", to_string(kind), topology).c_str(),
                  time_of(setup, kind, 16 * kMi), on_link(driver, 16 * kMi), Time::us(15));
    for (const OperationKind kind : {OperationKind::kReduceScatter, OperationKind::kAllgather})
      expect_near(fmt::format("{} of blocks of 1 MiB, {}", to_string(kind), topology).c_str(),
                  time_of(setup, kind, kMi), on_link(driver, 16 * kMi), Time::us(15));
  }
}

/// A slow link between the switches is the limit, as for messages.
TEST(SharpWorld, AStreamIsNoFasterThanTheNetwork) {
  Scene setup;
  setup.ranks = 16;
  setup.topology = "fat-tree:4";
  setup.values = {{"link", {400, {}}}};  // the network's links have 100
  const Time bound = Bandwidth::gigabits_per_second(100).bytes(16 * kMi);
  expect_near("16 MiB over links of 100 Gb/s", time_of(setup, OperationKind::kAllreduce, 16 * kMi), bound,
              Time::us(15), 0.06);
}

/// Several allreduces of each rank at once.
Time at_once(const Scene& setup, std::size_t bytes, int operations) {
  const Operation operation = operation_of(OperationKind::kAllreduce, setup.ranks, bytes);
  return play(setup,
              [=](RankHandle& rank) -> Task<void> {
                std::vector<RankRequest> requests;
                for (int i = 0; i < operations; ++i)
                  requests.push_back(rank.start(rank.world_communicator(), operation));
                (void)co_await rank.wait_all(requests);
              })
      .end;
}

TEST(SharpWorld, StreamsOfOneTreeFollowEachOther) {
  Scene setup;
  setup.ranks = 8;
  setup.topology = "fat-tree:4";
  const Driver driver = driver_with({});
  const Time starts = driver.spec.stream_start * 16 + Time::us(50);
  expect_near("16 allreduces of 1 MiB at once", at_once(setup, kMi, 16), on_link(driver, 16 * kMi), starts);
}

TEST(SharpWorld, SmallOperationsAtOnceShareTheWindow) {
  Scene setup;
  setup.ranks = 4;
  setup.values = {{"outstanding", {2, {}}}};
  const Time two = at_once(setup, 8, 2);
  const Time four = at_once(setup, 8, 4);
  EXPECT_GT(four, two + Time::ns(500));
}

/// Two halves of the ranks, with communicators of their own.
Time two_jobs(Scene setup, std::size_t bytes, bool beside) {
  return play(setup,
              [=](RankHandle& rank) -> Task<void> {
                const int color = beside ? rank.rank() * 2 / rank.size() : rank.rank() % 2;
                const auto half = co_await rank.split(rank.world_communicator(), color, 0);
                (void)co_await rank.collective(*half,
                                               operation_of(OperationKind::kAllreduce, half->size(), bytes));
              })
      .end;
}

TEST(SharpWorld, JobsWithoutACommonSwitchStreamBesideEachOther) {
  Scene setup;
  setup.ranks = 16;
  setup.topology = "fat-tree:4";
  Scene half = setup;
  half.ranks = 8;
  const Time alone = time_of(half, OperationKind::kAllreduce, kMi);
  EXPECT_EQ(two_jobs(setup, kMi, true), alone);  // other leaves, and another spine
  setup.values = {{"trees", {1, {}}}};
  EXPECT_GT(two_jobs(setup, kMi, true).seconds(), 1.9 * alone.seconds());  // one spine
  setup.values = {};
  EXPECT_GT(two_jobs(setup, kMi, false).seconds(), 1.9 * alone.seconds());  // the leaves are shared
}

/// Small operations of two jobs share the aggregation nodes of their leaves: 8 packets, not 4.
TEST(SharpWorld, JobsInOneTreeShareItsAggregationNodes) {
  Scene setup;
  setup.ranks = 16;
  setup.topology = "fat-tree:8";
  setup.placement = "list:0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15";
  Scene half = setup;
  half.ranks = 8;
  half.machine_nodes = 16;
  half.placement = "list:0,8,1,9,2,10,3,11";
  const Time alone = time_of(half, OperationKind::kAllreduce, kKi);
  EXPECT_GT(two_jobs(setup, kKi, true), alone);
}

TEST(SharpWorld, CommunicatorsBeyondTheShareTakeTurns) {
  const auto time = [](double transactions) {
    Scene setup;
    setup.ranks = 4;
    setup.values = {{"transactions", {transactions, {}}}, {"job_share", {100, {}}}, {"outstanding", {8, {}}}};
    return play(setup,
                [](RankHandle& rank) -> Task<void> {
                  std::vector<Communicator> all;
                  for (int i = 0; i < 4; ++i)
                    all.push_back(co_await rank.duplicate(rank.world_communicator()));
                  std::vector<RankRequest> requests;
                  for (const Communicator& one : all)
                    requests.push_back(rank.start(one, operation_of(OperationKind::kAllreduce, 4, 8)));
                  (void)co_await rank.wait_all(requests);
                })
        .end;
  };
  EXPECT_GT(time(8), time(32) + Time::us(1));
  EXPECT_EQ(time(32), time(1000));
}

/// A stream and messages of the host on the same link between two switches: both take their share.
TEST(SharpWorld, StreamsAndMessagesShareTheLinks) {
  Scene setup;
  setup.ranks = 8;
  setup.topology = "fat-tree:2;4,2;1,1;1,1";  // one link up
  const auto program = [](std::size_t stream, std::size_t message) {
    return [=](RankHandle& rank) -> Task<void> {
      std::vector<RankRequest> requests;
      if (stream > 0)
        requests.push_back(
            rank.start(rank.world_communicator(), operation_of(OperationKind::kAllreduce, 8, stream)));
      if (message > 0 && rank.rank() < 4) requests.push_back(rank.isend(rank.rank() + 4, message));
      if (message > 0 && rank.rank() >= 4) requests.push_back(rank.irecv(rank.rank() - 4, message));
      (void)co_await rank.wait_all(requests);
    };
  };
  const Time both = play(setup, program(4 * kMi, kMi)).end;
  const Time bound = Bandwidth::gigabits_per_second(100).bytes(8 * kMi);
  expect_near("a stream of 4 MiB beside 4 messages of 1 MiB", both, bound, Time::us(25), 0.04);
}

TEST(SharpWorld, ALateRankDelaysAllByAsMuch) {
  for (const std::size_t bytes : {std::size_t{8}, kMi}) {
    Scene setup;
    setup.ranks = 8;
    setup.topology = "fat-tree:4";
    const Operation operation = operation_of(OperationKind::kAllreduce, 8, bytes);
    const auto late = [=](RankHandle& rank) -> Task<void> {
      if (rank.rank() == 5) rank.compute(Time::ms(1));
      (void)co_await rank.collective(operation);
    };
    const Time alone = time_of(setup, OperationKind::kAllreduce, bytes);
    const Time end = play(setup, late).end;
    EXPECT_LE(end, Time::ms(1) + alone);
    EXPECT_GT(end, Time::ms(1) + alone - Time::us(1));
  }
}

TEST(SharpWorld, ABroadcastWaitsForItsRootAlone) {
  const auto end_of_root = [](const char* preset) {
    Scene setup;
    setup.ranks = 4;
    setup.values = {{"preset", {0, preset}}};
    return play(setup,
                [](RankHandle& rank) -> Task<void> {
                  if (rank.rank() == 3) rank.compute(Time::ms(1));
                  (void)co_await rank.bcast(8, 0);
                })
        .clocks[0];
  };
  EXPECT_LT(end_of_root("quantum"), Time::us(10));
  EXPECT_GT(end_of_root("slingshot"), Time::ms(1));  // a bitwise OR of all
}

TEST(SharpWorld, AResultByMulticastIsFasterThanOnePacketForEach) {
  Scene setup;
  setup.ranks = 32;
  setup.topology = "fat-tree:8";
  const Time copied = time_of(setup, OperationKind::kAllreduce, 256);
  setup.values = {{"multicast", {0, {}}}};
  EXPECT_GT(time_of(setup, OperationKind::kAllreduce, 256), copied);
}

TEST(SharpWorld, AReproducibleOrderIsNotFree) {
  Scene setup;
  setup.ranks = 16;
  const Time free_order = time_of(setup, OperationKind::kAllreduce, kKi);
  setup.values = {{"reproducible", {1, {}}}};
  const Spec spec = driver_with(setup.values).spec;
  EXPECT_EQ(time_of(setup, OperationKind::kAllreduce, kKi), free_order + spec.engine.bytes(kKi) * 15);
}

TEST(SharpWorld, SlingshotArmsItsSwitchesFirst) {
  Scene setup;
  setup.ranks = 4;
  setup.values = {{"preset", {0, "slingshot"}}};
  const Spec spec = driver_with(setup.values).spec;
  // A round trip for the packet that arms, and one for the operands.
  EXPECT_GT(time_of(setup, OperationKind::kAllreduce, 8), 2 * spec.latency);
}

TEST(SharpWorld, SlingshotForwardsAPartialResultAfterItsTimeout) {
  const auto late = [](Time by) {
    Scene setup;
    setup.ranks = 4;
    setup.values = {{"preset", {0, "slingshot"}}};
    return play(setup,
                [=](RankHandle& rank) -> Task<void> {
                  if (rank.rank() == 2) rank.compute(by);
                  (void)co_await rank.allreduce(8);
                })
               .end -
           by;
  };
  EXPECT_GT(late(Time::ms(40)), late(Time::ms(30)));
}

/// The ranks of a node use the switches once: four on a node cost what their tree costs.
TEST(SharpWorld, RanksOfANodeCombineFirst) {
  Scene nodes;
  nodes.ranks = 8;
  Scene ranks = nodes;
  ranks.ranks = 32;
  ranks.ranks_per_node = 4;
  const Time alone = time_of(nodes, OperationKind::kAllreduce, 8);
  const Time together = time_of(ranks, OperationKind::kAllreduce, 8);
  EXPECT_GT(together, alone);
  EXPECT_LT(together, alone + Time::us(2));
  Scene one_node = ranks;
  one_node.ranks = 4;
  EXPECT_LT(time_of(one_node, OperationKind::kAllreduce, 8), Time::us(2));
}

Task<void> everything(RankHandle& rank) {
  const int ranks = rank.size();
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{8}, std::size_t{3000}, std::size_t{12000}, std::size_t{100000}}) {
    for (const OperationKind kind :
         {OperationKind::kAllreduce, OperationKind::kReduce, OperationKind::kBcast,
          OperationKind::kReduceScatter, OperationKind::kAllgather, OperationKind::kBarrier}) {
      Operation operation = operation_of(kind, ranks, bytes / 8 * 8);
      if (has_root(kind)) operation.root = ranks - 1;
      (void)co_await rank.collective(operation);
    }
  }
  std::vector<RankRequest> requests;
  for (const std::size_t bytes : {8, 40000, 16, 1000000}) {
    requests.push_back(
        rank.start(rank.world_communicator(), operation_of(OperationKind::kAllreduce, ranks, bytes)));
    requests.push_back(
        rank.start(rank.world_communicator(), operation_of(OperationKind::kBcast, ranks, bytes)));
  }
  (void)co_await rank.sendrecv((rank.rank() + 1) % ranks, 300000, (rank.rank() + ranks - 1) % ranks, 300000);
  (void)co_await rank.wait_all(requests);
}

TEST(SharpWorld, KeepsItsInvariantsOnEveryTopologyAndInEveryOrder) {
  for (const char* const topology :
       {"star", "fat-tree:2", "fat-tree:2,2", "torus:2x4", "dragonfly:4:2:2:2"}) {
    for (const char* const preset : {"quantum", "switch_ib2", "slingshot"}) {
      for (const int ranks_per_node : {1, 3}) {
        Scene setup;
        setup.ranks = 8 * ranks_per_node - 1;
        setup.ranks_per_node = ranks_per_node;
        setup.topology = topology;
        setup.values = {{"preset", {0, preset}}};
        const Time one = play(setup, everything).end;
        setup.shuffle = 7;
        EXPECT_EQ(play(setup, everything).end, one) << topology << " " << preset << " " << ranks_per_node;
      }
    }
  }
}

}  // namespace
}  // namespace offramp::sharp
