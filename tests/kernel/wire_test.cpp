#include "offramp/kernel/wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace offramp::wire_test {
namespace {

const WireSpec kSpec{.latency = Time::ns(500),
                     .bandwidth = Bandwidth::gigabits_per_second(8),
                     .overhead_bytes = 20,
                     .max_packet_bytes = 1500};

struct Arrival {
  int packet;
  Time time;
  friend bool operator==(const Arrival&, const Arrival&) = default;
};

Task<void> send_all(Wire<int>& wire, int count, std::uint32_t bytes, std::vector<Time>& sent) {
  Process& self = co_await this_process();
  for (int i = 0; i < count; ++i) {
    co_await wire.send(i, bytes);
    sent.push_back(self.clock);
  }
}

Task<void> receive_all(Wire<int>& wire, std::vector<Arrival>& arrivals, Time service) {
  Process& self = co_await this_process();
  while (const std::optional<int> packet = co_await wire.receive_until(Time::ms(1000))) {
    arrivals.push_back({*packet, self.clock});
    co_await delay(service);
  }
}

struct Outcome {
  std::vector<Time> sent;
  std::vector<Arrival> arrivals;
  WireCounters counters;
};

Outcome carry(int count, std::uint32_t bytes, const FaultRates& faults = {}, std::size_t slots = 4096,
              Time service = {}, std::uint64_t id = 0, std::uint64_t first_packet = 0,
              std::uint64_t shuffle = 0) {
  Scheduler scheduler(shuffle);
  Wire<int> wire(scheduler, kSpec, slots, id, faults, first_packet);
  Outcome outcome;
  scheduler.spawn("sender", send_all(wire, count, bytes, outcome.sent));
  scheduler.spawn("receiver", receive_all(wire, outcome.arrivals, service));
  EXPECT_TRUE(scheduler.run());
  outcome.counters = wire.counters();
  return outcome;
}

/// The definition: arrivals from the fate of each packet. 8 Gbit/s: a byte takes a nanosecond.
std::vector<Arrival> expected_arrivals(int count, std::uint32_t bytes, const FaultRates& faults,
                                       std::uint64_t id, std::uint64_t first_packet) {
  std::vector<Arrival> arrivals;
  int held = -1;
  for (int i = 0; i < count; ++i) {
    const Time time = Time::ns((i + 1) * (static_cast<std::int64_t>(bytes) + 20)) + Time::ns(500);
    const Fault fault = fault_of(faults, id, first_packet + static_cast<std::uint64_t>(i));
    if (fault == Fault::kNone || fault == Fault::kDuplicated) arrivals.push_back({i, time});
    if (fault == Fault::kDuplicated) arrivals.push_back({i, time});
    if (held >= 0) arrivals.push_back({held, time});
    held = fault == Fault::kReordered ? i : -1;
  }
  return arrivals;
}

TEST(Wire, OnePacketTakesItsBitsItsFramingAndTheLatency) {
  const Outcome outcome = carry(1, 100);
  EXPECT_EQ(outcome.sent, std::vector<Time>{Time::ns(120)});
  EXPECT_EQ(outcome.arrivals, (std::vector<Arrival>{{0, Time::ns(620)}}));
}

TEST(Wire, AnEmptyPacketStillTakesItsFraming) {
  EXPECT_EQ(carry(1, 0).arrivals, (std::vector<Arrival>{{0, Time::ns(520)}}));
}

TEST(Wire, PacketsFollowOneAnother) {
  EXPECT_EQ(carry(3, 100).arrivals,
            (std::vector<Arrival>{{0, Time::ns(620)}, {1, Time::ns(740)}, {2, Time::ns(860)}}));
}

TEST(Wire, CountsPayloadAndFraming) {
  const WireCounters counters = carry(3, 100).counters;
  EXPECT_EQ(counters.packets, 3U);
  EXPECT_EQ(counters.payload_bytes, 300U);
  EXPECT_EQ(counters.wire_bytes, 360U);
  EXPECT_EQ(counters.lost + counters.duplicated + counters.reordered, 0U);
}

TEST(Wire, AFullReceiverHoldsTheSenderBack) {
  // One slot, 1 us per packet: packet 1 is on the wire when packet 0 is read at 620, packet 2 waits for 1's
  // slot.
  const Outcome outcome = carry(3, 100, {}, 1, Time::us(1));
  EXPECT_EQ(outcome.arrivals,
            (std::vector<Arrival>{{0, Time::ns(620)}, {1, Time::ns(1620)}, {2, Time::ns(2620)}}));
  EXPECT_EQ(outcome.sent, (std::vector<Time>{Time::ns(120), Time::ns(620), Time::ns(1620)}));
}

TEST(Wire, ProbabilityOneHitsEveryPacket) {
  EXPECT_EQ(carry(5, 100, {.seed = 1, .loss = 1}).arrivals.size(), 0U);
  EXPECT_EQ(carry(5, 100, {.seed = 1, .duplication = 1}).arrivals.size(), 10U);
}

TEST(Wire, ALostPacketOccupiesTheLinkButNoSlot) {
  const Outcome outcome = carry(5, 100, {.seed = 1, .loss = 1}, 1);
  EXPECT_EQ(outcome.sent.back(), Time::ns(600));
  EXPECT_EQ(outcome.counters.lost, 5U);
  EXPECT_EQ(outcome.counters.wire_bytes, 600U);
}

TEST(Wire, ACorruptedPacketIsDroppedAndCountedApart) {
  const Outcome outcome = carry(5, 100, {.seed = 1, .corruption = 1}, 1);
  EXPECT_EQ(outcome.arrivals.size(), 0U);
  EXPECT_EQ(outcome.counters.corrupted, 5U);
  EXPECT_EQ(outcome.counters.lost, 0U);
}

FaultRates scripted(const FaultEvent& event) {
  FaultRates faults;
  faults.script = std::make_shared<const FaultScript>(std::vector<FaultEvent>{event});
  faults.delay_time = Time::ns(300);
  return faults;
}

TEST(Wire, ADelayedPacketHoldsUpLaterPackets) {
  FaultEvent event;
  event.kind = Fault::kDelayed;
  event.packet = 1;
  const Outcome outcome = carry(4, 100, scripted(event));
  EXPECT_EQ(outcome.arrivals,
            (std::vector<Arrival>{
                {0, Time::ns(620)}, {1, Time::ns(1040)}, {2, Time::ns(1040)}, {3, Time::ns(1040)}}));
  EXPECT_EQ(outcome.sent.back(), Time::ns(480));
  EXPECT_EQ(outcome.counters.delayed, 1U);
}

TEST(Wire, AnEventWithATimeHitsPacketsThatLeaveThen) {
  // Packets have left at 120, 240, 360 and 480 ns of this network, which begins at 1 us.
  FaultEvent event;
  event.begin = Time::ns(1240);
  event.end = Time::ns(1480);
  Scheduler scheduler;
  Wire<int> wire(scheduler, kSpec, 16, 0, scripted(event), 0, Time::us(1));
  Outcome outcome;
  scheduler.spawn("sender", send_all(wire, 4, 100, outcome.sent));
  scheduler.spawn("receiver", receive_all(wire, outcome.arrivals, {}));
  EXPECT_TRUE(scheduler.run());
  EXPECT_EQ(outcome.arrivals, (std::vector<Arrival>{{0, Time::ns(620)}, {3, Time::ns(980)}}));
}

TEST(Wire, ReorderedPacketsEachFollowTheNextAndTheLastOneIsLost) {
  EXPECT_EQ(carry(3, 100, {.seed = 1, .reordering = 1}).arrivals,
            (std::vector<Arrival>{{0, Time::ns(740)}, {1, Time::ns(860)}}));
}

TEST(Wire, FaultsArePureFunctionsOfSeedWireAndNumber) {
  const FaultRates rates{.seed = 7, .loss = 0.2, .duplication = 0.2, .reordering = 0.2};
  std::size_t differ_by_seed = 0, differ_by_wire = 0, differ_by_number = 0;
  FaultRates other = rates;
  other.seed = 8;
  for (std::uint64_t n = 0; n < 1000; ++n) {
    EXPECT_EQ(fault_of(rates, 3, n), fault_of(rates, 3, n));
    if (fault_of(rates, 3, n) != fault_of(other, 3, n)) ++differ_by_seed;
    if (fault_of(rates, 3, n) != fault_of(rates, 4, n)) ++differ_by_wire;
    if (fault_of(rates, 3, n) != fault_of(rates, 3, n + 1)) ++differ_by_number;
  }
  EXPECT_GT(differ_by_seed, 400U);
  EXPECT_GT(differ_by_wire, 400U);
  EXPECT_GT(differ_by_number, 400U);
}

TEST(Wire, FaultsDoNotChangeAcrossReleases) {
  const FaultRates rates{.seed = 7, .loss = 0.2, .duplication = 0.2, .reordering = 0.2};
  std::string fates;
  for (std::uint64_t n = 0; n < 32; ++n) fates += ".LDR"[static_cast<int>(fault_of(rates, 3, n))];
  EXPECT_EQ(fates, "..L.DRD.D..D.R....RRLRD....LLLDR");
}

TEST(Wire, FaultsComeAtTheirRates) {
  const FaultRates rates{.seed = 99, .loss = 0.01, .duplication = 0.02, .reordering = 0.03};
  int count[4] = {};
  for (std::uint64_t n = 0; n < 100'000; ++n) ++count[static_cast<int>(fault_of(rates, n % 16, n / 16))];
  EXPECT_NEAR(count[static_cast<int>(Fault::kLost)], 1000, 130);
  EXPECT_NEAR(count[static_cast<int>(Fault::kDuplicated)], 2000, 180);
  EXPECT_NEAR(count[static_cast<int>(Fault::kReordered)], 3000, 220);
}

TEST(Wire, FewerFaultsAreASubset) {
  // A lower rate loses a subset, so a sweep over rates changes one thing at a time.
  for (std::uint64_t n = 0; n < 10'000; ++n) {
    if (fault_of({.seed = 1, .loss = 0.01}, 0, n) == Fault::kLost) {
      EXPECT_EQ(fault_of({.seed = 1, .loss = 0.05}, 0, n), Fault::kLost);
    }
  }
}

TEST(Wire, FollowsItsDefinitionUnderEveryMixOfFaults) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const FaultRates faults{.seed = seed,
                            .loss = 0.1 * static_cast<double>(seed % 4),
                            .duplication = 0.1 * static_cast<double>(seed / 4 % 4),
                            .reordering = 0.1 * static_cast<double>(seed / 16 % 4)};
    const Outcome outcome = carry(60, 100, faults, 4096, {}, seed % 5, seed * 1000, seed);
    ASSERT_EQ(outcome.arrivals, expected_arrivals(60, 100, faults, seed % 5, seed * 1000)) << "seed " << seed;
    ASSERT_EQ(outcome.counters.packets, 60U);
  }
}

