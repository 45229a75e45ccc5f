// The reports of a world while it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "offramp/kernel/operation_id.hpp"
#include "offramp/kernel/packet.hpp"
#include "simulators/world/world.hpp"
#include "tests/built_in_names.hpp"
#include "tests/model/support.hpp"

namespace offramp::world_log_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

struct RecordingLog final : WorldLog, SpanSink, PacketSink {
  std::map<int, std::vector<std::uint64_t>> uses;  // by rank
  std::vector<std::pair<std::uint64_t, int>> sends;
  std::map<std::uint64_t, OperationFacts> collectives;
  std::set<std::tuple<int, std::uint64_t, std::uint64_t>> parts;
  std::map<int, std::set<std::string>> host_work;
  std::vector<std::pair<int, MessageWait>> waits;
  std::vector<Span> spans;
  std::vector<std::pair<int, int>> packets;  // from, to

  void used(int rank, std::uint64_t operation) override { uses[rank].push_back(operation); }
  void began(std::uint64_t operation, const OperationFacts& facts) override {
    if (facts.kind == OperationKind::kSend)
      sends.emplace_back(operation, facts.peer);
    else
      collectives.emplace(operation, facts);
  }
  void add_part(int rank, std::uint64_t message, std::uint64_t collective) override {
    parts.emplace(rank, message, collective);
  }
  void host(int rank, std::uint64_t, std::string_view what, Time begin, Time end) override {
    if (end > begin) host_work[rank].emplace(what);
  }
  void waited(int rank, const MessageWait& wait) override { waits.emplace_back(rank, wait); }
  void carried(const Network&, std::size_t, Time, Time, Bandwidth) override {}
  void record(const Span& span) override { spans.push_back(span); }
  void record(const Packet& packet) override { packets.emplace_back(packet.source, packet.destination); }

  WorldOptions options(int ranks) {
    WorldOptions all;
    all.ranks = ranks;
    all.spans = this;
    all.packets = this;
    all.log = this;
    return all;
  }
};

TEST(AnObservedWorld, ReportsAMessageAtBothEnds) {
  RecordingLog told;
  World world(told.options(3), test::hardware("zrlmpi"));
  ASSERT_EQ(world.run([](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 2) {
      rank.compute(Time::us(50));
      (void)co_await rank.send(1, 4096);
    }
    if (rank.rank() == 1) (void)co_await rank.receive(2, 4096);
  }),
            "");
  const std::uint64_t message = operation_id(2, 1);
  EXPECT_THAT(told.uses[2], ElementsAre(message, message)) << "it begins, and is complete";
  EXPECT_THAT(told.uses[1], ElementsAre(message));
  EXPECT_THAT(told.sends, ElementsAre(Pair(message, 1)));
  EXPECT_THAT(told.host_work[1], ElementsAre("post receive"));
  EXPECT_THAT(told.host_work[2], Contains("send"));
  ASSERT_EQ(told.waits.size(), 1u);
  EXPECT_EQ(told.waits[0].first, 1);
  EXPECT_EQ(told.waits[0].second.source, 2);
  EXPECT_EQ(told.waits[0].second.begin, Time::us(50));
  EXPECT_EQ(told.waits[0].second.at, world.clock(1));
  EXPECT_EQ(told.waits[0].second.bytes, 4096u);
  std::set<std::pair<std::string_view, int>> units;
  for (const Span& span : told.spans) {
    EXPECT_EQ(span.operation, message);
    EXPECT_GE(span.begin, Time::us(50)) << span.unit << ' ' << span.what;
    EXPECT_LE(span.end, later(world.clock(1), world.clock(2))) << span.unit << ' ' << span.what;
    units.emplace(span.unit, span.rank);
  }
  EXPECT_THAT(units, testing::IsSupersetOf({std::pair<std::string_view, int>("mpe.send", 2),
                                            std::pair<std::string_view, int>("mpe.receive", 1)}));
  EXPECT_THAT(told.packets, Contains(Pair(2, 1)));
  EXPECT_THAT(told.packets, Contains(Pair(1, 2))) << "the receiver answers";
}

