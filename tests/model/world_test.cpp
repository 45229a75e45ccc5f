// The guarantees of a world for its programs, one at a time.
#include "simulators/world/world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "offramp/kernel/arbiter.hpp"
#include "tests/built_in_names.hpp"
#include "tests/model/support.hpp"

namespace offramp::world_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// These must not compile: a request has one owner, and only a rank makes one.
static_assert(std::is_move_constructible_v<RankRequest> && !std::is_copy_constructible_v<RankRequest> &&
              !std::is_copy_assignable_v<RankRequest> &&
              !std::is_constructible_v<RankRequest, world::Operation*>);

constexpr std::size_t kLong = 1 << 20;  // makes a handshake over every backend

WorldOptions ranks_of(int ranks) {
  WorldOptions options;
  options.ranks = ranks;
  options.check = true;
  return options;
}

Operation operation_of(OperationKind kind, std::size_t bytes, int ranks) {
  Operation operation;
  operation.kind = kind;
  operation.bytes = operation.elements = bytes;
  operation.ranks = ranks;
  return operation;
}

/// Each test runs over backends of both kinds: those that pass stages, and one that does not.
class Worlds : public testing::TestWithParam<const char*> {
 protected:
  /// Runs without deadlocks and violations. Returns the clocks.
  static std::vector<Time> run(int ranks, const World::Program& program) {
    World world(ranks_of(ranks), test::with_host(test::hardware(GetParam())));
    EXPECT_EQ(world.run(program), "");
    EXPECT_THAT(world.violations(), IsEmpty());
    std::vector<Time> clocks;
    for (int rank = 0; rank < ranks; ++rank) clocks.push_back(world.clock(rank));
    return clocks;
  }
};

TEST_P(Worlds, KeepTheOrderOfAPairsMessages) {
  static constexpr std::size_t kSizes[] = {kLong, 8, 70000, 0, 65536, 1};
  std::vector<std::size_t> received;
  run(2, [&](RankHandle& rank) -> Task<void> {
    std::vector<RankRequest> requests;
    if (rank.rank() == 0) {
      for (const std::size_t bytes : kSizes) requests.push_back(rank.isend(1, bytes, 5));
      (void)co_await rank.wait_all(requests);
      co_return;
    }
    for (std::size_t i = 0; i < std::size(kSizes); ++i) requests.push_back(rank.irecv(0, kLong));
    for (RankRequest& request : requests) {
      const Received one = co_await rank.wait(request);
      received.push_back(one.bytes);
    }
  });
  EXPECT_EQ(received, std::vector<std::size_t>(std::begin(kSizes), std::end(kSizes)));
}

TEST_P(Worlds, StopAtATimeAndAreWholeBeforeIt) {
  const auto ends = [](Time stop_at, std::string& left) {
    WorldOptions options = ranks_of(2);
    options.stop_at = stop_at;
    World world(options, test::with_host(test::hardware(GetParam())));
    left = world.run([](RankHandle& rank) -> Task<void> {
      for (int i = 0; i < 100; ++i) {
        if (rank.rank() == i % 2) {
          (void)co_await rank.send(1 - rank.rank(), 8);
        } else {
          (void)co_await rank.receive(1 - rank.rank(), 8);
        }
      }
    });
    return world.end();
  };
  std::string left;
  const Time end = ends(Time::never(), left);
  EXPECT_EQ(left, "");
  EXPECT_EQ(ends(end + Time::ps(1), left), end);
  EXPECT_EQ(left, "");
  const Time half = Time::ps(end.count() / 2);
  const Time stopped = ends(half, left);
  EXPECT_NE(left, "");
  EXPECT_GT(stopped, Time::ps(end.count() / 4));
  EXPECT_LT(stopped, Time::ps(3 * (end.count() / 4)));
}

TEST_P(Worlds, ReceiveTheFirstArrivalFromAnySource) {
  std::vector<int> sources;
  run(4, [&](RankHandle& rank) -> Task<void> {
    if (rank.rank() > 0) {
      rank.compute(Time::us(100 * (4 - rank.rank())));  // the last rank comes first
      (void)co_await rank.send(0, 64);
      co_return;
    }
    for (int i = 0; i < 3; ++i) {
      const Received one = co_await rank.receive(kAnySource, 64);
      sources.push_back(one.source);
    }
  });
  EXPECT_THAT(sources, ElementsAre(3, 2, 1));
}

