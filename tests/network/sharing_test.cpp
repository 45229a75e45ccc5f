// Times of messages on shared links. The bounds are those of any network that is never idle while a message
// waits: bytes over rate, and the latency of the route.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "simulators/network/trains.hpp"
#include "tests/network/play.hpp"

namespace offramp::sharing_test {
namespace {

using test::Arrival;
using test::latest;
using test::network;
using test::Play;

constexpr Time kHop = Time::ns(150);
constexpr std::size_t kMiB = 1 << 20;
const Bandwidth kRate = Bandwidth::gigabits_per_second(100);

Time taken(std::size_t bytes) {
  return kRate.bytes(static_cast<std::int64_t>(bytes));
}
const Time kTrain = taken(TrainNetwork::kTrainBytes);

class Sharings : public testing::TestWithParam<Sharing> {};
INSTANTIATE_TEST_SUITE_P(Of, Sharings, testing::Values(Sharing::kTrains, Sharing::kFair),
                         [](const auto& one) { return one.param == Sharing::kTrains ? "trains" : "fair"; });

TEST_P(Sharings, LeaveAMessageAloneAsItIs) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{8192}, kMiB + 3}) {
    for (const int gigabits : {10, 100}) {
      Play play(network("fat-tree:4,4", 64, GetParam()));
      const Bandwidth port = Bandwidth::gigabits_per_second(gigabits);
      play.send(0, 1, bytes, Time::ns(50), port);   // one switch
      play.send(8, 60, bytes, Time::ns(50), port);  // four links
      const std::vector<Arrival> there = play.run();
      const Time left = Time::ns(50) + port.bytes(static_cast<std::int64_t>(bytes));
      EXPECT_EQ(there[0].last, left);
      EXPECT_EQ(there[1].last, left + 2 * kHop) << bytes << " at " << gigabits;
      EXPECT_EQ(there[0].first, Time::ns(50));
    }
  }
}

TEST_P(Sharings, MakeAnOversubscribedUplinkTheBound) {
  for (const int k : {2, 4, 8}) {
    // All nodes of a switch to as many of another one, with one link up for k nodes.
    Play play(network("fat-tree:2;8,2;1," + std::to_string(8 / k) + ";1,1", 16, GetParam()));
    for (int node = 0; node < 8; ++node) play.send(node, 8 + node, kMiB);
    const Time last = latest(play.run());
    EXPECT_GE(last, taken(kMiB) * k + 2 * kHop);
    EXPECT_LE(last, taken(kMiB) * k + 2 * kHop + kTrain * 2) << k;
  }
}

TEST_P(Sharings, MakeOneLinkTheBoundOfAnIncast) {
  // From 15 nodes of other routers over the one link of a ring that leads to the last router.
  Play play(network("fat-tree:2;1,16;1,1;1,1", 16, GetParam()));
  for (int node = 1; node < 16; ++node) play.send(node, 0, kMiB);
  const Time last = latest(play.run());
  EXPECT_GE(last, taken(kMiB) * 15 + 2 * kHop);
  EXPECT_LE(last, taken(kMiB) * 15 + 2 * kHop + kTrain * 2);
}

TEST_P(Sharings, LetShiftsOnAFullTreeGoAsIfAlone) {
  for (const int shift : {1, 5, 16, 33, 63}) {
    Play play(network("fat-tree:4,4,4", 64, GetParam()));
    for (int node = 0; node < 64; ++node) play.send(node, (node + shift) % 64, kMiB);
    const std::vector<Arrival> there = play.run();
    for (int node = 0; node < 64; ++node) {
      const int to = (node + shift) % 64;
      const int links = node / 4 == to / 4 ? 0 : node / 16 == to / 16 ? 2 : 4;
      EXPECT_EQ(there[static_cast<std::size_t>(node)].last, taken(kMiB) + links * kHop)
          << shift << ' ' << node;
    }
  }
}

/// Half of the nodes send to the other half over the links between the halves.
TEST_P(Sharings, StayBelowTheBisectionOfATorus) {
  Play play(network("torus:8x4", 32, GetParam()));
  for (int node = 0; node < 32; ++node) {
    for (int to = 0; to < 32; ++to) {
      if (node % 8 < 4 && to % 8 >= 4) play.send(node, to, 65536);
    }
  }
  const Time last = latest(play.run());
  EXPECT_GE(last, taken(std::size_t{16} * 16 * 65536 / 8) + kHop);  // two links in each of the four rows
}

