// Forecasts of one operation on the whole machine, and their explanation.
#include "lib/answers/replay/forecast.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

#include "backends/tinsel/tinsel.hpp"
#include "simulators/tinsel/stream.hpp"
#include "tests/engine/support.hpp"
#include "tests/timed_cluster.hpp"

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

Forecast run(const Operation& op, const std::string& name = "multicast",
             const std::string& value = "hardware", const FaultRates& faults = {}) {
  Settings settings = Settings::defaults(tinsel_backend().parameters);
  settings.set(name, {0, value});
  Result<Forecast> result = forecast({tinsel_backend(), settings, faults}, op);
  EXPECT_TRUE(result) << result.error();
  return result ? *result : Forecast();
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

TEST(TinselForecast, AgreesWithTheDriverWithoutSharedUnits) {
  // One rank per mailbox, one message at a time: the second broadcast of a communicator.
  for (const std::size_t bytes : {8U, 5000U}) {
    TimedCluster cluster(5, tinsel_backend());
    std::vector<Time> begins(5);
    EXPECT_EQ(cluster.run([&](TimedRank& rank) -> Task<void> {
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
      TimedCluster cluster(5, tinsel_backend(), settings);
      EXPECT_EQ(cluster.run([&](TimedRank& rank) -> Task<void> {
        test::Buffer own(bytes);
        test::Buffer all(rank.rank() == 2 ? 5 * bytes : 0);
        co_await rank.gather(own, all, 2);
      }),
                "");
      const Forecast forecast = run(gather, "placement", placement);
      EXPECT_EQ(forecast.wire.packets, cluster.wire().packets) << placement << bytes;
      EXPECT_EQ(forecast.wire.payload_bytes, cluster.wire().payload_bytes) << placement << bytes;
    }
  }
}

TEST(TinselForecast, FaultsOfTheWiresCostTime) {
  FaultRates faults;
  faults.loss = 0.05;
  const Operation bcast = operation(OperationKind::kBcast, 100, 3000);
  const Forecast clean = run(bcast);
  const Forecast hurt = run(bcast, "multicast", "hardware", faults);
  EXPECT_GT(hurt.time, clean.time);
  EXPECT_GT(hurt.wire.retransmissions, 0U);
  EXPECT_EQ(hurt.note, "");
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
  // 767 ranks send to one: its mailbox is the bottleneck, which a single rank cannot see.
  const Forecast few = run(operation(OperationKind::kGather, 17, 1000));
  const Forecast many = run(operation(OperationKind::kGather, 768, 1000));
  EXPECT_GT(many.time, few.time * 10);
}

TEST(TinselForecast, TheRouterBeatsSoftwareByMoreTheMoreRanksThereAre) {
  double before = 1;
  for (const int ranks : {96, 768, 3072, 49152}) {
    const double hardware = run(operation(OperationKind::kBcast, ranks, 64)).time.seconds();
    const double software =
        run(operation(OperationKind::kBcast, ranks, 64), "multicast", "software").time.seconds();
    EXPECT_GT(software / hardware, before) << ranks;
    before = software / hardware;
  }
}

TEST(TinselForecast, DeclinesMoreRanksThanTheMachineHolds) {
  EXPECT_EQ(run(operation(OperationKind::kBcast, 49153, 8)).declined,
            "48 boards hold 49152 ranks with this placement, but the program has 49153");
}

TEST(TinselExplain, EveryTopicHasAText) {
  const Settings settings = Settings::defaults(tinsel_backend().parameters);
  for (const ExplainTopic& topic : tinsel_backend().topics) {
    const Explanation text = topic.render({settings, {}, operation(OperationKind::kBcast, 40, 64), {}});
    EXPECT_EQ(text.error, "") << topic.topic;
    EXPECT_GT(text.text.size(), 50U) << topic.topic;
    std::printf("%s\n", text.text.c_str());
  }
}

}  // namespace
}  // namespace offramp::tinsel