TEST_P(Worlds, ShowAMessageToAProbeAndKeepIt) {
  for (const std::size_t bytes : {std::size_t{100}, kLong}) {
    run(2, [&](RankHandle& rank) -> Task<void> {
      if (rank.rank() == 0) {
        rank.compute(Time::us(30));
        (void)co_await rank.send(1, bytes, 7);
        co_return;
      }
      const bool early = (co_await rank.iprobe(rank.world_communicator(), 0)).has_value();
      EXPECT_FALSE(early);
      for (int i = 0; i < 2; ++i) {
        const Received seen = co_await rank.probe(rank.world_communicator(), kAnySource);
        EXPECT_EQ(seen.source, 0);
        EXPECT_EQ(seen.tag, 7);
        EXPECT_EQ(seen.bytes, bytes);
      }
      EXPECT_GT(rank.clock(), Time::us(30));
      const bool other_tag = (co_await rank.iprobe(rank.world_communicator(), 0, 8)).has_value();
      EXPECT_FALSE(other_tag);
      const Received received = co_await rank.receive(0, bytes, 7);
      EXPECT_EQ(received.bytes, bytes);
      const bool late = (co_await rank.iprobe(rank.world_communicator(), 0)).has_value();
      EXPECT_FALSE(late);
    });
  }
}

TEST_P(Worlds, CancelAnUnmatchedReceive) {
  run(2, [&](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) {
      (void)co_await rank.send(1, 10, 1);
      co_return;
    }
    RankRequest matched = rank.irecv(0, 10, 1);
    RankRequest other = rank.irecv(0, 10, 2);
    rank.compute(Time::us(500));
    const bool both[] = {co_await rank.cancel(matched), co_await rank.cancel(other)};
    EXPECT_FALSE(both[0]);
    EXPECT_TRUE(both[1]);
    const Received received = co_await rank.wait(matched);
    EXPECT_EQ(received.outcome, Outcome::kOk);
    EXPECT_EQ(received.bytes, 10u);
    const Received cancelled = co_await rank.wait(other);
    EXPECT_EQ(cancelled.outcome, Outcome::kCancelled);
  });
}

TEST_P(Worlds, CutAMessageThatIsTooLong) {
  for (const std::size_t bytes : {std::size_t{100}, kLong}) {
    run(2, [&](RankHandle& rank) -> Task<void> {
      if (rank.rank() == 0) {
        const Outcome sent = co_await rank.send(1, bytes);
        EXPECT_EQ(sent, Outcome::kOk);
        co_return;
      }
      const Received received = co_await rank.receive(0, 60);
      EXPECT_EQ(received.outcome, Outcome::kTruncated);
      EXPECT_EQ(received.bytes, 60u);
    });
  }
}

TEST_P(Worlds, LetSynchronousSendsWaitForTheReceive) {
  const std::vector<Time> clocks = run(4, [&](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) (void)co_await rank.ssend(1, 8);
    if (rank.rank() == 2) (void)co_await rank.send(3, 8);
    if (rank.rank() % 2 == 0) co_return;
    rank.compute(Time::ms(5));
    (void)co_await rank.receive(rank.rank() - 1, 8);
  });
  EXPECT_GT(clocks[0], Time::ms(5));
  EXPECT_LT(clocks[2], Time::ms(1));
}

TEST_P(Worlds, CarryMessagesOfARankToItself) {
  run(1, [&](RankHandle& rank) -> Task<void> {
    for (const Synchronous synchronous : {Synchronous::kNo, Synchronous::kYes}) {
      for (const std::size_t bytes : {std::size_t{0}, kLong}) {
        RankRequest sent =
            rank.isend(rank.world_communicator(), 0, bytes, 3, ElementType::kByte, synchronous);
        const Received received = co_await rank.receive(0, bytes, 3);
        EXPECT_EQ(received.bytes, bytes);
        const Received done = co_await rank.wait(sent);
        EXPECT_EQ(done.outcome, Outcome::kOk);
      }
    }
    const Received both = co_await rank.sendrecv(0, kLong, 0, kLong);
    EXPECT_EQ(both.bytes, kLong);
  });
}

TEST_P(Worlds, SplitByColorAndKey) {
  std::vector<int> places(6, -1);
  run(6, [&](RankHandle& rank) -> Task<void> {
    // Odd and even ranks, in reverse order; rank 4 is in neither.
    const int own = rank.rank();
    const auto made = co_await rank.split(rank.world_communicator(), own == 4 ? -1 : own % 2, 10 - own / 2);
    EXPECT_EQ(made.has_value(), own != 4);
    if (!made) co_return;
    places[static_cast<std::size_t>(own)] = made->rank();
    EXPECT_EQ(made->size(), own % 2 == 0 ? 2 : 3);
    EXPECT_EQ(made->world_rank(made->rank()), own);
    // Messages use its ranks, and stay within it.
    if (made->rank() == 0) {
      RankRequest request = rank.isend(*made, made->size() - 1, 50);
      (void)co_await rank.wait(request);
    } else if (made->rank() == made->size() - 1) {
      RankRequest request = rank.irecv(*made, kAnySource, 50);
      const Received received = co_await rank.wait(request);
      EXPECT_EQ(received.source, 0);
    }
  });
  EXPECT_THAT(places, ElementsAre(1, 2, 0, 1, -1, 0));
}