/// All to all: half of the bytes of each half cross to the other one.
TEST_P(Sharings, StayBelowTheBisectionInAnAllToAll) {
  struct Case {
    const char* topology;
    int across;  // links from one half to the other, in each direction
  };
  for (const Case& one : {Case{"torus:16", 2}, {"torus:4x4", 8}, {"fat-tree:8", 8}, {"fat-tree:8:4", 2}}) {
    Play play(network(one.topology, 16, GetParam()));
    for (int shift = 1; shift < 16; ++shift) {
      for (int node = 0; node < 16; ++node) play.send(node, (node + shift) % 16, 65536);
    }
    const Time bound = taken(std::size_t{8} * 8 * 65536 / static_cast<std::size_t>(one.across));
    const Time last = latest(play.run());
    EXPECT_GE(last, bound) << one.topology;
    EXPECT_LE(last, bound * 3) << one.topology;
  }
}

TEST_P(Sharings, KeepWithinTheRateOfEachLink) {
  std::mt19937 random(5);
  Play play(network("torus:4x4", 16, GetParam()));
  for (int i = 0; i < 200; ++i) {
    const int from = static_cast<int>(random() % 16);
    play.send(from, static_cast<int>((static_cast<unsigned>(from) + 1 + random() % 15) % 16),
              random() % (4 * 65536), Time::ns(static_cast<std::int64_t>(random() % 100000)));
  }
  const Time last = latest(play.run());
  for (const LinkUse& link : play.links()) {
    EXPECT_LE(link.busy, last) << link.name;
    EXPECT_GE(link.busy, taken(link.bytes)) << link.name;
  }
}

TEST_P(Sharings, DoNotDependOnTheOrderOfInsertion) {
  const auto arrivals = [](std::uint64_t shuffle) {
    Play play(network("fat-tree:4:2", 16, GetParam()), shuffle);
    for (int from = 0; from < 16; ++from) {
      for (int to = 0; to < 16; ++to) {
        if (from != to) play.send(from, to, 40000);
      }
    }
    std::vector<std::int64_t> times;
    for (const Arrival& arrival : play.run()) times.push_back(arrival.last.count());
    return times;
  };
  const auto expected = arrivals(0);
  for (const std::uint64_t shuffle : {1U, 2U, 3U}) EXPECT_EQ(arrivals(shuffle), expected);
}

