// The driver: MPI's results, the times of the host and of the operation as the program sees them, failures.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "backends/dpu/dpu.hpp"
#include "lib/answers/replay/forecast.hpp"
#include "tests/cluster.hpp"
#include "tests/dpu/support.hpp"
#include "tests/engine/support.hpp"
#include "tests/timed_cluster.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::pattern;

using dpu::nodes_of;
using dpu::settings_with;
using dpu::timed_nodes_of;

Task<void> every_collective(ClusterRank& rank, std::size_t block) {
  const int ranks = rank.size();
  const auto own = static_cast<std::uint32_t>(rank.rank());
  Buffer blocks;
  for (int r = 0; r < ranks; ++r) {
    const Buffer one = pattern(block, static_cast<std::uint32_t>(r));
    blocks.insert(blocks.end(), one.begin(), one.end());
  }
  const Buffer mine = pattern(block, own);
  for (int root = 0; root < ranks; ++root) {
    Buffer buffer = rank.rank() == root ? mine : Buffer(block);
    EXPECT_EQ(co_await rank.bcast(buffer, root), Outcome::kOk);
    EXPECT_EQ(buffer, pattern(block, static_cast<std::uint32_t>(root)));
    Buffer all(rank.rank() == root ? blocks.size() : 0);
    EXPECT_EQ(co_await rank.gather(mine, all, root), Outcome::kOk);
    EXPECT_TRUE(rank.rank() != root || all == blocks);
    Buffer part(block);
    const Buffer nothing;
    const Bytes parts = rank.rank() == root ? Bytes(blocks) : Bytes(nothing);
    EXPECT_EQ(co_await rank.scatter(parts, part, root), Outcome::kOk);
    EXPECT_EQ(part, mine);
  }
  Buffer all(blocks.size());
  EXPECT_EQ(co_await rank.allgather(mine, all), Outcome::kOk);
  EXPECT_EQ(all, blocks);
  Buffer out;
  for (int r = 0; r < ranks; ++r) {
    const Buffer one = pattern(block, own * 100 + static_cast<std::uint32_t>(r));
    out.insert(out.end(), one.begin(), one.end());
  }
  Buffer in(out.size());
  EXPECT_EQ(co_await rank.alltoall(out, in), Outcome::kOk);
  EXPECT_EQ(co_await rank.alltoall(out, out), Outcome::kOk);  // in place
  EXPECT_EQ(in, out);
  for (int r = 0; r < ranks; ++r) {
    const Buffer expected = pattern(block, static_cast<std::uint32_t>(r) * 100 + own);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                           in.begin() + static_cast<std::ptrdiff_t>(block * static_cast<std::size_t>(r))));
  }
  EXPECT_EQ(co_await rank.barrier(), Outcome::kOk);
}

Task<void> every_reduction(ClusterRank& rank, std::size_t count) {
  Int32Sum sum;
  const auto ranks = static_cast<std::size_t>(rank.size());
  const int total = rank.size() * (rank.size() + 1) / 2;
  const std::vector<std::int32_t> data(count * ranks, rank.rank() + 1);
  const Bytes bytes = std::as_bytes(std::span(data));
  std::vector<std::int32_t> result(count * ranks);
  const MutableBytes into = std::as_writable_bytes(std::span(result));
  for (int root = 0; root < rank.size(); ++root) {
    std::fill(result.begin(), result.end(), -1);
    EXPECT_EQ(co_await rank.reduce(bytes, into, root, sum), Outcome::kOk);
    EXPECT_TRUE(rank.rank() != root || std::count(result.begin(), result.end(), total) ==
                                           static_cast<std::ptrdiff_t>(result.size()));
  }
  std::fill(result.begin(), result.end(), -1);
  EXPECT_EQ(co_await rank.allreduce(bytes, into, sum), Outcome::kOk);
  EXPECT_EQ(std::count(result.begin(), result.end(), total), static_cast<std::ptrdiff_t>(result.size()));
  std::fill(result.begin(), result.end(), -1);
  EXPECT_EQ(co_await rank.reduce_scatter(bytes, into.first(into.size() / ranks), sum), Outcome::kOk);
  EXPECT_EQ(std::count(result.begin(), result.end(), total), static_cast<std::ptrdiff_t>(count));
}