TEST_P(Worlds, KeepTheMessagesOfCommunicatorsApart) {
  run(2, [&](RankHandle& rank) -> Task<void> {
    const Communicator twin = co_await rank.duplicate(rank.world_communicator());
    EXPECT_NE(twin.context(), rank.world_communicator().context());
    std::vector<RankRequest> requests;
    if (rank.rank() == 0) {
      requests.push_back(rank.isend(1, 10));
      requests.push_back(rank.isend(twin, 1, 20));
      (void)co_await rank.wait_all(requests);
      co_return;
    }
    requests.push_back(rank.irecv(twin, kAnySource, 100));
    requests.push_back(rank.irecv(kAnySource, 100));
    const Received of_twin = co_await rank.wait(requests[0]);
    const Received of_all = co_await rank.wait(requests[1]);
    EXPECT_EQ(of_twin.bytes, 20u);
    EXPECT_EQ(of_all.bytes, 10u);
  });
}

TEST_P(Worlds, SynchronizeClocks) {
  const std::vector<Time> clocks = run(5, [&](RankHandle& rank) -> Task<void> {
    rank.compute(Time::us(rank.rank() * 10));
    co_await rank.synchronize(rank.world_communicator());
    EXPECT_EQ(rank.clock(), Time::us(40));
  });
  EXPECT_THAT(clocks, testing::Each(Time::us(40)));
}

TEST_P(Worlds, SynchronizeWhileTheProgramGoesOn) {
  const std::vector<Time> clocks = run(3, [](RankHandle& rank) -> Task<void> {
    rank.compute(Time::us(10 * rank.rank()));
    RankRequest request = rank.start_synchronize(rank.world_communicator());
    rank.compute(Time::us(12));
    (void)co_await rank.wait(request);
  });
  // The last rank's computing after its entry is its own.
  EXPECT_THAT(clocks, ElementsAre(Time::us(20), Time::us(22), Time::us(32)));
}

TEST_P(Worlds, MakeCommunicatorsOfNamedMembers) {
  std::vector<std::uint64_t> contexts(4);
  run(4, [&](RankHandle& rank) -> Task<void> {
    static constexpr int kEven[] = {2, 0};
    static constexpr int kOdd[] = {1, 3};
    const bool odd = rank.rank() % 2 == 1;
    const Communicator first = rank.communicator(odd ? kOdd : kEven, odd ? 7 : 8);
    const Communicator second = rank.communicator(odd ? kOdd : kEven, odd ? 17 : 18);
    EXPECT_EQ(rank.clock(), Time());
    EXPECT_EQ(first.size(), 2);
    EXPECT_EQ(first.world_rank(first.rank()), rank.rank());
    EXPECT_NE(first.context(), second.context());
    contexts[static_cast<std::size_t>(rank.rank())] = first.context();
    if (first.rank() == 0) {
      (void)co_await rank.send(first, 1, 8);
      (void)co_await rank.ssend(second, 1, 16);
    } else {
      const Received later = co_await rank.receive(second, 0, 100);
      const Received earlier = co_await rank.receive(first, 0, 100);
      EXPECT_EQ(later.bytes, 16u);
      EXPECT_EQ(earlier.bytes, 8u);
    }
    Operation sum = operation_of(OperationKind::kAllreduce, 64, 2);
    (void)co_await rank.collective(second, sum);
  });
  EXPECT_EQ(contexts[0], contexts[2]);
  EXPECT_EQ(contexts[1], contexts[3]);
  EXPECT_NE(contexts[0], contexts[1]);
}

