// The cluster: programs of many ranks in one process, and its message when they cannot go on.
#include "tests/cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/support.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::pattern;

const BackendDescription& host() {
  return test::backend_named("host");
}

TEST(ACluster, RunsOneProgramOnEveryRank) {
  Cluster cluster(5, host());
  std::vector<int> seen;
  EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
    seen.push_back(rank.rank());
    co_return;
  }),
            "");
  EXPECT_EQ(seen, test::world_of(5));
}

TEST(ACluster, RunsOneProgramAfterAnother) {
  Cluster cluster(2, host());
  const auto ping = [](ClusterRank& rank) -> Task<void> {
    Buffer data(100);
    if (rank.rank() == 0) co_await rank.send(1, data);
    if (rank.rank() == 1) co_await rank.receive(0, data);
  };
  EXPECT_EQ(cluster.run(ping), "");
  EXPECT_EQ(cluster.run(ping), "");
}

TEST(ACluster, PassesARingOfEverySize) {
  Cluster cluster(3, host());
  EXPECT_EQ(cluster.run([](ClusterRank& rank) -> Task<void> {
    const int right = (rank.rank() + 1) % rank.size();
    const int left = (rank.rank() + rank.size() - 1) % rank.size();
    for (const std::size_t bytes : {0, 100, 9000, 70000, 1000000}) {
      const Buffer data = pattern(bytes, static_cast<std::uint32_t>(rank.rank()));
      Buffer into(bytes);
      const Received got = co_await rank.sendrecv(right, data, left, into, 5);
      EXPECT_EQ(got.outcome, Outcome::kOk);
      EXPECT_EQ(got.source, left);
      EXPECT_EQ(got.bytes, bytes);
      EXPECT_EQ(into, pattern(bytes, static_cast<std::uint32_t>(left)));
      std::vector<ClusterRequestPointer> requests;
      requests.push_back(rank.irecv(kAnySource, into));
      requests.push_back(rank.issend(right, data, 6));
      EXPECT_EQ(co_await rank.wait_all(requests), Outcome::kOk);
      ClusterRequestPointer request = rank.isend(left, data, 7);
      EXPECT_EQ((co_await rank.receive(right, into, 7)).outcome, Outcome::kOk);
      EXPECT_EQ((co_await rank.wait(request)).outcome, Outcome::kOk);
    }
  }),
            "");
}