TEST(DpuBackend, CollectivesAreRightForEveryRootAndPlatform) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const double processes : {1.0, 2.0, 4.0}) {
      const Settings settings = settings_with({{"service_processes", {processes, {}}}});
      Cluster cluster(ranks, dpu_backend(), settings, nodes_of(4));
      EXPECT_EQ(cluster.run([](ClusterRank& rank) -> Task<void> {
        for (const std::size_t block : {0, 1, 1000, 70001}) co_await every_collective(rank, block);
        for (const std::size_t count : {0, 1, 3000, 30000}) co_await every_reduction(rank, count);
      }),
                "");
      EXPECT_EQ(cluster.engine(0).lane().counters.calls[0].declined, 0U);
      EXPECT_EQ(cluster.engine(0).malformed(), 0U);
    }
  }
}

Operation allgather_of(int ranks, std::size_t bytes) {
  Operation operation;
  operation.kind = OperationKind::kAllgather;
  operation.bytes = bytes;
  operation.ranks = ranks;
  return operation;
}

/// Times of one rank: the return of the nonblocking call, and its completion as seen by the program.
struct Seen {
  Time returned;
  Time completed;
};

Seen nonblocking(const Operation& operation, const Settings& settings, int ranks_per_node, Time compute) {
  TimedCluster cluster(operation.ranks, dpu_backend(), settings, timed_nodes_of(ranks_per_node),
                       dpu::measured_hosts());
  Seen seen;
  EXPECT_EQ(cluster.run([&](TimedRank& rank) -> Task<void> {
    RankRequest request = rank.start(operation);
    if (rank.rank() == 0) seen.returned = rank.clock();
    rank.compute(compute);
    co_await rank.wait(request);
    if (rank.rank() == 0) seen.completed = rank.clock();
  }),
            "");
  return seen;
}
Seen nonblocking_allgather(const Settings& settings, int ranks_per_node, int ranks, std::size_t bytes,
                           Time compute) {
  return nonblocking(allgather_of(ranks, bytes), settings, ranks_per_node, compute);
}

TEST(DpuBackend, TheHostGoesOnWhileTheServiceProcessesWork) {
  const Settings settings = settings_with({});
  const Seen pure = nonblocking_allgather(settings, 1, 4, 1000, {});
  EXPECT_LT(pure.returned, Time::us(3));
  EXPECT_GT(pure.completed, Time::us(40));
  const Time compute = Time::us(200);
  const Seen overlapped = nonblocking_allgather(settings, 1, 4, 1000, compute);
  EXPECT_EQ(overlapped.returned, pure.returned);
  EXPECT_EQ(overlapped.completed, pure.returned + compute);  // it cost the host only its post
}

/// Copies by the hosts beside the DPU are as fast as beside any NIC.
TEST(DpuBackend, CopiesWithTheMemoryOfItsHosts) {
  const auto end_on = [](const char* processor) {
    Settings host = Settings::defaults(host_backend().parameters);
    host.set("processor", {0, processor});
    TimedCluster cluster(8, dpu_backend(), settings_with({}), timed_nodes_of(4), host);
    EXPECT_EQ(cluster.run([](TimedRank& rank) -> Task<void> {
      (void)co_await rank.collective(allgather_of(8, 1 << 20));
    }),
              "");
    return cluster.clock(0).seconds();
  };
  EXPECT_GT(end_on("xeon"), 1.5 * end_on("sc23"));
}

TEST(DpuBackend, DoesNotOverlapDeliveryByHosts) {
  const Settings settings = settings_with({});
  const std::size_t bytes = 100000;
  const Time compute = Time::ms(5);
  const Seen seen = nonblocking_allgather(settings, 4, 8, bytes, compute);
  const dpu::CardSpec card;
  const Time block = later(card.single_block, card.single_copy.bytes(static_cast<std::int64_t>(bytes) * 4));
  EXPECT_EQ(seen.completed, seen.returned + compute + block * 8);
  const Settings relieved = settings_with({{"delivery", {0, "dpu"}}});
  const Seen quick = nonblocking_allgather(relieved, 4, 8, bytes, compute);
  EXPECT_EQ(quick.completed, quick.returned + compute);
}

