// A network below a world: its effects on ranks, over backends whose messages cross it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "lib/answers/replay/world_setting.hpp"
#include "lib/base/registry/registry.hpp"

namespace offramp::world_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct SceneResult {
  Time end;
  std::string problem;
  std::vector<std::string> violations;
  std::vector<LinkUse> links;
};

SceneResult played(const char* backend, const std::string& topology, int ranks, const World::Program& program,
                   int ranks_per_node = 1, std::uint64_t shuffle = 0) {
  const Registry registry{built_in_backends()};
  Configuration configuration;
  configuration.network.topology = topology;
  configuration.machine.ranks_per_node = ranks_per_node;
  auto setting = world_setting(configuration, registry, *registry.find(backend), ranks);
  EXPECT_TRUE(setting) << setting.error();
  setting->check = true;
  if (std::string_view(backend) == "cclo") {  // the engines only
    setting->settings.set("data", {0, "device"});
    setting->settings.set("driver", {0, "mapped"});
  }
  WorldOptions options;
  options.shuffle_seed = shuffle;
  auto world = make_world(*setting, ranks, options);
  if (!world) return {{}, world.error(), {}, {}};
  const std::string stuck = (*world)->run(program);
  return {(*world)->end(), (*world)->declined().empty() ? stuck : (*world)->declined(),
          (*world)->violations(), (*world)->links()};
}

Task<void> everything(RankHandle& rank) {
  const int ranks = rank.size();
  (void)co_await rank.bcast(100000, 0);
  (void)co_await rank.allreduce(65536);
  (void)co_await rank.alltoall(4096);
  (void)co_await rank.gather(8, 1);
  (void)co_await rank.sendrecv((rank.rank() + 1) % ranks, 300000, (rank.rank() + ranks - 1) % ranks, 300000);
  (void)co_await rank.barrier();
}

class Backends : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Over, Backends, testing::Values("host", "zrlmpi", "cclo", "sharp"),
                         [](const auto& backend) { return std::string(backend.param); });

TEST_P(Backends, KeepTheirInvariantsOnEveryTopologyAndInEveryOrder) {
  const Time star = played(GetParam(), "star", 16, everything).end;
  for (const char* const topology : {"fat-tree:4", "fat-tree:4:4", "torus:4x4", "dragonfly:4:2:2:2"}) {
    const SceneResult one = played(GetParam(), topology, 16, everything);
    EXPECT_EQ(one.problem, "");
    EXPECT_THAT(one.violations, IsEmpty()) << topology;
    EXPECT_GT(one.end, star) << topology;
    EXPECT_FALSE(one.links.empty());
    EXPECT_EQ(played(GetParam(), topology, 16, everything, 1, 7).end, one.end) << topology;
  }
}

TEST_P(Backends, SeeNoDifferenceBehindOneSwitch) {
  EXPECT_EQ(played(GetParam(), "fat-tree:16:4", 16, everything).end,
            played(GetParam(), "star", 16, everything).end);
}

TEST(Host, TakesTheTimeOfAnOversubscribedTree) {
  constexpr std::size_t kBytes = 1 << 20;
  const auto shift = [](RankHandle& rank) -> Task<void> {
    (void)co_await rank.sendrecv((rank.rank() + 8) % 16, kBytes, (rank.rank() + 8) % 16, kBytes);
  };
  const Time star = played("host", "star", 16, shift).end;
  const Time full = played("host", "fat-tree:8", 16, shift).end;
  const Time quarter = played("host", "fat-tree:8:4", 16, shift).end;
  const Time message = Bandwidth::gigabits_per_second(100).bytes(kBytes);
  // Request, answer, data and notification take the longer route.
  EXPECT_EQ(full, star + 4 * 2 * Time::ns(150));
  // On the shared link the four follow each other; without it, each has its own port, with framing.
  const Time framed = Bandwidth::gigabits_per_second(100).bytes(kBytes + kBytes / 4096 * 82);
  EXPECT_GE(quarter, full + 4 * message - framed);
  EXPECT_LE(quarter, full + 4 * message - framed + Time::us(4));
}

/// Eight broadcasts at once, each to a rank behind another switch; the segments of four of them share a link.
TEST(Cclo, BroadcastsTakeTheTimeOfAnOversubscribedTree) {
  constexpr std::size_t kBytes = 1 << 20;
  const auto pairs = [](RankHandle& rank) -> Task<void> {
    const int first = rank.rank() % 8;
    const std::array<int, 2> members = {first, first + 8};
    Operation operation;
    operation.kind = OperationKind::kBcast;
    operation.bytes = kBytes;
    operation.ranks = 2;
    (void)co_await rank.collective(rank.communicator(members, static_cast<std::uint64_t>(first)), operation);
  };
  const Time star = played("cclo", "star", 16, pairs).end;
  const Time full = played("cclo", "fat-tree:8", 16, pairs).end;
  const SceneResult quarter = played("cclo", "fat-tree:8:4", 16, pairs);
  const Time message = Bandwidth::gigabits_per_second(100).bytes(kBytes);
  EXPECT_EQ(full, star + 2 * Time::ns(150));
  EXPECT_GE(quarter.end, full + 3 * message - Time::us(10)) << "the engine is slower than the link";
  EXPECT_LE(quarter.end, full + 3 * message + Time::us(4));
  EXPECT_THAT(quarter.violations, IsEmpty());
  std::uint64_t bytes = 0;
  Time waited;
  for (const LinkUse& link : quarter.links) {
    EXPECT_GE(quarter.end, link.busy);
    waited += link.waited;
    bytes += link.bytes;
  }
  EXPECT_GT(waited, Time());
  EXPECT_EQ(bytes, 2 * 8 * kBytes) << "each message passes a link up and one down, once";
}

