// The host backend against the LogGP formulas that it states.
#include <gtest/gtest.h>

#include "backends/host/parameters.hpp"
#include "lib/replay/forecast.hpp"
#include "tests/cluster.hpp"
#include "tests/core/support.hpp"

namespace offramp {
namespace {

using test::Buffer;

// The defaults: L, o, g, the cost of posting, and G as 100 Gb/s.
constexpr Time kLatency = Time::ns(1000);
constexpr Time kOverhead = Time::ns(250);
constexpr Time kGap = Time::ns(50);
constexpr Time kPost = Time::ns(30);
Time wire(std::size_t bytes) {
  return Bandwidth::gigabits_per_second(100).bytes(static_cast<std::int64_t>(bytes));
}

struct OneMessage {
  Time sender;
  Time receiver;
};

OneMessage one_message(std::size_t bytes, bool synchronous = false, Time receiver_late = {}) {
  Cluster cluster(2, test::backend_named("host"));
  EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
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
  EXPECT_EQ(first.bandwidth.bytes(1 << 20), wire(1 << 20));
  Settings settings = settings_of("200g");
  const host::Nic second = host::nic_of(settings);
  EXPECT_EQ(second.overhead * 2 + second.latency, Time::ns(1610));
  EXPECT_EQ(second.bandwidth.count(), 187'800'000'000);
  EXPECT_EQ(host::nic_of(settings_of("400g")).bandwidth.count(), 375'000'000'000);
  settings.set("latency", {900, {}});
  EXPECT_EQ(host::nic_of(settings).latency, Time::ns(900));
  EXPECT_EQ(host::nic_of(settings).gap, second.gap);
  // The stages have them too: one message over each.
  for (const char* name : {"100g", "200g", "400g"}) {
    const host::Nic nic = host::nic_of(settings_of(name));
    Cluster cluster(2, test::backend_named("host"), settings_of(name));
    EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
      Buffer data(50000);
      if (rank.rank() == 0) co_await rank.send(1, data);
      if (rank.rank() == 1) co_await rank.receive(0, data);
    }),
              "");
    EXPECT_EQ(cluster.clock(1), nic.overhead + nic.bandwidth.bytes(50000) + nic.latency + nic.overhead)
        << name;
  }
}

TEST(TheHost, SaysThatTheNicHasNoEffectWhereAllOfItIsSet) {
  Settings settings = Settings::defaults(test::backend_named("host").parameters);
  ASSERT_EQ(host::without_effect(settings).size(), 1U);
  EXPECT_EQ(host::without_effect(settings)[0].parameter, "progress_share");
  settings.set("progress", {0, "thread"});
  for (const char* name : {"latency", "overhead", "gap", "bandwidth"}) {
    EXPECT_TRUE(host::without_effect(settings).empty()) << name;
    settings.set(name, {1, {}});
  }
  ASSERT_EQ(host::without_effect(settings).size(), 1U);
  EXPECT_EQ(host::without_effect(settings)[0].parameter, "nic");
}

TEST(TheHost, TakesLogGPTimeForAnEagerMessage) {
  for (const std::size_t bytes : {0, 1, 8, 1000, 65536}) {
    const OneMessage got = one_message(bytes);
    EXPECT_EQ(got.sender, kOverhead) << bytes;
    EXPECT_EQ(got.receiver, kOverhead + wire(bytes) + kLatency + kOverhead) << bytes;
  }
}

TEST(TheHost, AsksFirstForALargeOrSynchronousMessage) {
  for (const auto& [bytes, synchronous] :
       {std::pair{65537, false}, std::pair{10000000, false}, std::pair{8, true}}) {
    const auto size = static_cast<std::size_t>(bytes);
    const OneMessage got = one_message(size, synchronous);
    // Request, answer, data: each end spends its overhead on every one of them.
    const Time begin = kOverhead + kLatency + kOverhead + kLatency + kOverhead;
    EXPECT_EQ(got.sender, begin + wire(size));
    EXPECT_EQ(got.receiver, begin + kLatency + wire(size) + kOverhead);
  }
}

TEST(TheHost, WaitsWithALargeMessageForALateReceiver) {
  const Time late = Time::us(100);
  const OneMessage got = one_message(1000000, false, late);
  const Time begin = late + kPost + kOverhead + kLatency + kOverhead;
  EXPECT_EQ(got.sender, begin + wire(1000000));
  EXPECT_EQ(got.receiver, begin + kLatency + wire(1000000) + kOverhead);
}

TEST(TheHost, CopiesAnEagerMessageThatCameBeforeItsReceive) {
  const Time late = Time::us(100);
  const OneMessage got = one_message(8000, false, late);
  EXPECT_EQ(got.sender, kOverhead);
  EXPECT_EQ(got.receiver, late + kPost + kOverhead + Bandwidth::gigabits_per_second(80).bytes(8000));
}

/// When the last of n messages, sent one after the other without waiting, is there.
Time window(int messages, std::size_t bytes) {
  Cluster cluster(2, test::backend_named("host"));
  EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
    std::vector<ClusterRequestPointer> requests;
    std::vector<Buffer> data(static_cast<std::size_t>(messages), Buffer(bytes));
    for (Buffer& one : data) requests.push_back(rank.rank() == 0 ? rank.isend(1, one) : rank.irecv(0, one));
    co_await rank.wait_all(requests);
  }),
            "");
  return cluster.clock(1);
}

