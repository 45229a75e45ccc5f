// The host backend against the LogGP formulas of its documentation.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/host/parameters.hpp"
#include "lib/answers/replay/forecast.hpp"
#include "simulators/world/benchmarks.hpp"
#include "tests/engine/support.hpp"
#include "tests/timed_cluster.hpp"

namespace offramp {
namespace {

using test::Buffer;

// The defaults: L, o, g, the cost of posting, G as 100 Gb/s with RoCE's framing, PCIe at 208 Gb/s.
constexpr Time kLatency = Time::ns(1000);
constexpr Time kOverhead = Time::ns(250);
constexpr Time kGap = Time::ns(50);
constexpr Time kPost = Time::ns(30);
constexpr Time kFetch = Time::ns(550);
constexpr std::size_t kInline = 128;
constexpr std::size_t kEager = 12224;

Time at_rate(double gigabits, std::size_t bytes) {
  return Bandwidth::bits_per_second(std::llround(gigabits * 1e9)).bytes(static_cast<std::int64_t>(bytes));
}
Time wire(std::size_t bytes) {
  return at_rate(100, bytes + std::max<std::size_t>((bytes + 4095) / 4096, 1) * 82);
}
Time copy(std::size_t bytes) {
  return at_rate(80, bytes);
}
/// Over PCIe, forwarded by a NIC.
Time packet(std::size_t bytes) {
  return at_rate(208, std::min<std::size_t>(bytes, 4096));
}
/// A processor's time for a message without a handshake.
Time at_an_end(std::size_t bytes) {
  return kOverhead + (bytes > kInline ? copy(bytes) : Time());
}
/// From one processor to the other.
Time on_the_way(std::size_t bytes) {
  return (bytes > kInline ? kFetch + packet(bytes) : Time()) + wire(bytes) + kLatency + packet(bytes);
}

struct OneMessage {
  Time sender;
  Time receiver;
};

OneMessage one_message(std::size_t bytes, bool synchronous = false, Time receiver_late = {}) {
  TimedCluster cluster(2, test::backend_named("host"));
  EXPECT_EQ(cluster.run([&](TimedRank& rank) -> Task<void> {
    Buffer data(bytes);
    if (rank.rank() == 1) {
      rank.compute(receiver_late);
      co_await rank.receive(0, data);
    } else if (synchronous) {
      co_await rank.ssend(1, data);
    } else {
      co_await rank.send(1, data);
    }
  }),
            "");
  return {cluster.clock(0), cluster.clock(1)};
}

TEST(TheHost, HasTheFiguresOfTheNamedNic) {
  const auto settings_of = [](std::string name) {
    Settings settings = Settings::defaults(test::backend_named("host").parameters);
    settings.set("nic", {0, std::move(name)});
    return settings;
  };
  const host::Nic first = host::nic_of(Settings::defaults(test::backend_named("host").parameters));
  EXPECT_EQ(first.latency, kLatency);
  EXPECT_EQ(first.overhead, kOverhead);
  EXPECT_EQ(first.gap, kGap);
  EXPECT_EQ(first.bandwidth.bytes((1 << 20) + 256 * static_cast<int>(first.framing)), wire(1 << 20));
  Settings settings = settings_of("200g");
  const host::Nic second = host::nic_of(settings);
  EXPECT_EQ(second.overhead * 2 + second.latency, Time::ns(1610));
  // The rate of the payload, as published.
  const auto payload = [](const host::Nic& nic) {
    return static_cast<double>(nic.bandwidth.count()) * 4096 / static_cast<double>(4096 + nic.framing) / 1e9;
  };
  EXPECT_NEAR(payload(second), 187.8, 0.1);
  EXPECT_NEAR(payload(host::nic_of(settings_of("400g"))), 375, 0.1);
  settings.set("latency", {900, {}});
  EXPECT_EQ(host::nic_of(settings).latency, Time::ns(900));
  EXPECT_EQ(host::nic_of(settings).gap, second.gap);
  // The stages agree: one message over each.
  for (const char* name : {"100g", "bf2", "200g", "400g"}) {
    const host::Nic nic = host::nic_of(settings_of(name));
    TimedCluster cluster(2, test::backend_named("host"), settings_of(name));
    EXPECT_EQ(cluster.run([&](TimedRank& rank) -> Task<void> {
      Buffer data(100);
      if (rank.rank() == 0) co_await rank.send(1, data);
      if (rank.rank() == 1) co_await rank.receive(0, data);
    }),
              "");
    EXPECT_EQ(cluster.clock(1), nic.overhead + nic.bandwidth.bytes(100 + static_cast<int>(nic.framing)) +
                                    nic.latency + nic.pcie.bytes(100) + nic.overhead)
        << name;
  }
}

TEST(TheHost, HasTheEagerLimitsOfTheNamedTransport) {
  Settings settings = Settings::defaults(test::backend_named("host").parameters);
  EXPECT_EQ(host::eager_limits_of(settings).network, kEager);
  EXPECT_EQ(host::eager_limits_of(settings).memory, 4032U);
  settings.set("transport", {0, "ucx"});
  EXPECT_EQ(host::eager_limits_of(settings).network, 8192U);
  EXPECT_EQ(host::eager_limits_of(settings).memory, 262143U);
  settings.set("eager_limit", {0, {}});
  EXPECT_EQ(host::eager_limits_of(settings).network, 0U);
  EXPECT_EQ(host::eager_limits_of(settings).memory, 262143U);
}

TEST(TheHost, SaysThatTheNicHasNoEffectWhereAllOfItIsSet) {
  Settings settings = Settings::defaults(test::backend_named("host").parameters);
  ASSERT_EQ(host::without_effect(settings).size(), 1U);
  EXPECT_EQ(host::without_effect(settings)[0].parameter, "progress_share");
  settings.set("progress", {0, "thread"});
  for (const char* name : {"latency", "overhead", "gap", "bandwidth", "pcie", "framing"}) {
    EXPECT_TRUE(host::without_effect(settings).empty()) << name;
    settings.set(name, {1, {}});
  }
  ASSERT_EQ(host::without_effect(settings).size(), 1U);
  EXPECT_EQ(host::without_effect(settings)[0].parameter, "nic");
  settings.set("eager_limit", {1, {}});
  for (const char* name :
       {"memory_eager_limit", "memory_latency", "memory_overhead", "memory_copy_bandwidth"}) {
    EXPECT_EQ(host::without_effect(settings).size(), 1U) << name;
    settings.set(name, {1, {}});
  }
  ASSERT_EQ(host::without_effect(settings).size(), 2U);
  EXPECT_EQ(host::without_effect(settings)[1].parameter, "transport");
  for (const char* name : {"memory_bandwidth", "cache_bandwidth", "cache"}) {
    EXPECT_EQ(host::without_effect(settings).size(), 2U) << name;
    settings.set(name, {1, {}});
  }
  ASSERT_EQ(host::without_effect(settings).size(), 3U);
  EXPECT_EQ(host::without_effect(settings)[2].parameter, "processor");
}

TEST(TheHost, TakesLogGPTimeForAnEagerMessage) {
  for (const std::size_t bytes : {0, 1, 8, 128, 129, 1000, 8192}) {
    const OneMessage got = one_message(bytes);
    EXPECT_EQ(got.sender, at_an_end(bytes)) << bytes;
    EXPECT_EQ(got.receiver, at_an_end(bytes) + on_the_way(bytes) + at_an_end(bytes)) << bytes;
  }
}

TEST(TheHost, CopiesALongEagerMessageInFragments) {
  // The link and the receiver's processor follow the sender's, 8 KiB behind.
  const OneMessage got = one_message(kEager);
  EXPECT_EQ(got.sender, at_an_end(kEager));
  const Time left = later(at_an_end(8192) + kFetch + packet(4096) + wire(kEager),
                          at_an_end(kEager) + kFetch + packet(4096) + at_rate(100, 8192));
  EXPECT_EQ(got.receiver, left + kLatency + packet(4096) + at_an_end(8192));
}

TEST(TheHost, AsksFirstForALargeOrSynchronousMessage) {
  for (const auto& [bytes, synchronous] :
       {std::pair{12225, false}, std::pair{10000000, false}, std::pair{8, true}}) {
    const auto size = static_cast<std::size_t>(bytes);
    const OneMessage got = one_message(size, synchronous);
    // The request, a READ of the data, and the notification of its end.
    const Time begin = kOverhead + kLatency + kOverhead + kLatency + kFetch + packet(size);
    EXPECT_EQ(got.sender, begin + wire(size) + kLatency + kOverhead + kLatency + kOverhead);
    EXPECT_EQ(got.receiver, begin + wire(size) + kLatency + packet(size) + kOverhead);
  }
}

TEST(TheHost, WaitsWithALargeMessageForALateReceiver) {
  const Time late = Time::us(100);
  const OneMessage got = one_message(1000000, false, late);
  const Time left = late + kPost + kOverhead + kLatency + kFetch + packet(1000000) + wire(1000000);
  EXPECT_EQ(got.sender, left + kLatency + kOverhead + kLatency + kOverhead);
  EXPECT_EQ(got.receiver, left + kLatency + packet(1000000) + kOverhead);
}

TEST(TheHost, CopiesAnEagerMessageOutOfTheBufferWhenItsReceiveComes) {
  const Time late = Time::us(100);
  const OneMessage got = one_message(8000, false, late);
  EXPECT_EQ(got.sender, at_an_end(8000));
  EXPECT_EQ(got.receiver, late + kPost + at_an_end(8000));
}

/// Arrival of the last of n messages that are sent one after the other without waiting.
Time window(int messages, std::size_t bytes) {
  TimedCluster cluster(2, test::backend_named("host"));
  EXPECT_EQ(cluster.run([&](TimedRank& rank) -> Task<void> {
    std::vector<RankRequest> requests;
    std::vector<Buffer> data(static_cast<std::size_t>(messages), Buffer(bytes));
    for (Buffer& one : data) requests.push_back(rank.rank() == 0 ? rank.isend(1, one) : rank.irecv(0, one));
    co_await rank.wait_all(requests);
  }),
            "");
  return cluster.clock(1);
}

TEST(TheHost, SendsAWindowAtTheRateOfTheLinkOrOfItsProcessor) {
  // The copies by the processors take longer than the link.
  static_assert(kGap < kOverhead);
  EXPECT_EQ(window(64, 8000), at_an_end(8000) * 64 + on_the_way(8000) + at_an_end(8000));
  // The receiver spends one overhead per message, once it has posted all receives.
  EXPECT_EQ(window(64, 100), kPost * 64 + kOverhead * 64);
  // The bytes on the link take longer than everything else, so it is busy throughout.
  const Time large = window(16, 1000000);
  EXPECT_GE(large, wire(1000000) * 16 + kGap * 15);
  EXPECT_LE(large, wire(1000000) * 16 + kGap * 15 + Time::us(6));
}

TEST(TheHost, NeverTakesLessForMoreBytesByOneProtocol) {
  OneMessage before = one_message(0);
  for (std::size_t bytes = 1; bytes < 20000000; bytes += 1 + bytes / 3) {
    const OneMessage now = one_message(bytes);
    const bool is_first = bytes > kEager && bytes - (1 + bytes / 4) <= kEager;  // the first without a copy
    EXPECT_GE(now.sender, before.sender) << bytes;
    if (!is_first) {
      EXPECT_GE(now.receiver, before.receiver) << bytes;
    }
    before = now;
  }
  // The saved copy may make up for the latency of the request.
  EXPECT_GE(one_message(kEager + 1).receiver.seconds(), 0.95 * one_message(kEager).receiver.seconds());
}

TEST(TheHost, NeverTakesLessForMoreBytesOrRanksInACollective) {
  const auto bcast = [](int ranks, std::size_t bytes) {
    TimedCluster cluster(ranks, test::backend_named("host"));
    EXPECT_EQ(cluster.run([&](TimedRank& rank) -> Task<void> {
      Buffer data(bytes);
      co_await rank.bcast(data, 0);
    }),
              "");
    const std::vector<Time> clocks = cluster.clocks();
    return *std::max_element(clocks.begin(), clocks.end());
  };
  for (int ranks = 2; ranks < 9; ++ranks) EXPECT_GE(bcast(ranks + 1, 1000), bcast(ranks, 1000)) << ranks;
  Time before;
  for (const std::size_t bytes : {0, 10, 1000, 65536, 65537, 1000000}) {
    const Time now = bcast(5, bytes);
    EXPECT_GE(now, before) << bytes;
    before = now;
  }
}

/// On one node.
Forecast in_memory(OperationKind kind, int ranks, std::size_t bytes, double memory_gigabits = 712,
                   std::string transport = "ob1") {
  const BackendDescription& host = test::backend_named("host");
  Settings settings = Settings::defaults(host.parameters);
  settings.set("memory_bandwidth", {memory_gigabits, {}});
  settings.set("cache", {1e-6, {}});  // no message fits
  settings.set("allgather", {0, "ring"});
  settings.set("transport", {0, std::move(transport)});
  Operation operation;
  operation.kind = kind;
  operation.ranks = ranks;
  operation.bytes = bytes;
  Result<Forecast> result = forecast({host, settings, {}, ranks}, operation);
  EXPECT_TRUE(result);
  return *result;
}

TEST(TheHost, SendsThroughMemoryWithinANode) {
  const Time latency = Time::ns(65);
  const Time overhead = Time::ns(50);
  const Time system_call = Time::ns(1700);
  for (const std::size_t bytes : {0, 8, 4032}) {  // copied into shared memory and out of it
    EXPECT_EQ(in_memory(OperationKind::kSend, 2, bytes).time,
              overhead + copy(bytes) + latency + copy(bytes) + overhead);
    EXPECT_EQ(in_memory(OperationKind::kSend, 2, bytes).wire.packets, 0U);
  }
  for (const std::size_t bytes : {4033, 1000000}) {  // a handshake, one copy, and a notification
    const Time answered = overhead + latency + overhead + latency + overhead;
    EXPECT_EQ(in_memory(OperationKind::kSend, 2, bytes).time,
              answered + system_call + copy(bytes) + latency * 2);
  }
  // As in UCX, the receiver follows the sender, 8 KiB behind, and fetches a buffer behind the header.
  const Time of_ucx = 2 * Time::ns(400) + 2 * Time::ns(250);
  for (const std::size_t bytes : {4096, 8192, 200000}) {
    const std::size_t behind = std::min<std::size_t>(bytes, 8192);
    EXPECT_EQ(in_memory(OperationKind::kSend, 2, bytes, 712, "ucx").time,
              of_ucx + copy(bytes) + copy(behind));
  }
}

TEST(TheHost, MovesMoreInMemoryThroughABuffer) {
  // All ranks of a node send to the next one: their processors are faster than the memory.
  const std::size_t bytes = 100000;
  const Time once = in_memory(OperationKind::kAllgather, 8, bytes, 40).time;
  const Time twice = in_memory(OperationKind::kAllgather, 8, bytes, 40, "ucx").time;
  EXPECT_NEAR(twice.seconds() / once.seconds(), 1.5, 0.04);
}

TEST(TheHost, SharesTheMemoryOfANode) {
  const std::size_t bytes = 1 << 20;
  const Time delivered = Bandwidth::gigabits_per_second(80).bytes(std::int64_t{8} * 7 * bytes);
  const Time shared = in_memory(OperationKind::kAllgather, 8, bytes, 80).time;
  EXPECT_GE(shared, delivered);
  EXPECT_LE(shared.seconds(), 1.05 * delivered.seconds());
  // Memory for eight copies at a time: the ranks' own rate is the limit.
  const Time alone = in_memory(OperationKind::kAllgather, 8, bytes, 640).time;
  EXPECT_NEAR(alone.seconds(), delivered.seconds() / 7, 0.05 * delivered.seconds());
}

TEST(TheHost, HasAnotherRateInCaches) {
  // Eight ranks have buffers of nine blocks each.
  const auto time = [](std::size_t bytes) {
    const BackendDescription& host = test::backend_named("host");
    Settings settings = Settings::defaults(host.parameters);
    settings.set("memory_bandwidth", {20, {}});
    settings.set("cache_bandwidth", {40, {}});
    settings.set("cache", {8 * 9, {}});
    settings.set("allgather", {0, "ring"});
    Operation operation;
    operation.kind = OperationKind::kAllgather;
    operation.ranks = 8;
    operation.bytes = bytes;
    return forecast({host, settings, {}, 8}, operation)->time.seconds();
  };
  const std::size_t fits = 1 << 20;
  EXPECT_NEAR(time(fits + 4096) / time(fits), 2, 0.1);
}

/// All ranks of a node send to those of the next one. Returns Gb/s of the link, which has 100.
double rate_of_pairs(int pairs, double process_gigabits) {
  const BackendDescription& host = test::backend_named("host");
  Settings settings = Settings::defaults(host.parameters);
  settings.set("process_bandwidth", {process_gigabits, {}});
  const std::size_t bytes = 1 << 20;
  const MachineLayout machine{.ranks_per_node = pairs};
  const auto world = make_world({host, settings, {}, machine}, 2 * pairs);
  return static_cast<double>(bytes) * 8e-9 / message_in_window(**world, bytes).seconds();
}

TEST(TheHost, IsSlowerByOneProcessThanByItsNic) {
  EXPECT_NEAR(rate_of_pairs(1, 0), 98, 1);
  EXPECT_NEAR(rate_of_pairs(1, 30), 30, 0.5);
  EXPECT_NEAR(rate_of_pairs(2, 30), 60, 1);
  EXPECT_NEAR(rate_of_pairs(4, 30), 98, 1);
}

TEST(TheHost, CountsItsTrafficOnTheWire) {
  TimedCluster cluster(2, test::backend_named("host"));
  EXPECT_EQ(cluster.run([](TimedRank& rank) -> Task<void> {
    Buffer data(10000);
    if (rank.rank() == 0) co_await rank.send(1, data);
    if (rank.rank() == 1) co_await rank.receive(0, data);
  }),
            "");
  EXPECT_EQ(cluster.wire().packets, 3U);
  EXPECT_EQ(cluster.wire().payload_bytes, 10000U);
  EXPECT_EQ(cluster.wire().wire_bytes, 10000U + 3 * 82U);
}

}  // namespace
}  // namespace offramp