TEST_P(Worlds, EndRequestsThatAreGivenUp) {
  Time after;
  run(3, [&](RankHandle& rank) -> Task<void> {
    const auto give_up = [&](RankRequest request) { rank.abandon(request); };
    if (rank.rank() == 2) {
      rank.compute(Time::ms(1));
    } else {
      const int other = 1 - rank.rank();
      for (int i = 0; i < 3; ++i) {
        give_up(rank.isend(other, kLong, i));
        give_up(rank.irecv(other, kLong, i));
      }
    }
    give_up(rank.start_synchronize(rank.world_communicator()));
    give_up(rank.start(rank.world_communicator(), operation_of(OperationKind::kAllgather, 4096, 3)));
    if (rank.rank() == 0) after = rank.clock();
    EXPECT_EQ(rank.rank() == 2, rank.clock() >= Time::ms(1)) << "no rank waits for another";
    // They keep their places among the others.
    (void)co_await rank.barrier();
    RankRequest done = rank.isend(rank.rank(), 8, 9);
    (void)co_await rank.receive(rank.rank(), 8, 9);
    give_up(std::move(done));
  });
  EXPECT_LT(after, Time::ms(1));
}

TEST(AWorld, MayEndBeforeAbandonedRequests) {
  World world(ranks_of(2), test::with_host(test::hardware("cclo")));
  EXPECT_EQ(world.run([](RankHandle& rank) -> Task<void> {
    RankRequest requests[] = {rank.irecv(kAnySource, 8), rank.start_synchronize(rank.world_communicator())};
    if (rank.rank() == 0)
      for (RankRequest& request : requests) rank.abandon(request);
    else
      rank.abandon(requests[0]);
    if (rank.rank() == 1) (void)co_await rank.wait(requests[1]);
  }),
            "");
}

TEST_P(Worlds, WaitForSomeTakesAllThatAreDone) {
  run(2, [&](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 1) {
      for (const int tag : {1, 2}) (void)co_await rank.send(0, 64, tag);
      rank.compute(Time::ms(2));
      (void)co_await rank.send(0, 64, 3);
      co_return;
    }
    std::vector<RankRequest> requests;
    for (const int tag : {3, 2, 1}) requests.push_back(rank.irecv(1, 64, tag));
    rank.compute(Time::ms(1));
    const auto found = co_await rank.wait_some(requests);
    EXPECT_EQ(found.size(), 2u);
    for (const auto& [index, received] : found) EXPECT_EQ(received.tag, 3 - static_cast<int>(index));
    EXPECT_LT(rank.clock(), Time::ms(2));
    const auto rest = co_await rank.wait_some(requests);
    EXPECT_EQ(rest.size(), 1u);
    EXPECT_GT(rank.clock(), Time::ms(2));
  });
}

TEST_P(Worlds, ReturnTheCompletedRequestsOfASet) {
  run(2, [&](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 1) {
      for (const int tag : {1, 2}) (void)co_await rank.send(0, 64, tag);
      rank.compute(Time::ms(2));
      (void)co_await rank.send(0, 64, 3);
      co_return;
    }
    RequestSet set(rank);
    for (const std::uint32_t name : {3u, 2u, 1u, 0u})
      set.add(rank.irecv(1, 64, static_cast<int>(name)), name, {name, 10 * name});
    EXPECT_EQ(set.size(), 4u);
    rank.compute(Time::ms(1));
    std::vector<RequestSet::Learned> learned;
    co_await rank.wait_some(set, learned, 1);
    EXPECT_EQ(learned.size(), 1u) << "at most as many as asked for";
    co_await rank.wait_some(set, learned);
    EXPECT_EQ(learned.size(), 2u);
    EXPECT_LT(rank.clock(), Time::ms(2));
    co_await rank.wait_some(set, learned);
    EXPECT_GT(rank.clock(), Time::ms(2));
    EXPECT_EQ(learned.size(), 3u);
    for (std::size_t i = 0; i < learned.size(); ++i) {
      EXPECT_EQ(learned[i].name, i + 1) << "the order of sending";
      EXPECT_EQ(learned[i].received.tag, static_cast<int>(i) + 1);
      EXPECT_EQ(learned[i].note.bytes, i + 1);
      EXPECT_EQ(learned[i].note.other, 10 * (i + 1));
    }
    EXPECT_EQ(set.size(), 1u) << "nothing was sent with tag 0";
    set.abandon();
    EXPECT_EQ(set.size(), 0u);
  });
}

TEST_P(Worlds, ReportTheMessageOfEachRequestInAList) {
  run(2, [&](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 1) {
      for (const int tag : {1, 2}) (void)co_await rank.send(0, static_cast<std::size_t>(tag) * 10, tag);
      co_return;
    }
    std::vector<RankRequest> requests;
    requests.push_back(rank.irecv(1, 64, 2));
    requests.emplace_back();
    requests.push_back(rank.irecv(1, 64, 1));
    std::vector<Received> received;
    (void)co_await rank.wait_all(requests, &received);
    EXPECT_EQ(received.size(), 3u);
    EXPECT_EQ(received[0].bytes, 20u);
    EXPECT_EQ(received[2].bytes, 10u);
  });
}