TEST(TheHost, SendsAWindowAtTheRateOfTheLinkOrOfItsProcessor) {
  // Bytes on the link take longer than the sender's overhead: the link is busy throughout.
  EXPECT_EQ(window(64, 65536), kOverhead + wire(65536) * 64 + kLatency + kOverhead);
  // The other way round: the receiver spends one overhead per message, once it has posted all receives.
  EXPECT_EQ(window(64, 100), kPost * 64 + kOverhead * 64);
  static_assert(kGap < kOverhead);
  const Time large = window(16, 1000000);
  EXPECT_GE(large, wire(1000000) * 16);
  EXPECT_LE(large, wire(1000000) * 16 + Time::us(5));
}

TEST(TheHost, NeverTakesLessForMoreBytes) {
  OneMessage before = one_message(0);
  for (std::size_t bytes = 1; bytes < 20000000; bytes += 1 + bytes / 3) {
    const OneMessage now = one_message(bytes);
    EXPECT_GE(now.sender, before.sender) << bytes;
    EXPECT_GE(now.receiver, before.receiver) << bytes;
    before = now;
  }
}

TEST(TheHost, NeverTakesLessForMoreBytesOrRanksInACollective) {
  const auto bcast = [](int ranks, std::size_t bytes) {
    Cluster cluster(ranks, test::backend_named("host"));
    EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
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
Forecast in_memory(OperationKind kind, int ranks, std::size_t bytes, double memory_gigabits = 712) {
  const BackendDescription& host = test::backend_named("host");
  Settings settings = Settings::defaults(host.parameters);
  settings.set("memory_bandwidth", {memory_gigabits, {}});
  settings.set("allgather", {0, "ring"});
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
  const auto copy = [](std::size_t bytes) {
    return Bandwidth::gigabits_per_second(80).bytes(static_cast<std::int64_t>(bytes));
  };
  for (const std::size_t bytes : {0, 8, 4096}) {  // copied into shared memory and out of it
    EXPECT_EQ(in_memory(OperationKind::kSend, 2, bytes).time,
              overhead + copy(bytes) + latency + copy(bytes) + overhead);
    EXPECT_EQ(in_memory(OperationKind::kSend, 2, bytes).wire.packets, 0U);
  }
  for (const std::size_t bytes : {4097, 1000000}) {  // asked for, and copied once; the sender hears of it
    const Time answered = overhead + latency + overhead + latency + overhead;
    EXPECT_EQ(in_memory(OperationKind::kSend, 2, bytes).time, answered + copy(bytes) + latency * 2);
  }
}

TEST(TheHost, SharesTheMemoryOfANode) {
  const std::size_t bytes = 1 << 20;
  const Time delivered = Bandwidth::gigabits_per_second(80).bytes(std::int64_t{8} * 7 * bytes);
  const Time shared = in_memory(OperationKind::kAllgather, 8, bytes, 80).time;
  EXPECT_GE(shared, delivered);
  EXPECT_LE(shared.seconds(), 1.05 * delivered.seconds());
  // Enough of it for eight copies at a time: the ranks' own rate counts.
  const Time alone = in_memory(OperationKind::kAllgather, 8, bytes, 640).time;
  EXPECT_NEAR(alone.seconds(), delivered.seconds() / 7, 0.05 * delivered.seconds());
}

TEST(TheHost, CountsWhatGoesOverTheWire) {
  Cluster cluster(2, test::backend_named("host"));
  EXPECT_EQ(cluster.run([](ClusterRank& rank) -> Task<void> {
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
