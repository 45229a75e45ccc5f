// The whole machine in one simulation, and what is explained of it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

#include "backends/tinsel/tinsel.hpp"
#include "simulators/tinsel/stream.hpp"
#include "tests/cluster.hpp"
#include "tests/core/support.hpp"

namespace offramp::tinsel {
namespace {

Operation operation(OperationKind kind, int ranks, std::size_t bytes, int root = 0) {
  Operation op;
  op.kind = kind;
  op.ranks = ranks;
  op.bytes = bytes;
  op.root = root;
  op.element = ElementType::kFloat32;
  op.elements = bytes / 4;
  if (reduces(kind)) op.function = ReduceFunction::kSum;
  return op;
}

Forecast run(const Operation& op, const std::string& multicast = "hardware") {
  Settings settings = Settings::defaults(tinsel_backend().parameters);
  settings.set("multicast", {0, multicast});
  return tinsel_backend().forecast(op, {0, op.ranks, settings, {}, nullptr});
}

TEST(TinselForecast, ABroadcastToAllThreadsOfTheMachineIsQuick) {
  const auto begin = std::chrono::steady_clock::now();
  const Forecast result = run(operation(OperationKind::kBcast, 49152, 64));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_EQ(result.declined, "");
  EXPECT_GT(result.time, Time::us(10));
  EXPECT_LT(result.time, Time::us(100));
  EXPECT_LT(seconds, 60);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 4L << 20);  // KiB
  std::printf("bcast 49152 x 64 B: %.2f us modelled, %.2f s, %ld MiB\n", result.time.nanoseconds() / 1000,
              seconds, usage.ru_maxrss >> 10);
}

TEST(TinselForecast, AgreesWithTheDriverWhereNothingIsShared) {
  // One rank per mailbox, one message at a time: the second broadcast of a communicator.
  for (const std::size_t bytes : {8U, 5000U}) {
    Cluster cluster(5, tinsel_backend());
    std::vector<Time> begins(5);
    EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
      test::Buffer buffer(bytes);
      co_await rank.bcast(buffer, 2);
      rank.compute(Time::ms(1) - rank.clock());
      co_await rank.bcast(buffer, 2);
    }),
              "");
    Time last;
    for (const Time clock : cluster.clocks()) last = later(last, clock);
    EXPECT_EQ(run(operation(OperationKind::kBcast, 5, bytes, 2)).time, last - Time::ms(1));
  }
}

TEST(TinselForecast, CountsThePacketsOfARun) {
  for (const std::string placement : {"spread", "apart"}) {
    Settings settings = Settings::defaults(tinsel_backend().parameters);
    settings.set("placement", {0, placement});
    for (const std::size_t bytes : {8U, 3000U, 20000U}) {
      const Operation gather = operation(OperationKind::kGather, 5, bytes, 2);
      Cluster cluster(5, tinsel_backend(), settings);
      EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
        test::Buffer own(bytes);
        test::Buffer all(rank.rank() == 2 ? 5 * bytes : 0);
        co_await rank.gather(own, all, 2);
      }),
                "");
      const Forecast forecast = tinsel_backend().forecast(gather, {0, 5, settings, {}, nullptr});
      EXPECT_EQ(forecast.wire.packets, cluster.wire().packets) << placement << bytes;
      EXPECT_EQ(forecast.wire.payload_bytes, cluster.wire().payload_bytes) << placement << bytes;
    }
  }
}

TEST(TinselForecast, SaysThatCollectivesLeaveFaultsOut) {
  const Settings settings = Settings::defaults(tinsel_backend().parameters);
  FaultRates faults;
  const Operation bcast = operation(OperationKind::kBcast, 5, 64);
  EXPECT_EQ(tinsel_backend().forecast(bcast, {0, 5, settings, faults, nullptr}).note, "");
  faults.loss = 0.1;
  EXPECT_NE(tinsel_backend().forecast(bcast, {0, 5, settings, faults, nullptr}).note, "");
}

TEST(TinselForecast, EveryOperationComesToAnEnd) {
  for (const OperationKind kind :
       {OperationKind::kSend, OperationKind::kBcast, OperationKind::kReduce, OperationKind::kGather,
        OperationKind::kAllreduce, OperationKind::kScatter, OperationKind::kAllgather,
        OperationKind::kReduceScatter, OperationKind::kAlltoall, OperationKind::kBarrier}) {
    for (const int ranks : {2, 17, 100}) {
      for (const std::size_t bytes : {0U, 64U, 3000U}) {
        const Forecast result = run(operation(kind, ranks, bytes, ranks - 1));
        EXPECT_EQ(result.declined, "") << to_string(kind) << ranks << " " << bytes;
        EXPECT_GT(result.time, Time());
        EXPECT_EQ(run(operation(kind, ranks, bytes, ranks - 1)).time, result.time);
      }
    }
  }
}

TEST(TinselForecast, SharedUnitsCostTime) {
  // 767 ranks send to one: its mailbox is the bottleneck, which one rank's view cannot know.
  const Forecast few = run(operation(OperationKind::kGather, 17, 1000));
  const Forecast many = run(operation(OperationKind::kGather, 768, 1000));
  EXPECT_GT(many.time, few.time * 10);
}

TEST(TinselForecast, TheRouterBeatsSoftwareByMoreTheMoreRanksThereAre) {
  double before = 1;
  for (const int ranks : {96, 768, 3072, 49152}) {
    const double hardware = run(operation(OperationKind::kBcast, ranks, 64)).time.seconds();
    const double software = run(operation(OperationKind::kBcast, ranks, 64), "software").time.seconds();
    EXPECT_GT(software / hardware, before) << ranks;
    before = software / hardware;
  }
}

TEST(TinselForecast, DeclinesWhatTheMachineCannotHold) {
  EXPECT_EQ(run(operation(OperationKind::kBcast, 49153, 8)).declined,
            "48 boards hold 49152 ranks with this placement, the world has 49153");
  EXPECT_EQ(run(operation(OperationKind::kAlltoall, 2001, 8)).declined,
            "a forecast simulates at most 4000000 messages, and an alltoall of 2001 ranks has 4004001");
}

TEST(TinselExplain, EveryTopicHasAText) {
  const Settings settings = Settings::defaults(tinsel_backend().parameters);
  for (const ExplainTopic& topic : tinsel_backend().topics) {
    const Explanation text = topic.render({settings, operation(OperationKind::kBcast, 40, 64), {}});
    EXPECT_EQ(text.error, "") << topic.topic;
    EXPECT_GT(text.text.size(), 50U) << topic.topic;
    std::printf("%s\n", text.text.c_str());
  }
}

}  // namespace
}  // namespace offramp::tinsel
