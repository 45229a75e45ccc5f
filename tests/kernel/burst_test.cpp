#include "offramp/kernel/burst.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "offramp/kernel/channel.hpp"

namespace offramp {
namespace {

std::vector<Time> packet_times(const std::vector<Burst>& bursts) {
  std::vector<Time> times;
  for (const Burst& burst : bursts) {
    for (std::uint32_t i = 0; i < burst.packets; ++i) times.push_back(burst.at(i));
  }
  return times;
}

/// The definition of serve(), packet by packet.
Time serve_one_by_one(std::vector<Time>& times, Time service, Time free) {
  for (Time& time : times) time = free = later(time, free) + service;
  return free;
}

Time serve_all(std::vector<Burst>& bursts, Time service, Time free) {
  std::vector<Burst> out;
  for (const Burst& burst : bursts) {
    free = serve(burst, service, free, [&](const Burst& piece) { out.push_back(piece); });
  }
  bursts.swap(out);
  return free;
}

Burst burst_of(Time first, Time period, std::uint32_t packets) {
  return {.payload = {}, .first = first, .period = period, .packets = packets, .packet_bytes = 64};
}

TEST(Burst, PacketsAreAPeriodApart) {
  const Burst burst = burst_of(Time::ns(10), Time::ns(3), 5);
  EXPECT_EQ(burst.at(0), Time::ns(10));
  EXPECT_EQ(burst.at(2), Time::ns(16));
  EXPECT_EQ(burst.last(), Time::ns(22));
}

TEST(Burst, SlowServerSpreadsIt) {
  std::vector<Burst> bursts{burst_of(Time::ns(10), Time::ns(3), 5)};
  EXPECT_EQ(serve_all(bursts, Time::ns(4), Time()), Time::ns(30));
  ASSERT_EQ(bursts.size(), 1U);
  EXPECT_EQ(bursts[0].first, Time::ns(14));
  EXPECT_EQ(bursts[0].period, Time::ns(4));
}

TEST(Burst, FastIdleServerOnlyDelaysIt) {
  std::vector<Burst> bursts{burst_of(Time::ns(10), Time::ns(3), 5)};
  EXPECT_EQ(serve_all(bursts, Time::ns(1), Time::ns(10)), Time::ns(23));
  ASSERT_EQ(bursts.size(), 1U);
  EXPECT_EQ(bursts[0].first, Time::ns(11));
  EXPECT_EQ(bursts[0].period, Time::ns(3));
}

TEST(Burst, FastBusyServerSplitsItWhereTheBacklogEnds) {
  std::vector<Burst> bursts{burst_of(Time::ns(10), Time::ns(3), 5)};
  serve_all(bursts, Time::ns(1), Time::ns(14));  // backlog 4 ns, 2 ns worked off per packet
  ASSERT_EQ(bursts.size(), 2U);
  EXPECT_EQ(packet_times(bursts),
            (std::vector<Time>{Time::ns(15), Time::ns(16), Time::ns(17), Time::ns(20), Time::ns(23)}));
}

TEST(Burst, SplitDividesThePayloadBetweenPackets) {
  std::vector<std::byte> payload(5 * 64);
  Burst burst = burst_of(Time::ns(10), Time::ns(3), 5);
  burst.payload = payload;
  std::vector<Burst> bursts{burst};
  serve_all(bursts, Time::ns(1), Time::ns(14));
  ASSERT_EQ(bursts.size(), 2U);
  for (const Burst& piece : bursts) EXPECT_EQ(piece.payload.size(), piece.packets * 64U);
  EXPECT_EQ(bursts[0].payload.data(), payload.data());
  EXPECT_EQ(bursts[1].payload.data(), payload.data() + bursts[0].payload.size());
}

TEST(Burst, FreeServerWithoutServiceTimeIsTransparent) {
  std::vector<Burst> bursts{burst_of(Time::ns(10), Time::ns(3), 5)};
  const std::vector<Time> before = packet_times(bursts);
  serve_all(bursts, Time(), Time());
  EXPECT_EQ(packet_times(bursts), before);
}

TEST(Burst, EqualsItsPacketsThroughChainsOfRandomServers) {
  std::size_t splits = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    std::mt19937_64 random(seed);
    const auto up_to = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % (n + 1)); };
    const std::uint64_t scale = random() % 2 == 0 ? 10 : 5'000;
    std::vector<Burst> bursts;
    std::size_t payload_bytes = 0;
    std::vector<std::byte> payload(8 * 40 * 4);
    Time first;
    const auto count = static_cast<std::size_t>(1 + up_to(5));
    for (std::size_t i = 0; i < count; ++i) {
      const auto packets = static_cast<std::uint32_t>(1 + up_to(39));
      bursts.push_back(burst_of(first, Time::ps(up_to(scale)), packets));
      bursts.back().payload = std::span<const std::byte>(payload).subspan(payload_bytes, packets * 4U);
      payload_bytes += packets * 4U;
      first = bursts.back().last() + Time::ps(up_to(4 * scale)) - Time::ps(up_to(scale));
      first = later(first, bursts.back().first);
    }
    std::vector<Time> times = packet_times(bursts);
    for (std::int64_t servers = 1 + up_to(5); servers > 0; --servers) {
      const Time service = Time::ps(up_to(scale));
      const Time free = Time::ps(up_to(20 * scale));
      const std::size_t before = bursts.size();
      ASSERT_EQ(serve_all(bursts, service, free), serve_one_by_one(times, service, free)) << "seed " << seed;
      ASSERT_EQ(packet_times(bursts), times) << "seed " << seed;
      ASSERT_LE(bursts.size(), 2 * before);
      splits += bursts.size() - before;
    }
    const std::byte* next = payload.data();
    for (const Burst& piece : bursts) {
      ASSERT_EQ(piece.payload.data(), next);
      ASSERT_EQ(piece.payload.size(), piece.packets * 4U);
      next += piece.payload.size();
    }
    ASSERT_EQ(next, payload.data() + payload_bytes);
  }
  EXPECT_GT(splits, 1'000U);
}

