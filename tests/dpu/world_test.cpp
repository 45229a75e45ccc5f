// Messages and collectives share service processes, in a world: they are never faster than the card's
// link, and keep it busy while there is work. Each test prints the time beside its bound.
#include "simulators/world/world.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/host/host.hpp"
#include "simulators/dpu/node.hpp"
#include "tests/dpu/support.hpp"
#include "tests/engine/support.hpp"

namespace offramp {
namespace {

using dpu::settings_with;
using dpu::SettingValues;

constexpr std::size_t kMebibyte = 1 << 20;
constexpr int kConcurrent = 16;
constexpr int kSenders = 15;

Time end_of(int ranks, int ranks_per_node, const SettingValues& values, const World::Program& program) {
  WorldOptions options;
  options.ranks = ranks;
  options.check = true;
  options.machine.ranks_per_node = ranks_per_node;
  World world(options, WorldBackend(dpu_backend(), settings_with(values)));
  EXPECT_EQ(world.run(program), "");
  EXPECT_EQ(world.violations(), std::vector<std::string>());
  return world.end();
}

/// Time of `messages` of a mebibyte over one link of the card.
Time link_bound(int messages) {
  return dpu::CardSpec().link.bytes(dpu::framed(kMebibyte)) * messages;
}

/// start: the time before the first byte and after the last one, which does not overlap.
void expect_near(Time time, Time bound, Time start) {
  fmt::print("  {:.2f} us, bound {:.2f} us, {:+.1f} %\n", dpu::microseconds(time), dpu::microseconds(bound),
             100.0 * (time.seconds() / bound.seconds() - 1));
  EXPECT_GE(time, bound);
  EXPECT_LE((time - start).seconds(), 1.03 * bound.seconds());
}

// Notifications make a round trip before the first READ.
const Time kStart = Time::us(15);

Operation operation_of(OperationKind kind, int ranks, std::size_t bytes) {
  Operation operation;
  operation.kind = kind;
  operation.ranks = ranks;
  operation.bytes = bytes;
  if (kind == OperationKind::kAllreduce) {
    operation.element = ElementType::kFloat64;
    operation.function = ReduceFunction::kSum;
    operation.elements = bytes / 8;
  }
  return operation;
}

Time at_once(OperationKind kind, int collectives, int messages) {
  return end_of(2, 1, {}, [=](RankHandle& rank) -> Task<void> {
    std::vector<RankRequest> requests;
    for (int i = 0; i < collectives; ++i)
      requests.push_back(rank.start(rank.world_communicator(), operation_of(kind, 2, kMebibyte)));
    for (int i = 0; i < messages; ++i)
      requests.push_back(rank.rank() == 0 ? rank.isend(1, kMebibyte) : rank.irecv(0, kMebibyte));
    (void)co_await rank.wait_all(requests);
  });
}

// A service process works first come, first served: here it gets all arrivals first, whose memory handles it
// imports before it posts the first READ.
TEST(DpuWorld, BroadcastsAtOnceShareTheLinkAndTheServiceProcess) {
  const Time all = at_once(OperationKind::kBcast, kConcurrent, 0);
  expect_near(all, dpu::CardSpec().import * kConcurrent + link_bound(kConcurrent), kStart);
  EXPECT_LE(all, at_once(OperationKind::kBcast, 1, 0) * kConcurrent);
}

// Both halves of each service process's slice pass the DPU's memory, and its result passes it twice, which
// takes longer than its bytes on the link. The read of the first slice and the write of the last result
// overlap with nothing.
TEST(DpuWorld, ReductionsAtOnceShareTheMemoryOfTheDpu) {
  const dpu::CardSpec card;
  const Time bound = (card.import + card.dram.bytes(2 * kMebibyte)) * kConcurrent;
  expect_near(at_once(OperationKind::kAllreduce, kConcurrent, 0), bound, Time::us(150));
}

TEST(DpuWorld, ABroadcastAndMessagesShareTheLink) {
  expect_near(at_once(OperationKind::kBcast, 1, kConcurrent), link_bound(kConcurrent + 1),
              kStart + dpu::CardSpec().import);
}

// The ranks of a node share one NIC, one PCIe link and, here, one service process.
TEST(DpuWorld, RanksOfANodeShareItsNic) {
  for (const int ranks : {8, 16}) {
    const Time all = end_of(2 * ranks, ranks, {}, [=](RankHandle& rank) -> Task<void> {
      if (rank.rank() < ranks) {
        (void)co_await rank.send(rank.rank() + ranks, kMebibyte);
      } else {
        (void)co_await rank.receive(rank.rank() - ranks, kMebibyte);
      }
    });
    expect_near(all, link_bound(ranks), kStart);
  }
}

// 100 notifications of each of 8 ranks: their service process takes two steps for each.
TEST(DpuWorld, RanksOfANodeShareItsServiceProcess) {
  constexpr int kRanks = 8;
  constexpr int kMessages = 100;
  const auto time = [](int processes) {
    const SettingValues values = {{"service_processes", {static_cast<double>(processes), {}}}};
    return end_of(2 * kRanks, kRanks, values, [](RankHandle& rank) -> Task<void> {
      std::vector<RankRequest> requests;
      const bool sends = rank.rank() < kRanks;
      for (int i = 0; i < kMessages; ++i)
        requests.push_back(sends ? rank.isend(rank.rank() + kRanks, 8) : rank.irecv(rank.rank() - kRanks, 8));
      (void)co_await rank.wait_all(requests);
    });
  };
  const Time bound = dpu::CardSpec().step() * 2 * kRanks * kMessages;
  expect_near(time(1), bound, Time::us(15));
  expect_near(time(4), Time::ps(bound.count() / 4), Time::us(15));
}

Time incast(int senders, Time late) {
  return end_of(senders + 1, 1, {}, [=](RankHandle& rank) -> Task<void> {
    if (rank.rank() > 0) {
      if (rank.rank() == 1) rank.compute(late);
      (void)co_await rank.send(0, kMebibyte);
      co_return;
    }
    std::vector<RankRequest> requests;
    for (int from = 1; from <= senders; ++from) requests.push_back(rank.irecv(from, kMebibyte));
    for (RankRequest& request : requests) (void)co_await rank.wait(request);
  });
}

TEST(DpuWorld, AnIncastTakesItsBytesOnTheReceiversLink) {
  expect_near(incast(kSenders, {}), link_bound(kSenders), kStart);
}

TEST(DpuWorld, AnIncastDoesNotWaitForALateSender) {
  expect_near(incast(kSenders, Time::ms(1)), Time::ms(1) + link_bound(1), kStart);
  expect_near(incast(3, Time::us(500)), Time::us(500) + link_bound(1), kStart);
}

TEST(DpuWorld, AMessageQueuesBehindACollectiveOfOthers) {
  // Ranks 0 and 2, and 1 and 3, are on two nodes.
  const auto time = [](bool beside) {
    return end_of(4, 2, {{"setup", {0, "none"}}}, [=](RankHandle& rank) -> Task<void> {
      const int other = (rank.rank() + 2) % 4;
      const std::optional<Communicator> pair =
          co_await rank.split(rank.world_communicator(), rank.rank() % 2, rank.rank());
      if (rank.rank() % 2 == 1) {
        if (!beside) co_return;
        const bool sends = rank.rank() < 2;
        if (sends) (void)co_await rank.send(other, kMebibyte);
        if (!sends) (void)co_await rank.receive(other, kMebibyte);
        co_return;
      }
      (void)co_await rank.collective(*pair, operation_of(OperationKind::kBcast, 2, kMebibyte));
    });
  };
  EXPECT_GT(time(true), time(false) + Time::us(30));
}

/// 64 messages at once from one rank to another one with posted receives; in GB/s.
double windowed_bandwidth(const char* card, std::size_t bytes) {
  constexpr int kWindow = 64;
  const Time end = end_of(2, 1, {{"card", {0, card}}}, [bytes](RankHandle& rank) -> Task<void> {
    std::vector<RankRequest> requests;
    for (int i = 0; i < kWindow; ++i)
      requests.push_back(rank.rank() == 0 ? rank.isend(1, bytes) : rank.irecv(0, bytes));
    (void)co_await rank.wait_all(requests);
  });
  return static_cast<double>(kWindow * bytes) / end.seconds() / 1e9;
}

// The published bandwidth of messages grows with their size, to 22.6 GB/s at 4 MiB (bf3).
TEST(DpuWorld, BandwidthHasNoStepWhereMessagesWaitForTheirReceive) {
  for (const char* const card : {"bf2", "bf3"}) {
    double before = 0;
    for (const std::size_t bytes : {16384, 32768, 65536, 65537, 131072, 262144, 1048576, 4194304}) {
      const double bandwidth = windowed_bandwidth(card, bytes);
      fmt::print("  {} {} B: {:.1f} GB/s\n", card, bytes, bandwidth);
      EXPECT_GE(bandwidth, 0.97 * before) << card << ' ' << bytes;
      before = bandwidth;
    }
  }
}

/// One byte more never makes messages much faster: one by one, from several senders, or in a window.
TEST(DpuWorld, TimesGrowWithTheBytesAcrossTheEagerLimit) {
  const auto alone = [](std::size_t bytes) {
    return [bytes](RankHandle& rank) -> Task<void> {
      if (rank.rank() == 0) (void)co_await rank.send(1, bytes);
      if (rank.rank() == 1) (void)co_await rank.receive(0, bytes);
    };
  };
  const auto incast = [](std::size_t bytes) {
    return [bytes](RankHandle& rank) -> Task<void> {
      if (rank.rank() > 0) (void)co_await rank.send(0, bytes);
      for (int from = 1; rank.rank() == 0 && from < rank.size(); ++from)
        (void)co_await rank.receive(from, bytes);
    };
  };
  for (const char* const card : {"bf2", "bf3"}) {
    const std::size_t limit = std::string_view(card) == "bf2" ? 4454 : 6728;
    std::vector<std::size_t> sizes = {limit, limit + 1};
    for (std::size_t bytes = 1; bytes <= kMebibyte; bytes *= 2) sizes.push_back(bytes);
    std::sort(sizes.begin(), sizes.end());
    Time before[3];
    for (const std::size_t bytes : sizes) {
      const Time now[] = {end_of(2, 1, {{"card", {0, card}}}, alone(bytes)),
                          end_of(9, 1, {{"card", {0, card}}}, incast(bytes)),
                          Time::ps(static_cast<std::int64_t>(64e3 * static_cast<double>(bytes) /
                                                             windowed_bandwidth(card, bytes)))};
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_GE(now[i].seconds(), 0.9 * before[i].seconds()) << card << ' ' << bytes << ", case " << i;
        before[i] = now[i];
      }
    }
  }
}

/// Ranks of a node exchange messages through its memory, as with the host.
TEST(DpuWorld, LeavesMessagesWithinANodeToTheHost) {
  const auto end = [](const BackendDescription& backend, const char* within, int ranks_per_node) {
    WorldOptions options;
    options.ranks = 4;
    options.machine.ranks_per_node = ranks_per_node;
    Settings settings = Settings::defaults(backend.parameters);
    if (within != nullptr) settings.set("within_node", {0, within});
    WorldBackend hardware(backend, settings);
    hardware.host = &host_backend();
    World world(options, hardware);
    EXPECT_EQ(world.run([](RankHandle& rank) -> Task<void> {
      if (rank.rank() == 0) (void)co_await rank.send(1, 8);
      if (rank.rank() == 1) (void)co_await rank.receive(0, 8);
    }),
              "");
    return world.end();
  };
  const Time by_host = end(host_backend(), nullptr, 4);
  EXPECT_EQ(end(dpu_backend(), nullptr, 4), by_host);
  EXPECT_GT(end(dpu_backend(), "dpu", 4), by_host * 5);
  EXPECT_EQ(end(dpu_backend(), nullptr, 1), end(dpu_backend(), "dpu", 1)) << "between nodes it is the DPU's";
}

// The time for importing memory handles is reported separately.
TEST(DpuWorld, ReportsTheTimeOfImports) {
  const auto imports = [](const SettingValues& values, const World::Program& program) {
    WorldOptions options;
    options.ranks = 2;
    World world(options, WorldBackend(dpu_backend(), settings_with(values)));
    EXPECT_EQ(world.run(program), "");
    Time sum;
    for (const World::ResourceUse& use : world.resources()) {
      if (use.name == "imports of handles") sum += use.busy;
    }
    return sum;
  };
  const auto bcast = [](RankHandle& rank) -> Task<void> { (void)co_await rank.bcast(8, 0); };
  const auto message = [](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) (void)co_await rank.send(1, kMebibyte);
    if (rank.rank() == 1) (void)co_await rank.receive(0, kMebibyte);
  };
  EXPECT_EQ(imports({}, bcast), dpu::CardSpec().import * 2);
  EXPECT_EQ(imports({}, message), Time());
  EXPECT_EQ(imports({{"message_import", {7000, {}}}}, message), Time::us(7));
}

}  // namespace
}  // namespace offramp