/// As without a network, the receiver's port is the bound: nothing counts twice.
TEST(Cclo, AnIncastTakesTheTimeOfTheReceiversPort) {
  constexpr std::size_t kBytes = 1 << 20;
  const auto incast = [](RankHandle& rank) -> Task<void> {
    if (rank.rank() > 0) co_return (void) co_await rank.send(0, kBytes);
    std::vector<RankRequest> requests;
    for (int peer = 1; peer < rank.size(); ++peer) requests.push_back(rank.irecv(peer, kBytes));
    co_await rank.wait_all(requests);
  };
  const Time star = played("cclo", "star", 16, incast).end;
  const Time tree = played("cclo", "fat-tree:4", 16, incast).end;
  EXPECT_GE(star, 15 * Bandwidth::bits_per_second(91'500'000'000).bytes(kBytes));
  EXPECT_GE(tree, star);
  EXPECT_LE(tree, star + Time::us(2));
}

/// Records a world's reports of shared links.
class Telling final : public SpanSink, public WorldLog {
 public:
  void record(const Span& span) override {
    if (span.unit == kNetworkUnit) spans.push_back(span);
  }
  void waited(int, const MessageWait& wait) override { waits.push_back(wait); }
  void carried(const Network& network, std::size_t link, Time begin, Time end, Bandwidth) override {
    busy[network.link_name(link)] += end - begin;
  }
  void used(int, std::uint64_t) override {}
  void began(std::uint64_t, const OperationFacts&) override {}
  void add_part(int, std::uint64_t, std::uint64_t) override {}
  void host(int, std::uint64_t, std::string_view, Time, Time) override {}
  std::vector<Span> spans;
  std::vector<MessageWait> waits;
  std::map<std::string, Time> busy;
};

/// Two messages to different ranks over one link: the second one waits for the first, and its receiver is
/// notified.
TEST(AWorld, ReportsMessagesThatWaitForASharedLink) {
  Telling telling;
  WorldOptions options;
  options.spans = &telling;
  options.log = &telling;
  const auto played_with = [&](const char* topology) {
    const Registry registry{built_in_backends()};
    Configuration configuration;
    configuration.network.topology = topology;
    auto setting = world_setting(configuration, registry, *registry.find("host"), 4);
    auto world = std::move(*make_world(*setting, 4, options));
    EXPECT_EQ(world->run([](RankHandle& rank) -> Task<void> {
      if (rank.rank() < 2) (void)co_await rank.send(rank.rank() + 2, 4096);
      if (rank.rank() >= 2) (void)co_await rank.receive(rank.rank() - 2, 4096);
    }),
              "");
    return world->links();
  };
  played_with("fat-tree:2");
  EXPECT_THAT(telling.spans, IsEmpty());
  telling.busy.clear();
  telling.waits.clear();
  const std::vector<LinkUse> links = played_with("fat-tree:2:2");
  ASSERT_EQ(telling.spans.size(), 1U);
  const Span& span = telling.spans.front();
  EXPECT_EQ(span.end - span.begin, Bandwidth::gigabits_per_second(100).bytes(4096));
  EXPECT_EQ(span.what, kSharedLink);
  ASSERT_EQ(telling.waits.size(), 2U);
  EXPECT_EQ(telling.waits[0].shared, Time());
  EXPECT_EQ(telling.waits[1].shared, span.end - span.begin);
  EXPECT_EQ(telling.waits[1].source, span.rank - 2);
  ASSERT_EQ(links.size(), telling.busy.size());
  for (const LinkUse& link : links) EXPECT_EQ(telling.busy[link.name], link.busy);
}

TEST(Host, HasNodesOnTheNetworkAndNotRanks) {
  const auto pairs = [](RankHandle& rank) -> Task<void> {
    const int peer = rank.rank() ^ 1;
    (void)co_await rank.sendrecv(peer, 1 << 20, peer, 1 << 20);
  };
  EXPECT_THAT(played("host", "torus:4x2", 16, pairs, 2).links, IsEmpty());
  EXPECT_FALSE(played("host", "torus:4x4", 16, pairs, 1).links.empty());
}

TEST(AWorld, HasNoRoomForMoreNodesThanItsNetwork) {
  EXPECT_THAT(played("host", "torus:2x2", 16, everything).problem,
              HasSubstr("has room for 4 nodes, but there are 16"));
  EXPECT_EQ(played("host", "torus:2x2", 16, everything, 4).problem, "");
}

TEST(AWorld, SaysBetweenWhichNodesThereIsNoWay) {
  const auto platform = Platform::read(
      "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1f\"/>"
      "<host id=\"b\" speed=\"1f\"/></zone></platform>",
      "p.xml");
  ASSERT_TRUE(platform) << platform.error();
  const Registry registry{built_in_backends()};
  Configuration configuration;
  configuration.network.topology = "p.xml";
  configuration.network.platform = *platform;
  auto setting = world_setting(configuration, registry, *registry.find("host"), 2);
  auto world = std::move(*make_world(*setting, 2));
  EXPECT_EQ(world->run([](RankHandle& rank) -> Task<void> { (void)co_await rank.barrier(); }),
            "network.topology: p.xml:1: the zone has no route from a to b");
}

TEST(ABackendWithWiresOfItsOwn, SaysSo) {
  EXPECT_THAT(played("tinsel", "torus:4x4", 16, everything).problem, HasSubstr("tinsel has its own links"));
}

}  // namespace
}  // namespace offramp::world_test