/// The reported loads of links agree with the totals at the end, and never exceed the rate.
TEST_P(Sharings, ReportTheLoadOfEachLinkOverTime) {
  Play play(network("fat-tree:4:2", 16, GetParam()));
  for (int node = 0; node < 16; ++node) {
    for (const int shift : {4, 5, 9}) play.send(node, (node + shift) % 16, 100'000, Time::ns(node * 10));
  }
  play.run();
  std::map<std::string, std::map<Time, std::int64_t>> changes;
  std::map<std::string, double> bytes;
  for (const Play::Load& load : play.loads()) {
    const std::string name = play.name_of(load.link);
    changes[name][load.begin] += load.rate.count();
    changes[name][load.end] -= load.rate.count();
    bytes[name] += static_cast<double>(load.rate.count()) / 8 * (load.end - load.begin).seconds();
  }
  const std::vector<LinkUse> links = play.links();
  EXPECT_EQ(links.size(), changes.size());
  for (const LinkUse& link : links) {
    EXPECT_NEAR(bytes[link.name], static_cast<double>(link.bytes), 1) << link.name;
    std::int64_t load = 0;
    for (const auto& [at, change] : changes[link.name]) {
      load += change;
      EXPECT_LE(load, kRate.count()) << link.name;
    }
    EXPECT_EQ(load, 0);
  }
}

/// The delay of a message by others: none alone, with any port; with k messages on a link, the delay of the
/// last one.
TEST_P(Sharings, ReportTheDelayOfAMessageBySharing) {
  for (const int gigabits : {10, 100, 400}) {
    Play play(network("fat-tree:4,4", 64, GetParam()));
    play.send(8, 60, kMiB + 3, Time::ns(50), Bandwidth::gigabits_per_second(gigabits));
    EXPECT_EQ(play.run()[0].waited, Time()) << gigabits;
  }
  Play play(network("fat-tree:2;4,2;1,1;1,1", 8, GetParam()));
  for (int node = 0; node < 4; ++node) play.send(node, 4 + node, kMiB);
  const std::vector<Arrival> there = play.run();
  for (const Arrival& arrival : there) EXPECT_EQ(arrival.waited, arrival.last - (taken(kMiB) + 2 * kHop));
  EXPECT_GE(latest(there), taken(kMiB) * 4);
}

/// A link that carries a message of 1 MiB forwards a small one within two trains.
TEST(Trains, LetSmallMessagesInBetween) {
  Play play(network("fat-tree:2;4,2;1,1;1,1", 8));
  play.send(0, 4, kMiB);
  play.send(1, 5, 8, Time::us(20));
  EXPECT_LE(play.run()[1].last, Time::us(20) + kTrain * 2 + 2 * kHop);
}

/// Four senders at a quarter of the link's rate fill it together.
TEST(Trains, FromSlowSendersShareAFastLink) {
  Play play(network("fat-tree:2;4,2;1,1;1,1", 8));
  const Bandwidth slow = Bandwidth::gigabits_per_second(25);
  for (int node = 0; node < 4; ++node) play.send(node, 4 + node, kMiB, {}, slow);
  EXPECT_LE(latest(play.run()), slow.bytes(kMiB) + 2 * kHop + kTrain * 4);
}

TEST(AdaptiveRouting, SpreadsMessagesThatStaticRoutingSendsOverOneLink) {
  const auto last = [](Routing routing) {
    Play play(network("fat-tree:4", 16, Sharing::kTrains, routing));
    // Destinations with equal last digits: D-mod-k routes all four over one switch.
    for (int node = 0; node < 3; ++node) play.send(node, 4 + 4 * node, kMiB, Time::ns(node));
    return latest(play.run());
  };
  EXPECT_GE(last(Routing::kStatic), taken(kMiB) * 3);
  EXPECT_LE(last(Routing::kAdaptive), taken(kMiB) + kTrain + 2 * kHop);
}

TEST(Valiant, SpreadsTrafficFromOneGroupToAnother) {
  const auto last = [](Routing routing) {
    Play play(network("dragonfly:9:4:2:2", 72, Sharing::kTrains, routing));
    for (int node = 0; node < 8; ++node) play.send(node, 64 + node, kMiB);
    return latest(play.run());
  };
  EXPECT_GE(last(Routing::kStatic), taken(kMiB) * 8);
  EXPECT_LE(last(Routing::kValiant), taken(kMiB) * 5);
}

/// Three messages on two links: the one on both gets half of each link, and the others get the rest.
TEST(FairShares, AreMaxMin) {
  Play play(network("torus:8", 8, Sharing::kFair));
  play.send(0, 2, kMiB);      // both links
  play.send(0, 1, kMiB * 2);  // the first
  play.send(1, 2, kMiB * 2);  // the second
  const auto there = play.run();
  EXPECT_NEAR(there[0].last.seconds(), (taken(2 * kMiB) + 2 * kHop).seconds(), 1e-9);
  EXPECT_NEAR(there[1].last.seconds(), (taken(3 * kMiB) + kHop).seconds(), 1e-9);
  EXPECT_NEAR(there[2].last.seconds(), (taken(3 * kMiB) + kHop).seconds(), 1e-9);
}

TEST(AnUnusableNetwork, IsRefusedWithItsKey) {
  const auto error = [](const NetworkOptions& options) { return make_network(options, 16, {}).error(); };
  EXPECT_THAT(error({.topology = "torus:2x2"}),
              testing::StartsWith("network.topology: \"torus:2x2\" has room"));
  EXPECT_THAT(error({.topology = "torus:4x4", .routing = Routing::kAdaptive}),
              testing::StartsWith("network.routing: "));
  EXPECT_THAT(error({.topology = "torus:4x4", .placement = "list:3"}),
              testing::StartsWith("network.placement: "));
}

}  // namespace
}  // namespace offramp::sharing_test