// The published run, through the whole driver.
TEST(DpuBackend, ShowsThePublishedOverlapThroughTheWholeDriver) {
  const Settings settings = settings_with({{"service_processes", {4, {}}}});
  for (const auto& [bytes, published] :
       {std::pair<std::size_t, double>{256, 95.0}, {4096, 89.7}, {16384, 41.5}}) {
    const Seen pure = nonblocking_allgather(settings, 32, 128, bytes, {});
    const Seen both = nonblocking_allgather(settings, 32, 128, bytes, pure.completed);
    const double overlap =
        100.0 * (1.0 - (both.completed - pure.completed).seconds() / pure.completed.seconds());
    EXPECT_NEAR(overlap, published, 10.0) << bytes;
  }
}

// Published: ialltoall of 4 nodes with one rank each on BlueField-3 overlaps by 92 to 99 % at all sizes.
TEST(DpuBackend, OverlapsAnAlltoallAsPublished) {
  const Settings settings = settings_with({{"card", {0, "bf3"}}, {"link", {100, {}}}});
  for (const std::size_t bytes : {2, 64, 4096, 65536, 1048576}) {
    Operation operation = allgather_of(4, bytes);
    operation.kind = OperationKind::kAlltoall;
    const Seen pure = nonblocking(operation, settings, 1, {});
    const Seen both = nonblocking(operation, settings, 1, pure.completed);
    const double overlap =
        100.0 * (1.0 - (both.completed - pure.completed).seconds() / pure.completed.seconds());
    EXPECT_GT(overlap, 82) << bytes;
  }
}

TEST(DpuBackend, DeclinesOperationsThatAnArmCoreLacks) {
  const Settings settings = settings_with({});
  const auto backend = dpu_backend().create({0, 4, settings, {}, nullptr});
  Operation operation;
  EXPECT_TRUE(backend->supports(operation).yes());
  operation.kind = OperationKind::kReduce;
  operation.element = ElementType::kFloat64;
  operation.function = ReduceFunction::kSum;
  EXPECT_TRUE(backend->supports(operation).yes());
  operation.function = ReduceFunction::kUser;
  EXPECT_FALSE(backend->supports(operation).yes());
  operation.function = ReduceFunction::kSum;
  operation.element = ElementType::kFloatExtended;
  EXPECT_FALSE(backend->supports(operation).yes());
  const auto crowded = dpu_backend().create({0, 1000, settings, {}, nullptr});
  EXPECT_FALSE(crowded->supports({}).yes());
}

TEST(DpuBackend, GoesOnWhenAServiceProcessDies) {
  for (const std::string kind : {"never", "dies", "stalls"}) {
    const Settings settings = settings_with({{"failure", {0, kind}},
                                             {"failure_process", {1, {}}},
                                             {"failure_at", {500, {}}},
                                             {"failure_stall", {5000, {}}},
                                             {"failure_detect", {200, {}}}});
    TimedCluster whole(5, dpu_backend());
    TimedCluster hurt(5, dpu_backend(), settings);
    for (TimedCluster* cluster : {&whole, &hurt}) {
      EXPECT_EQ(cluster->run([](TimedRank& rank) -> Task<void> {
        for (int round = 0; round < 3; ++round) {
          const int right = (rank.rank() + 1) % rank.size();
          const int left = (rank.rank() + rank.size() - 1) % rank.size();
          for (const std::size_t bytes : {8, 60000, 100000}) {
            const Buffer data(bytes);
            Buffer into(bytes);
            const Received got = co_await rank.sendrecv(right, data, left, into, 5);
            EXPECT_EQ(got.outcome, Outcome::kOk);
          }
          Buffer buffer(1000);
          Buffer blocks(5000);
          EXPECT_EQ(co_await rank.bcast(buffer, round), Outcome::kOk);
          EXPECT_EQ(co_await rank.allgather(buffer, blocks), Outcome::kOk);
          EXPECT_EQ(co_await rank.alltoall(blocks, blocks), Outcome::kOk);
          EXPECT_EQ(co_await rank.barrier(), Outcome::kOk);
        }
      }),
                "");
    }
    EXPECT_GT(hurt.clock(0), whole.clock(0)) << kind;
    EXPECT_LT(hurt.clock(0), whole.clock(0) + Time::ms(20)) << kind;
    EXPECT_EQ(whole.wire().rerouted, 0U);
    EXPECT_GT(hurt.wire().rerouted, 0U);
  }
}