TEST_P(Worlds, ClaimAMessageBeforeItsReceive) {
  run(2, [&](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 1) {
      for (const std::size_t bytes : {kLong, std::size_t{10}}) (void)co_await rank.send(0, bytes, 4);
      co_return;
    }
    RankRequest claimed = co_await rank.claim(rank.world_communicator(), kAnySource);
    const Received second = co_await rank.receive(1, kLong, 4);
    EXPECT_EQ(second.bytes, 10u);
    const Received first = co_await rank.wait(claimed);
    EXPECT_EQ(first.bytes, kLong);
    EXPECT_EQ(first.source, 1);
  });
}

TEST(AWorld, ReportsTheCarrierOfEachOperation) {
  struct Told final : ChoiceObserver {
    std::vector<std::pair<OperationKind, Handling>> all;
    std::string reason;
    void chosen(int, const Operation& operation, Handling handling, std::string_view why) override {
      all.emplace_back(operation.kind, handling);
      if (!why.empty()) reason = why;
    }
    void send_failed(int) override {}
  } told;
  WorldOptions options = ranks_of(2);
  options.choices = &told;
  WorldBackend backend = test::with_host(test::hardware("zrlmpi"));
  backend.settings.set("strict", {1, {}});
  backend.rules = {{OperationKind::kBarrier, 0, SIZE_MAX, 0, INT32_MAX, 0}};
  World world(options, backend);
  EXPECT_EQ(world.run([](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) {
      (void)co_await rank.send(1, 64, 0, ElementType::kInt32);
      (void)co_await rank.send(1, 64, 5, ElementType::kInt32);
    } else {
      for (int i = 0; i < 2; ++i) (void)co_await rank.receive(0, 64);
    }
    (void)co_await rank.barrier();
  }),
            "");
  using Pair = std::pair<OperationKind, Handling>;
  EXPECT_THAT(told.all, testing::UnorderedElementsAre(Pair(OperationKind::kSend, Handling::kOffloaded),
                                                      Pair(OperationKind::kSend, Handling::kDeclined),
                                                      Pair(OperationKind::kBarrier, Handling::kRouted),
                                                      Pair(OperationKind::kBarrier, Handling::kRouted)));
  EXPECT_THAT(told.reason, HasSubstr("tag"));
}

TEST(AWorld, HasFurtherBackendsWhereRoutesLead) {
  const auto times = [](const WorldBackend& backend) {
    WorldOptions options = ranks_of(3);
    options.check = true;
    World world(options, backend);
    EXPECT_EQ(world.run([](RankHandle& rank) -> Task<void> {
      for (int i = 0; i < 3; ++i) {
        (void)co_await rank.bcast(4096, 0);  // the first one would have to post the receives of messages
        (void)co_await rank.gather(64, 2);
      }
    }),
              "");
    EXPECT_THAT(world.violations(), IsEmpty());
    return std::pair(world.end(), world.wire().packets);
  };
  const auto on = [](std::string_view name) {
    return WorldBackend::Further{&test::built_in(name), test::hardware(name).settings};
  };
  for (const std::string_view name : test::built_in_names("host")) {
    WorldBackend routed = test::with_host(test::hardware(name == "zrlmpi" ? "dpu" : "zrlmpi"));
    routed.further = {on("tinsel"), on(name)};
    const auto own = times(routed);
    routed.rules = {{OperationKind::kCount, 0, SIZE_MAX, 0, INT32_MAX, 3}};
    EXPECT_EQ(times(routed), times(test::with_host(test::hardware(name)))) << name;
    EXPECT_NE(times(routed), own) << name;
  }
}