Task<void> packet_server(Channel<Time>& in, Channel<Time>& out, Time service, std::size_t packets) {
  Process& self = co_await this_process();
  for (std::size_t i = 0; i < packets; ++i) {
    co_await in.read();
    co_await delay(service);
    co_await out.write(self.clock);
  }
}

Task<void> packet_source(Channel<Time>& out, Burst burst) {
  for (std::uint32_t i = 0; i < burst.packets; ++i) co_await out.write_at(burst.at(i), burst.at(i));
}

Task<void> packet_sink(Channel<Time>& in, std::vector<Time>& seen, std::size_t packets) {
  for (std::size_t i = 0; i < packets; ++i) seen.push_back(co_await in.read());
}

TEST(Burst, EqualsAServerProcessThatHandlesPackets) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const Burst burst = burst_of(Time::ps(static_cast<std::int64_t>(random() % 50)),
                                 Time::ps(static_cast<std::int64_t>(random() % 20)),
                                 static_cast<std::uint32_t>(1 + random() % 50));
    const Time service = Time::ps(static_cast<std::int64_t>(random() % 20));
    const Time free = Time::ps(static_cast<std::int64_t>(random() % 200));
    Scheduler scheduler;
    Channel<Time> in(scheduler, 64), out(scheduler, 64);
    std::vector<Time> seen;
    scheduler.spawn("source", packet_source(in, burst));
    scheduler.spawn("server", packet_server(in, out, service, burst.packets), free);
    scheduler.spawn("sink", packet_sink(out, seen, burst.packets));
    ASSERT_TRUE(scheduler.run());
    std::vector<Burst> bursts{burst};
    serve_all(bursts, service, free);
    ASSERT_EQ(packet_times(bursts), seen) << "seed " << seed;
  }
}

}  // namespace
}  // namespace offramp
