// Resources of the array that operations and ranks share in a world: GMIO ports and the memory behind them,
// cores, and stream switches. Compares times with bounds that follow from the parameters, and prints both.
#include "simulators/world/world.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "backends/aie/aie.hpp"
#include "backends/aie/parameters.hpp"

namespace offramp::aie::world_test {
namespace {

constexpr std::size_t kMebibyte = 1 << 20;
constexpr int kConcurrent = 16;
using Values = std::vector<std::pair<std::string, Settings::Value>>;

Settings settings_with(const Values& values) {
  Settings settings = Settings::defaults(aie_backend().parameters);
  for (const auto& [name, value] : values) settings.set(name, value);
  return settings;
}
Values in_tiles() {
  return {{"data", {0, "tiles"}}};
}

/// In microseconds.
double end_of(int ranks, const World::Program& program, const Values& values = {}) {
  WorldOptions options;
  options.ranks = ranks;
  options.check = true;
  World world(options, WorldBackend(aie_backend(), settings_with(values)));
  EXPECT_EQ(world.run(program), "");
  EXPECT_EQ(world.violations(), std::vector<std::string>());
  return world.end().seconds() * 1e6;
}

/// Times of `bytes` through one port in windows of 8 KiB, and through the memory in one direction.
double port_bound(std::size_t bytes) {
  const HostPath path;
  return (path.port_time(8192) * static_cast<std::int64_t>(bytes / 8192)).seconds() * 1e6;
}
double memory_bound(std::size_t bytes) {
  return HostPath().total_time(bytes).seconds() * 1e6;
}

void expect_near(double time, double bound, double most = 1.03) {
  std::printf("  %.1f us, bound %.1f us\n", time, bound);
  EXPECT_GE(time, bound);
  EXPECT_LE(time, most * bound);
}

Operation operation_of(OperationKind kind, int ranks, std::size_t bytes) {
  Operation operation;
  operation.kind = kind;
  operation.ranks = ranks;
  operation.bytes = bytes;
  operation.elements = bytes / 4;
  operation.element = ElementType::kInt32;
  operation.function = reduces(kind) ? ReduceFunction::kSum : ReduceFunction::kNone;
  return operation;
}

/// Several collectives at once, beside messages from rank 0 to rank 1.
Task<void> at_once(RankHandle& rank, Operation operation, int collectives, int messages) {
  std::vector<RankRequest> requests;
  for (int i = 0; i < collectives; ++i) requests.push_back(rank.start(rank.world_communicator(), operation));
  for (int i = 0; i < messages; ++i)
    requests.push_back(rank.rank() == 0 ? rank.isend(1, kMebibyte) : rank.irecv(0, kMebibyte));
  (void)co_await rank.wait_all(requests);
}

TEST(AieWorld, ConcurrentBroadcastsShareTheRootsPort) {
  const Operation bcast = operation_of(OperationKind::kBcast, 2, kMebibyte);
  expect_near(end_of(2, [&](RankHandle& rank) { return at_once(rank, bcast, kConcurrent, 0); }),
              port_bound(kConcurrent * kMebibyte));
}

/// Elements pass one core of each rank, at 53 cycles each in the root.
TEST(AieWorld, ConcurrentReductionsShareTheCores) {
  const Operation allreduce = operation_of(OperationKind::kAllreduce, 2, kMebibyte);
  const double cycles = 53.0 * kConcurrent * kMebibyte / 4;
  expect_near(end_of(2, [&](RankHandle& rank) { return at_once(rank, allreduce, kConcurrent, 0); }),
              cycles / 1250);
  const double one = end_of(2, [&](RankHandle& rank) { return at_once(rank, allreduce, 1, 0); });
  const double small = end_of(2, [&](RankHandle& rank) {
    return at_once(rank, operation_of(OperationKind::kAllreduce, 2, 16), kConcurrent, 0);
  });
  EXPECT_GT(one, cycles / kConcurrent / 1250);
  EXPECT_GT(small, kConcurrent * 300.0 / 1250) << "locks and calls take the core, too";
}

TEST(AieWorld, ABroadcastBesideMessagesSharesTheSendersPort) {
  const Operation bcast = operation_of(OperationKind::kBcast, 2, kMebibyte);
  expect_near(end_of(2, [&](RankHandle& rank) { return at_once(rank, bcast, 1, kConcurrent); }),
              port_bound((kConcurrent + 1) * kMebibyte));
}

/// Disjoint pairs of distant ranks.
Task<void> pairs(RankHandle& rank, int count, int stride, std::size_t bytes) {
  const int from = rank.rank();
  if (from % stride == 0 && from / stride < count) (void)co_await rank.send(from + 1 + stride / 2, bytes);
  const int sender = from - 1 - stride / 2;
  if (sender >= 0 && sender % stride == 0 && sender / stride < count)
    (void)co_await rank.receive(sender, bytes);
}

TEST(AieWorld, DisjointPairsShareTheMemory) {
  for (const int count : {2, 4, 8})
    expect_near(end_of(32, [=](RankHandle& rank) { return pairs(rank, count, 4, kMebibyte); }),
                memory_bound(static_cast<std::size_t>(count) * kMebibyte), count == 8 ? 1.03 : 1.05);
  const double alone = end_of(32, [=](RankHandle& rank) { return pairs(rank, 1, 4, kMebibyte); });
  expect_near(alone, port_bound(kMebibyte), 1.05);
}

/// The lower half of the ranks sends to the upper half.
Task<void> halves(RankHandle& rank, std::size_t bytes) {
  const int half = rank.size() / 2;
  if (rank.rank() < half) {
    (void)co_await rank.send(rank.rank() + half, bytes);
  } else {
    (void)co_await rank.receive(rank.rank() - half, bytes);
  }
}

/// Messages reach the memory in an order that differs from the lengths of their routes through the array.
TEST(AieWorld, TheMemoryServesMessagesInTheOrderInWhichTheyAreReady) {
  for (const int ranks : {8, 10, 16, 30})
    expect_near(end_of(ranks, [](RankHandle& rank) { return halves(rank, kMebibyte); }),
                memory_bound(static_cast<std::size_t>(ranks / 2) * kMebibyte), 1.02);
  expect_near(end_of(16,
                     [](RankHandle& rank) -> Task<void> {
                       const int other = (rank.rank() + 8) % 16;
                       RankRequest request = rank.irecv(other, kMebibyte);
                       (void)co_await rank.send(other, kMebibyte);
                       (void)co_await rank.wait(request);
                     }),
              memory_bound(16 * kMebibyte), 1.02);
}

/// Two ranks have one port in and one out. The message that has waited longer is served first: one rank sends
/// and receives without a pause, and the message of the other is not deferred to the end.
TEST(AieWorld, RanksOfOnePortTakeTurns) {
  constexpr int kMessages = 20;
  Time other;
  WorldOptions options;
  options.ranks = 64;
  options.check = true;
  World world(options, WorldBackend(aie_backend(), settings_with({})));
  EXPECT_EQ(world.run([&](RankHandle& rank) -> Task<void> {
    for (int i = 0; i < kMessages && rank.rank() == 0; ++i) (void)co_await rank.send(32, 262144);
    for (int i = 0; i < kMessages && rank.rank() == 32; ++i) (void)co_await rank.receive(0, 262144);
    if (rank.rank() == 1) {
      rank.compute(Time::us(1));
      (void)co_await rank.send(33, 262144);
    }
    if (rank.rank() == 33) {
      (void)co_await rank.receive(1, 262144);
      other = rank.clock();
    }
  }),
            "");
  EXPECT_EQ(world.violations(), std::vector<std::string>());
  EXPECT_LT(other, Time::ps(world.end().count() / 5));
}

/// Ranks of the array's first row send to different tiles of the eighth column. The link into that column has
/// four channels.
TEST(AieWorld, StreamsCollideOnALinkOfFourChannels) {
  constexpr int kMessages = 8;
  const auto into_a_column = [](int senders) {
    return [=](RankHandle& rank) -> Task<void> {
      static constexpr int kRow[] = {0, 15, 16, 31, 32, 47, 48};
      for (int i = 0; i < kMessages; ++i) {
        for (int sender = 0; sender < senders; ++sender) {
          if (rank.rank() == kRow[sender]) (void)co_await rank.send(56 + sender, 65536);
          if (rank.rank() == 56 + sender) (void)co_await rank.receive(kRow[sender], 65536);
        }
      }
    };
  };
  const double one = end_of(64, into_a_column(1), in_tiles());
  const double four = end_of(64, into_a_column(4), in_tiles());
  const double seven = end_of(64, into_a_column(7), in_tiles());
  const double stream = kMessages * 65536 / 4 / 1250.0;  // a word per cycle
  expect_near(one, stream, 1.2);
  EXPECT_LT(four, 1.01 * one);
  expect_near(seven, stream * 7 / 4, 1.2);
}

/// The time of the last of several operations of four ranks, in microseconds.
double last_of(const std::vector<Operation>& operations) {
  const auto first = [&](std::size_t count) {
    return end_of(
        4,
        [&operations, count](RankHandle& rank) -> Task<void> {
          for (std::size_t i = 0; i < count; ++i) {
            (void)co_await rank.collective(operations[i]);
            co_await rank.synchronize(rank.world_communicator());
          }
        },
        in_tiles());
  };
  return first(operations.size()) - first(operations.size() - 1);
}

TEST(AieWorld, AnotherRootOrWindowIsAGraphThatIsLoadedOnce) {
  const Operation reduce = operation_of(OperationKind::kReduce, 4, 16);
  Operation elsewhere = reduce;
  elsewhere.root = 2;
  const Operation larger = operation_of(OperationKind::kReduce, 4, 64);
  const Operation other = operation_of(OperationKind::kScatter, 4, 16);
  const double load = 4 * 16384 / 1.5e3;
  EXPECT_NEAR(last_of({reduce, elsewhere}) - last_of({elsewhere}), load, 0.001);
  EXPECT_NEAR(last_of({reduce, larger}) - last_of({larger}), load, 0.001);
  EXPECT_NEAR(last_of({reduce, reduce}), last_of({reduce}), 0.001);
  EXPECT_NEAR(last_of({reduce, elsewhere, reduce}), last_of({reduce}), 0.001) << "it is still there";
  EXPECT_NEAR(last_of({reduce, elsewhere, reduce, elsewhere}), last_of({elsewhere}), 0.001);
  EXPECT_NEAR(last_of({reduce, other}), last_of({other}), 0.001) << "compiled with the program";
}

Task<void> incast(RankHandle& rank, Time late) {
  if (rank.rank() == 0) {
    std::vector<RankRequest> requests;
    for (int peer = 1; peer < rank.size(); ++peer) requests.push_back(rank.irecv(peer, kMebibyte));
    (void)co_await rank.wait_all(requests);
    co_return;
  }
  if (rank.rank() == 1) rank.compute(late);
  (void)co_await rank.send(0, kMebibyte);
}

TEST(AieWorld, AnIncastTakesTheTimeOfTheReceiversPortEvenIfASenderIsLate) {
  for (const Time late : {Time(), Time::ms(1)})
    expect_near(end_of(16, [late](RankHandle& rank) { return incast(rank, late); }),
                port_bound(15 * kMebibyte));
  const double alone = end_of(2, [](RankHandle& rank) { return incast(rank, {}); });
  EXPECT_NEAR(end_of(3, [](RankHandle& rank) { return incast(rank, Time::ms(2)); }), 2000 + alone, 1);
}

/// All blocks go through the root's port.
TEST(AieWorld, GatherAndScatterOf64RanksComeNearTheRootsPort) {
  for (const std::size_t block : {std::size_t{32768}, kMebibyte}) {
    for (const OperationKind kind : {OperationKind::kGather, OperationKind::kScatter}) {
      const Operation operation = operation_of(kind, 64, block);
      expect_near(
          end_of(64, [&](RankHandle& rank) -> Task<void> { (void)co_await rank.collective(operation); }),
          port_bound(64 * block), 1.5);
    }
  }
}

}  // namespace
}  // namespace offramp::aie::world_test