TEST(DpuBackend, RepairsLossesOnTheNetworkAtACost) {
  WorldOptions options;
  options.faults = {7, 0.02, 0.02, 0.02};
  TimedCluster whole(4, dpu_backend());
  TimedCluster hurt(4, dpu_backend(), options);
  for (TimedCluster* cluster : {&whole, &hurt}) {
    EXPECT_EQ(cluster->run([](TimedRank& rank) -> Task<void> {
      for (int i = 0; i < 30; ++i) {
        Buffer data(static_cast<std::size_t>(i) * 3000);
        Buffer into(data.size());
        const Received got =
            co_await rank.sendrecv((rank.rank() + 1) % 4, data, (rank.rank() + 3) % 4, into, 5);
        EXPECT_EQ(got.outcome, Outcome::kOk);
        EXPECT_EQ(co_await rank.bcast(data, i % 4), Outcome::kOk);
      }
    }),
              "");
  }
  EXPECT_GT(hurt.wire().lost, 0U);
  EXPECT_GT(hurt.clock(0), whole.clock(0) + Time::ms(50));
}

TEST(DpuBackend, GivesEachDeclineItsTrueReason) {
  const Settings settings = settings_with({{"service_processes", {2, {}}}});
  const auto reason_on = [](int ranks_per_node, const Settings& of, int ranks, const Operation& operation) {
    const BackendContext context{0, ranks, of, {}, nullptr, nullptr, {.ranks_per_node = ranks_per_node}};
    return std::string(dpu_backend().create(context)->supports(operation).reason);
  };
  const auto reason = [&](const Settings& of, int ranks, const Operation& operation) {
    return reason_on(2, of, ranks, operation);
  };
  Operation send;
  EXPECT_EQ(reason(settings, 256, send), "");  // 128 nodes with two service processes each
  EXPECT_EQ(reason(settings, 257, send), "the service supports at most 256 service processes");
  const Settings crowded = settings_with({{"service_processes", {1, {}}}});
  EXPECT_EQ(reason_on(100, crowded, 10000, send), "");
  EXPECT_EQ(reason_on(100, crowded, 10001, send), "the service supports at most 10000 peers");
  Operation reduction;
  reduction.kind = OperationKind::kAllreduce;
  reduction.ranks = 4;
  reduction.element = ElementType::kFloat64;
  reduction.function = ReduceFunction::kSum;
  EXPECT_EQ(reason(settings, 4, reduction), "");
  reduction.element = ElementType::kFloatExtended;
  EXPECT_EQ(reason(settings, 4, reduction), "long double has 80 bits on the host and 128 on Arm");
  reduction.element = ElementType::kMixed;
  EXPECT_EQ(reason(settings, 4, reduction), "the service processes reduce elements of predefined types only");
  reduction.commutative = false;
  EXPECT_EQ(reason(settings, 4, reduction), "the service processes combine in the order of arrival");
  reduction.function = ReduceFunction::kUser;
  EXPECT_EQ(reason(settings, 4, reduction),
            "a user-defined reduction is host code, which an Arm core cannot run");
  reduction.kind = OperationKind::kBcast;  // none of this applies without a reduction
  EXPECT_EQ(reason(settings, 4, reduction), "");
  reduction.kind = OperationKind::kScan;
  EXPECT_EQ(reason(settings, 4, reduction), "the hardware has no such collective");
}

Forecast forecast_of(const Settings& settings, const Operation& operation, int ranks_per_node = 1) {
  const Result<Forecast> result =
      forecast({dpu_backend(), settings, {}, {.ranks_per_node = ranks_per_node}}, operation);
  EXPECT_TRUE(result) << result.error();
  return result ? *result : Forecast();
}