TEST_P(Worlds, WaitForAnyTakesTheFirstInModelledTime) {
  std::vector<std::size_t> order;
  std::vector<Time> times;
  run(4, [&](RankHandle& rank) -> Task<void> {
    if (rank.rank() > 0) {
      rank.compute(Time::us(100 * ((rank.rank() + 1) % 3)));  // the second one is first, the first one last
      (void)co_await rank.send(0, 8);
      co_return;
    }
    std::vector<RankRequest> requests;
    for (int from = 1; from < 4; ++from) requests.push_back(rank.irecv(from, 8));
    for (int i = 0; i < 3; ++i) {
      const auto [index, received] = co_await rank.wait_any(requests);
      EXPECT_EQ(received.source, static_cast<int>(index) + 1);
      order.push_back(index);
      times.push_back(rank.clock());
    }
  });
  EXPECT_THAT(order, ElementsAre(1, 2, 0));
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

/// The send is done for the simulator when it is issued, but in modelled time later than the receive.
TEST(WaitForAny, LooksAtTimesAndNotAtTheOrderOfTheSimulation) {
  WorldBackend backend = test::hardware("host");
  World world(ranks_of(2), backend);
  std::size_t first = 9;
  EXPECT_EQ(world.run([&](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 1) {
      (void)co_await rank.send(0, 1);
      co_return;
    }
    // A message to itself, whose copy takes 0.8 ms, completes in the simulator at once.
    std::vector<RankRequest> requests;
    requests.push_back(rank.isend(0, 8 * kLong));
    requests.push_back(rank.irecv(1, 1));
    first = (co_await rank.wait_any(requests)).first;
    EXPECT_LT(rank.clock(), Time::us(10));
    (void)co_await rank.receive(0, 8 * kLong);
    (void)co_await rank.wait_all(requests);
  }),
            "");
  EXPECT_EQ(first, 1u);
}

TEST_P(Worlds, FindCompletedRequestsWithTest) {
  run(2, [&](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) {
      rank.compute(Time::us(50));
      (void)co_await rank.send(1, 8);
      co_return;
    }
    RankRequest request = rank.irecv(0, 8);
    auto received = co_await rank.test(request);
    EXPECT_FALSE(received.has_value());
    EXPECT_FALSE(request.empty());
    rank.compute(Time::ms(1));
    const Time before = rank.clock();
    received = co_await rank.test(request);
    EXPECT_TRUE(received.has_value());
    EXPECT_TRUE(request.empty());
    EXPECT_GT(rank.clock(), before);
  });
}

TEST_P(Worlds, StartPersistentMessagesAgain) {
  std::vector<Time> ends;
  run(2, [&](RankHandle& rank) -> Task<void> {
    PersistentMessage message;
    message.sends = rank.rank() == 0;
    message.communicator = rank.world_communicator();
    message.peer = 1 - rank.rank();
    message.tag = 4;
    message.bytes = 3000;
    for (int i = 0; i < 3; ++i) {
      RankRequest request = rank.start(message);
      const Received done = co_await rank.wait(request);
      EXPECT_EQ(done.outcome, Outcome::kOk);
      if (rank.rank() == 0) continue;
      EXPECT_EQ(done.bytes, 3000u);
      ends.push_back(rank.clock());
    }
  });
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_TRUE(ends[0] < ends[1] && ends[1] < ends[2]);
}

TEST_P(Worlds, NameTheRanksOfADeadlock) {
  World world(ranks_of(4), test::with_host(test::hardware(GetParam())));
  const std::string stuck = world.run([](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 1) (void)co_await rank.send(3, 8, 5);
    if (rank.rank() == 2) (void)co_await rank.receive(0, 8, 6);
    if (rank.rank() == 3) (void)co_await rank.receive(kAnySource, 8, 4);
  });
  EXPECT_THAT(stuck, HasSubstr("rank 2 of 4 waits"));
  EXPECT_THAT(stuck, HasSubstr("for a message from rank 0 with tag 6"));
  EXPECT_THAT(stuck, HasSubstr("rank 3 of 4 waits"));
  EXPECT_THAT(stuck, HasSubstr("not received: one from rank 1 with tag 5"));
  EXPECT_THAT(stuck, testing::Not(HasSubstr("rank 0 of 4")));
  EXPECT_THAT(stuck, testing::Not(HasSubstr("rank 1 of 4")));
}

TEST_P(Worlds, NoticeMessagesWithoutAReceive) {
  World world(ranks_of(2), test::with_host(test::hardware(GetParam())));
  EXPECT_EQ(world.run([](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) (void)co_await rank.send(1, 8);
  }),
            "");
  EXPECT_THAT(world.violations(), ElementsAre("1 messages were sent and not received"));
}

INSTANTIATE_TEST_SUITE_P(Backends, Worlds, testing::Values("host", "zrlmpi", "dpu"),
                         [](const auto& backend) { return std::string(backend.param); });

// --- the hardware ---