TEST(ACluster, NamesEachRanksWaitInADeadlock) {
  Cluster cluster(3, host());
  const std::string text = cluster.run([](ClusterRank& rank) -> Task<void> {
    Buffer data(100000);
    if (rank.rank() == 0) co_await rank.send(1, data, 4);
    if (rank.rank() == 1) co_await rank.receive(2, data, 5);
  });
  EXPECT_NE(text.find("rank 0 of 3 waits"), std::string::npos) << text;
  EXPECT_NE(text.find("send in flight: to rank 1 (world 1) tag 4 100000 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("posted receive: source 2 tag 5 room for 100000 bytes"), std::string::npos) << text;
  EXPECT_EQ(text.find("rank 2 of 3"), std::string::npos) << text;
}

TEST(ACluster, NamesTheFirstOfManyRequestsAndCountsTheRest) {
  constexpr int kRequests = 1000;
  Cluster cluster(2, host());
  const std::string text = cluster.run([](ClusterRank& rank) -> Task<void> {
    Buffer data(100000);
    std::vector<ClusterRequestPointer> requests;
    for (int i = 0; i < kRequests; ++i) {
      requests.push_back(rank.rank() == 0 ? rank.issend(1, data, i) : rank.irecv(0, data, kRequests + i));
    }
    requests.push_back(rank.irecv(kAnySource, data, 3 * kRequests));
    co_await rank.wait_all(requests);
  });
  EXPECT_NE(text.find("tag 4 100000 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("and 995 more sends in flight"), std::string::npos) << text;
  EXPECT_NE(text.find("posted receive: source 0 tag 1000 room"), std::string::npos) << text;
  EXPECT_NE(text.find("posted receive: source any tag 3000 room"), std::string::npos) << text;
  EXPECT_NE(text.find("and 995 more from this source"), std::string::npos) << text;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 40) << text;
}

TEST(ACluster, ReportsADeadlockInsideACollective) {
  Cluster cluster(4, host());
  const std::string text = cluster.run([](ClusterRank& rank) -> Task<void> {
    Buffer data(10);
    if (rank.rank() != 2) co_await rank.bcast(data, 2);
  });
  EXPECT_NE(text.find("(collective)"), std::string::npos) << text;
}

TEST(ACluster, LetsAProgramTakeAReceiveBack) {
  Cluster cluster(2, host());
  EXPECT_EQ(cluster.run([](ClusterRank& rank) -> Task<void> {
    Buffer into(10);
    ClusterRequestPointer request = rank.irecv(1 - rank.rank(), into);
    EXPECT_TRUE(rank.cancel(*request));
    EXPECT_EQ((co_await rank.wait(request)).outcome, Outcome::kCancelled);
  }),
            "");
}

TEST(ACluster, RunsThousandsOfRanks) {
  Cluster cluster(2000, host());
  EXPECT_EQ(cluster.run([](ClusterRank& rank) -> Task<void> {
    Int32Sum sum;
    std::int32_t own = rank.rank();
    std::int32_t total = 0;
    const Bytes data = std::as_bytes(std::span(&own, 1));
    const MutableBytes into = std::as_writable_bytes(std::span(&total, 1));
    EXPECT_EQ(co_await rank.allreduce(data, into, sum), Outcome::kOk);
    EXPECT_EQ(total, 1999 * 1000);
  }),
            "");
}

TEST(ACluster, LetsTheHostCarryDeclinedOperations) {
  Cluster with(3, test::backend_named("zrlmpi"));
  EXPECT_EQ(with.engine(0).lane().name(), "zrlmpi");
  EXPECT_EQ(with.engine(0).lane().members().size(), 2U);
  EXPECT_EQ(with.run([&](ClusterRank& rank) -> Task<void> {
    Buffer mine = pattern(24, 1);
    Buffer got(24);
    EXPECT_EQ(co_await rank.alltoall(mine, got), Outcome::kOk);
  }),
            "");
  EXPECT_EQ(with.engine(0).lane().counters.calls[0].declined, 1U);
}

/// Between two of its messages a collective makes progress by itself, unless another caller holds its
/// communicator.
TEST(ACollective, EndsOnACommunicatorThatWasFreedMeanwhile) {
  test::Ranks ranks(4, 0);
  std::vector<std::unique_ptr<Collective>> running;
  std::vector<Buffer> buffers(4, pattern(100, 3));
  std::vector<Context*> contexts;
  for (int rank = 0; rank < 4; ++rank) contexts.push_back(&ranks.open(rank, kCollectiveContext | 6));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    running.push_back(std::make_unique<Collective>(ranks[static_cast<int>(rank)], *contexts[rank]));
    Operation operation;
    operation.kind = OperationKind::kBcast;
    operation.bytes = 100;
    operation.ranks = 4;
    running.back()->start(operation, {buffers[rank], buffers[rank], 100}, nullptr);
    ranks[static_cast<int>(rank)].close_context(*contexts[rank]);
  }
  ranks.settle();
  for (auto& collective : running) {
    EXPECT_TRUE(collective->done());
    EXPECT_EQ(collective->outcome(), Outcome::kOk);
    collective->observe();
  }
}

TEST(ACollective, MayBeEndedByItsOwnCompletion) {
  test::Ranks ranks(2);
  Context* contexts[] = {&ranks.open(0, kCollectiveContext), &ranks.open(1, kCollectiveContext)};
  std::unique_ptr<Collective> running[2];
  for (int rank = 0; rank < 2; ++rank) {
    running[rank] = std::make_unique<Collective>(ranks[rank], *contexts[rank]);
    running[rank]->owner = &running[rank];
    running[rank]->on_complete = [](Collective& self) {
      static_cast<std::unique_ptr<Collective>*>(self.owner)->reset();
    };
    Operation operation;
    operation.kind = OperationKind::kBarrier;
    running[rank]->start(operation, {}, nullptr);
  }
  ranks.settle();
  EXPECT_EQ(running[0], nullptr);
  EXPECT_EQ(running[1], nullptr);
  EXPECT_EQ(contexts[0]->pending + contexts[1]->pending, 0);
}

}  // namespace
}  // namespace offramp