TEST(Wire, CountsEveryLostPacket) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const FaultRates faults{.seed = seed, .loss = 0.2, .duplication = 0.2, .reordering = 0.3};
    const Outcome outcome = carry(100, 10, faults, 2, Time::ns(40));
    const bool last_held = fault_of(faults, 0, 99) == Fault::kReordered;
    ASSERT_EQ(outcome.arrivals.size() + (last_held ? 1U : 0U),
              100U - outcome.counters.lost + outcome.counters.duplicated);
  }
}

TEST(Wire, ContinuesItsNumbersWhereTheLastOneEnded) {
  const FaultRates faults{.seed = 3, .loss = 0.3};
  std::vector<int> whole, halves;
  for (const Arrival& arrival : carry(40, 10, faults).arrivals) whole.push_back(arrival.packet);
  for (const Arrival& arrival : carry(20, 10, faults).arrivals) halves.push_back(arrival.packet);
  for (const Arrival& arrival : carry(20, 10, faults, 64, {}, 0, 20).arrivals)
    halves.push_back(20 + arrival.packet);
  EXPECT_EQ(whole, halves);
}

TEST(Wire, ReleasesThePacketsItHolds) {
  const auto value = std::make_shared<int>(1);
  {
    Scheduler scheduler;
    Wire<std::shared_ptr<int>> wire(scheduler, kSpec, 3, 0,
                                    {.seed = 1, .duplication = 0.5, .reordering = 0.5});
    const auto sender = [](Wire<std::shared_ptr<int>>& out, std::shared_ptr<int> packet) -> Task<void> {
      for (int i = 0; i < 20; ++i) co_await out.send(packet, 10);
    };
    scheduler.spawn("sender", sender(wire, value));
    EXPECT_FALSE(scheduler.run());
    EXPECT_GT(value.use_count(), 4);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(Wire, CarriesPacketsThatOnlyMove) {
  Scheduler scheduler;
  Wire<std::unique_ptr<int>> wire(scheduler, kSpec, 3, 0, {.seed = 1, .loss = 0.3, .reordering = 0.3});
  const auto sender = [](Wire<std::unique_ptr<int>>& out) -> Task<void> {
    for (int i = 0; i < 20; ++i) co_await out.send(std::make_unique<int>(i), 10);
  };
  const auto receiver = [](Wire<std::unique_ptr<int>>& in, int& count) -> Task<void> {
    while (co_await in.receive_until(Time::ms(1))) ++count;
  };
  int count = 0;
  scheduler.spawn("sender", sender(wire));
  scheduler.spawn("receiver", receiver(wire, count));
  EXPECT_TRUE(scheduler.run());
  EXPECT_GT(count, 5);
}

}  // namespace
}  // namespace offramp::wire_test