TEST(AnObservedWorld, ReportsTheMessagesOfACollective) {
  RecordingLog told;
  World world(told.options(2), test::hardware("host"));
  ASSERT_EQ(world.run([](RankHandle& rank) -> Task<void> { (void)co_await rank.bcast(64, 0); }), "");
  const std::uint64_t at_root = operation_id(0, 1) | kCollectiveOperation;
  const std::uint64_t at_leaf = operation_id(1, 1) | kCollectiveOperation;
  EXPECT_THAT(told.uses[0], ElementsAre(at_root, at_root));
  EXPECT_THAT(told.uses[1], ElementsAre(at_leaf, at_leaf));
  const std::uint64_t message = operation_id(0, 2);
  EXPECT_THAT(told.parts, ElementsAre(std::tuple(0, message, at_root), std::tuple(1, message, at_leaf)));
}

TEST(AnObservedWorld, NamesTheLastRankOfASynchronization) {
  RecordingLog told;
  World world(told.options(3), test::hardware("host"));
  ASSERT_EQ(world.run([](RankHandle& rank) -> Task<void> {
    rank.compute(Time::us(10 * (rank.rank() + 1)));
    co_await rank.synchronize(rank.world_communicator());
  }),
            "");
  ASSERT_EQ(told.waits.size(), 2u);
  for (const auto& [rank, wait] : told.waits) {
    EXPECT_NE(rank, 2);
    EXPECT_EQ(wait.source, 2);
    EXPECT_EQ(wait.begin, Time::us(30));
    EXPECT_EQ(wait.at, Time::us(30));
  }
  EXPECT_THAT(told.host_work[0], ElementsAre(kWaitForPeer));
  EXPECT_THAT(told.host_work[2], IsEmpty());
}

TEST(AnObservedWorld, SaysThatASenderWaitsForItsReceiver) {
  for (const char* backend : test::built_in_names()) {
    RecordingLog told;
    World world(told.options(2), test::with_host(test::hardware(backend)));
    ASSERT_EQ(world.run([](RankHandle& rank) -> Task<void> {
      if (rank.rank() == 0) (void)co_await rank.ssend(1, 64);
      rank.compute(Time::us(500));
      if (rank.rank() == 1) (void)co_await rank.receive(0, 64);
    }),
              "");
    EXPECT_THAT(told.host_work[0], Contains(kWaitForPeer)) << backend;
    EXPECT_THAT(told.waits, IsEmpty()) << backend << ": the receiver was late itself";
  }
}

Task<void> play(RankHandle& rank) {
  const int next = (rank.rank() + 1) % rank.size();
  const int before = (rank.rank() + rank.size() - 1) % rank.size();
  rank.compute(Time::us(rank.rank()));
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{100'000}}) {
    (void)co_await rank.sendrecv(next, bytes, before, bytes);
    (void)co_await rank.bcast(bytes, 1);
    (void)co_await rank.allreduce(bytes / 8 * 8);
    (void)co_await rank.gather(bytes / 4, 0);
  }
  RankRequest own = rank.irecv(rank.rank(), 10);
  (void)co_await rank.ssend(rank.rank(), 10);
  (void)co_await rank.wait(own);
}

class ObservedWorlds : public testing::TestWithParam<const char*> {};

TEST_P(ObservedWorlds, HaveTheTimesOfOthers) {
  for (const double loss : {0.0, 0.02}) {
    RecordingLog told;
    WorldOptions options = told.options(5);
    options.faults.loss = loss;
    options.faults.seed = 3;
    World observed(options, test::with_host(test::hardware(GetParam())));
    ASSERT_EQ(observed.run(play), "");
    WorldOptions quiet;
    quiet.ranks = options.ranks;
    quiet.faults = options.faults;
    World plain(quiet, test::with_host(test::hardware(GetParam())));
    ASSERT_EQ(plain.run(play), "");
    std::set<int> ranks;
    for (const Span& span : told.spans) {
      EXPECT_LE(span.begin, span.end) << span.unit << ' ' << span.what;
      ranks.insert(span.rank);
    }
    EXPECT_EQ(ranks.size(), 5u);
    for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(observed.clock(rank), plain.clock(rank)) << rank;
    EXPECT_EQ(observed.wire().packets, plain.wire().packets);
  }
}

INSTANTIATE_TEST_SUITE_P(Over, ObservedWorlds, testing::ValuesIn(test::built_in_names()),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace offramp::world_log_test