TEST(AWorld, NeedsMemoryOnlyForActiveRanksAmongAMillion) {
  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  World world(ranks_of(1'000'000), test::hardware("host"));
  static constexpr int kTwo[] = {17, 999'999};
  EXPECT_EQ(world.run(
                [](RankHandle& rank) -> Task<void> {
                  if (rank.rank() == 17) (void)co_await rank.send(999'999, kLong);
                  if (rank.rank() == 999'999) (void)co_await rank.receive(17, kLong);
                },
                kTwo),
            "");
  EXPECT_GT(world.clock(999'999), Time::us(80));
  EXPECT_EQ(world.clock(18), Time());
  // A pointer for each rank, and one for each node's resources.
  const std::size_t used = mallinfo2().uordblks + mallinfo2().hblkhd - before;
  EXPECT_LT(used, 20u * 1'000'000);
}

TEST(AWorld, LetsTheHostCarryDeclinedOperations) {
  const auto program = [](RankHandle& rank) -> Task<void> { (void)co_await rank.alltoall(1000); };
  World alone(ranks_of(4), test::hardware("zrlmpi"));
  EXPECT_THAT(alone.run(program),
              HasSubstr("zrlmpi declines alltoall: the tool chain has no such collective"));
  World helped(ranks_of(4), test::with_host(test::hardware("zrlmpi")));
  EXPECT_EQ(helped.run(program), "");
  World host(ranks_of(4), test::hardware("host"));
  EXPECT_EQ(host.run(program), "");
  EXPECT_GT(host.clock(3), Time());
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(helped.clock(rank), host.clock(rank));
}

/// A small message over the faster backend arrives first, and waits for the one that was sent before it. Its
/// receiver continues when the message is matched, which is after its arrival.
TEST(AWorld, KeepsTheOrderOfMessagesOverTwoBackends) {
  WorldBackend backend = test::with_host(test::hardware("zrlmpi"));
  backend.settings.set("latency", {20000, {}});
  backend.rules = {{OperationKind::kSend, 0, 100, 0, INT32_MAX, 0}};
  World world(ranks_of(2), backend);
  EXPECT_EQ(world.run([](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) {
      std::vector<RankRequest> requests;
      for (const std::size_t bytes : {5000, 8}) requests.push_back(rank.isend(1, bytes));
      (void)co_await rank.receive(1, 1);
      (void)co_await rank.wait_all(requests);
      co_return;
    }
    RankRequest first = rank.irecv(0, 5000);
    const Received second = co_await rank.receive(0, 5000);
    EXPECT_EQ(second.bytes, 8u);
    EXPECT_GT(rank.clock(), Time::us(20));
    (void)co_await rank.send(0, 1);
    const Received received = co_await rank.wait(first);
    EXPECT_EQ(received.bytes, 5000u);
  }),
            "");
  EXPECT_THAT(world.violations(), IsEmpty());
}

/// Messages of two collectives leave in another order than they were issued in, independently of each other.
TEST(AWorld, LetsCollectivesOvertakeEachOther) {
  const auto end_of_short = [](bool with_long) {
    World world(ranks_of(2), test::hardware("host"));
    Time end;
    EXPECT_EQ(world.run([&](RankHandle& rank) -> Task<void> {
      std::vector<RankRequest> requests;
      // Rank 0 first copies its own block for 0.8 ms; the broadcast is issued after that.
      if (with_long) {
        CollectiveSizes sizes;
        sizes.send_blocks = sizes.receive_blocks = {rank.rank() == 0 ? 8 * kLong : 0, 8};
        if (rank.rank() == 1) sizes.send_blocks = {8, 0}, sizes.receive_blocks = {8, 0};
        if (rank.rank() == 0) sizes.receive_blocks = {8 * kLong, 8};
        requests.push_back(
            rank.start(rank.world_communicator(), operation_of(OperationKind::kAlltoallv, 0, 2), sizes));
      }
      RankRequest bcast = rank.start(rank.world_communicator(), operation_of(OperationKind::kBcast, 8, 2));
      (void)co_await rank.wait(bcast);
      if (rank.rank() == 1) end = rank.clock();
      (void)co_await rank.wait_all(requests);
    }),
              "");
    EXPECT_THAT(world.violations(), IsEmpty());
    return end;
  };
  EXPECT_LT(end_of_short(false), Time::us(5));
  EXPECT_LT(end_of_short(true), Time::us(5));
}

class FaultyWires : public testing::TestWithParam<const char*> {};

TEST_P(FaultyWires, ReachBothEndsAndTheRunEnds) {
  for (const std::size_t bytes : {std::size_t{8}, kLong}) {
    WorldOptions options = ranks_of(2);
    options.faults.loss = 1;
    World world(options, test::hardware(GetParam()));
    Outcome outcomes[2] = {};
    EXPECT_EQ(world.run([&](RankHandle& rank) -> Task<void> {
      if (rank.rank() == 0) {
        outcomes[0] = co_await rank.send(1, bytes);
      } else {
        outcomes[1] = (co_await rank.receive(0, bytes)).outcome;
      }
      // A collective of failing messages ends, too.
      const Outcome sum = co_await rank.allreduce(800);
      EXPECT_EQ(sum, Outcome::kFault);
    }),
              "");
    EXPECT_EQ(outcomes[0], Outcome::kFault);
    EXPECT_EQ(outcomes[1], Outcome::kFault);
    EXPECT_GT(world.end(), Time::ms(1));  // spent waiting for answers
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, FaultyWires, testing::Values("host", "zrlmpi"),
                         [](const auto& backend) { return std::string(backend.param); });

// --- the network ---

/// One link for all messages, slower than the ports, and a longer route.
class SharedLink final : public Network {
 public:
  void carry(const Parcel& parcel, NetworkWorld& world) override {
    const Time span = kRate.bytes(static_cast<std::int64_t>(parcel.bytes));
    const Arbiter::Grant grant = link_.acquire(parcel.leaves, span);
    const Time way = parcel.latency + kFurther;
    const Time last = later(grant.end, parcel.left);
    world.arrived(parcel, grant.begin + way, last + way, last - later(parcel.left, parcel.leaves + span));
  }
  void step(void* /*what*/, NetworkWorld& /*world*/) override { ADD_FAILURE() << "asked for no step"; }
  [[nodiscard]] Time farther(int, int) const override { return kFurther; }
  [[nodiscard]] std::vector<LinkUse> links() const override { return {}; }
  [[nodiscard]] std::string link_name(std::size_t) const override { return "the link"; }
  static constexpr Bandwidth kRate = Bandwidth::gigabits_per_second(10);
  static constexpr Time kFurther = Time::us(3);

 private:
  Arbiter link_;
};

Time end_of_two_pairs(std::shared_ptr<Network> network) {
  WorldOptions options = ranks_of(4);
  options.network = std::move(network);
  World world(options, test::hardware("host"));
  EXPECT_EQ(world.run([](RankHandle& rank) -> Task<void> {
    if (rank.rank() < 2) {
      (void)co_await rank.send(rank.rank() + 2, 40000);
    } else {
      (void)co_await rank.receive(rank.rank() - 2, 40000);
    }
  }),
            "");
  EXPECT_THAT(world.violations(), IsEmpty());
  return world.end();
}

TEST(ANetwork, MayBeSharedByAllMessages) {
  const Time framed = Bandwidth::gigabits_per_second(100).bytes(40000 + 10 * 82);
  const Time fetched = Time::ns(550) + Bandwidth::gigabits_per_second(208).bytes(4096);
  const Time crossing = Time::ns(250 + 1000);
  // A request, the answer, the first packet from memory, the data, and the notification of the sender.
  EXPECT_EQ(end_of_two_pairs(nullptr), 4 * crossing + fetched + framed);
  // All four have a longer route. On the link, the second message follows the bytes of the first one.
  EXPECT_EQ(end_of_two_pairs(std::make_shared<SharedLink>()),
            4 * (crossing + SharedLink::kFurther) + fetched + 2 * SharedLink::kRate.bytes(40000));
}

/// All ranks access the memory of all others at once, while they compute.
TEST(Accesses, DoNotDependOnTheOrderOfSimultaneousEvents) {
  for (const int per_node : {1, 2}) {
    std::vector<std::vector<Time>> seen;
    for (const std::uint64_t seed : {0, 1, 2}) {
      WorldOptions options = ranks_of(6);
      options.machine.ranks_per_node = per_node;
      options.shuffle_seed = seed;
      World world(options, test::hardware("host"));
      EXPECT_EQ(world.run([](RankHandle& rank) -> Task<void> {
        for (const std::size_t bytes : {8, 4096, 200'000}) {
          std::vector<RankRequest> all;
          for (int to = 0; to < rank.size(); ++to) {
            const auto kind = static_cast<Access>(1 + (rank.rank() + to) % 4);
            all.push_back(rank.access(rank.world_communicator(), to, kind, kind == Access::kRead ? 0 : bytes,
                                      kind == Access::kWrite ? 0 : bytes));
          }
          rank.compute(Time::us(10 * rank.rank()));
          EXPECT_EQ(co_await rank.wait_all(all), Outcome::kOk);
        }
        (void)co_await rank.barrier();
      }),
                "");
      EXPECT_THAT(world.violations(), IsEmpty());
      std::vector<Time>& clocks = seen.emplace_back();
      for (int rank = 0; rank < 6; ++rank) clocks.push_back(world.clock(rank));
    }
    EXPECT_EQ(seen[0], seen[1]);
    EXPECT_EQ(seen[0], seen[2]);
  }
}

}  // namespace
}  // namespace offramp::world_test