TEST(DpuForecast, IsTheTimeOfTheProgramsOperation) {
  const Settings settings = settings_with({{"service_processes", {2, {}}}});
  for (const std::size_t bytes : {8, 5000, 200000}) {
    Operation operation = allgather_of(8, bytes);
    const Forecast allgather = forecast_of(settings, operation, 4);
    const Seen seen = nonblocking_allgather(settings, 4, 8, bytes, {});
    EXPECT_GE(allgather.time, seen.completed);
    EXPECT_LT(allgather.time.seconds(), seen.completed.seconds() * 1.1);
    operation.kind = OperationKind::kSend;
    operation.root = 3;  // to a rank of the other node
    EXPECT_GT(forecast_of(settings, operation, 4).time, Time::us(3));
  }
  Operation reduction;
  reduction.kind = OperationKind::kReduce;
  reduction.ranks = 4;
  reduction.function = ReduceFunction::kUser;
  EXPECT_NE(forecast_of(settings, reduction).declined, "");
}

TEST(DpuForecast, IsTheHostsTimeForOneRank) {
  for (const std::string delivery : {"hosts", "dpu"}) {
    const Settings settings = settings_with({{"delivery", {0, delivery}}});
    for (int i = 0; i < static_cast<int>(OperationKind::kCount); ++i) {
      const auto kind = static_cast<OperationKind>(i);
      if (kind == OperationKind::kSend || !kRegularOperations.contains(kind)) continue;
      Operation operation = allgather_of(1, kind == OperationKind::kBarrier ? 0 : 4096);
      operation.kind = kind;
      operation.element = ElementType::kInt32;
      operation.elements = operation.bytes / 4;
      operation.function = ReduceFunction::kSum;
      TimedCluster cluster(1, dpu_backend(), settings);
      EXPECT_EQ(cluster.run([&](TimedRank& rank) -> Task<void> { co_await rank.collective(operation); }), "");
      const Forecast forecast = forecast_of(settings, operation);
      EXPECT_GT(forecast.time, Time()) << to_string(kind);
      EXPECT_EQ(forecast.time, cluster.clock(0)) << to_string(operation.kind);
    }
  }
}

TEST(DpuExplain, ShowsWhoServesWhom) {
  const Settings settings = settings_with({{"service_processes", {2, {}}}});
  Operation operation;
  operation.ranks = 8;
  for (const ExplainTopic& topic : dpu_backend().topics) {
    const Explanation shown = topic.render({settings, {.ranks_per_node = 4}, operation, {}});
    EXPECT_EQ(shown.error, "") << topic.topic;
    EXPECT_FALSE(shown.text.empty());
  }
  const Explanation platform =
      dpu_backend().topics[0].render({settings, {.ranks_per_node = 4}, operation, {}});
  EXPECT_NE(platform.text.find("service process 3: node 1, local id 1"), std::string::npos) << platform.text;
  EXPECT_NE(platform.text.find("ranks 5 7"), std::string::npos) << platform.text;
}

TEST(DpuExplain, WritesAConfigurationFileAndChecksOne) {
  const Settings settings = settings_with({{"service_processes", {2, {}}}});
  Operation operation;
  operation.ranks = 8;
  const ExplainTopic& config = dpu_backend().topics[2];
  ASSERT_EQ(config.topic, "config");
  const std::string text = config.render({settings, {.ranks_per_node = 4}, operation, {}}).text;
  EXPECT_EQ(text,
            "# Format version: 1\n"
            "node0,dpu0:10.0.0.1:7100&7101:9100&9101\n"
            "node1,dpu1:10.0.0.2:7100&7101:9100&9101\n");
  const std::string path = testing::TempDir() + "dpu_nodes.cfg";
  const std::vector<std::string> arguments = {path};
  std::ofstream(path) << text;
  EXPECT_EQ(config.render({settings, {.ranks_per_node = 4}, operation, arguments}).text,
            path + ": format version 1, 2 hosts, 2 service processes per DPU\n");
  std::ofstream(path) << text << "node2,dpu2:10.0.0.3:7100:9100\n";
  EXPECT_EQ(config.render({settings, {.ranks_per_node = 4}, operation, arguments}).error,
            path + ":4: DPU \"dpu2\" has 1 service processes, others have 2");
  std::remove(path.c_str());
  EXPECT_EQ(config.render({settings, {.ranks_per_node = 4}, operation, arguments}).error,
            path + ":0: cannot be read");
}

}  // namespace
}  // namespace offramp
