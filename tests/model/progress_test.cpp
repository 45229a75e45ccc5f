// Progress of operations while the program computes depends on who drives them: processor, thread or
// hardware.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/model/support.hpp"

namespace offramp {
namespace {

constexpr std::size_t kMi = 1 << 20;
constexpr std::size_t kLong = 4 * kMi;
constexpr Time kComputing = Time::ms(20);  // longer than any operation here

WorldBackend host(const char* progress = "calls", double share = 0.5) {
  WorldBackend backend = test::hardware("host");
  backend.settings.set("progress", {0, progress});
  backend.settings.set("progress_share", {share, {}});
  return backend;
}

Operation operation_of(OperationKind kind, std::size_t bytes, int ranks) {
  Operation operation;
  operation.kind = kind;
  operation.bytes = bytes;
  operation.ranks = ranks;
  operation.nonblocking = true;
  if (!reduces(kind)) return operation;
  operation.elements = bytes / 4;
  operation.element = ElementType::kFloat32;
  operation.function = ReduceFunction::kSum;
  return operation;
}

/// The code of a rank between the begin and the end of an operation.
using Beside = std::function<Task<void>(RankHandle&, RankRequest&)>;
Task<void> nothing(RankHandle& /*rank*/, RankRequest& /*request*/) {
  co_return;
}
Task<void> computing(RankHandle& rank, RankRequest& /*request*/) {
  rank.compute(kComputing);
  co_return;
}
/// A program that polls each `period` while it computes; a completed request is empty.
Beside polling(Time period) {
  return [period](RankHandle& rank, RankRequest& request) -> Task<void> {
    for (Time computed; computed < kComputing; computed += period) {
      rank.compute(period);
      if (!request.empty()) (void)co_await rank.test(request);
    }
  };
}

using Begin = std::function<RankRequest(RankHandle&)>;
Begin collective(OperationKind kind, std::size_t bytes, int ranks) {
  return [=](RankHandle& rank) {
    return rank.start(rank.world_communicator(), operation_of(kind, bytes, ranks));
  };
}
Begin message(std::size_t bytes) {
  return [bytes](RankHandle& rank) { return rank.rank() == 0 ? rank.isend(1, bytes) : rank.irecv(0, bytes); };
}

Time end_of(const WorldBackend& backend, int ranks, const Begin& begin, const Beside& beside,
            std::uint64_t seed = 0) {
  WorldOptions options;
  options.ranks = ranks;
  options.check = true;
  options.shuffle_seed = seed;
  World world(options, backend);
  EXPECT_EQ(world.run([&](RankHandle& rank) -> Task<void> {
    RankRequest request = begin(rank);
    co_await beside(rank, request);
    if (!request.empty()) (void)co_await rank.wait(request);
  }),
            "");
  EXPECT_EQ(world.violations(), std::vector<std::string>());
  return world.end();
}

Time part(Time time, double share) {
  return Time::ps(static_cast<std::int64_t>(static_cast<double>(time.count()) * share));
}

/// The part of an operation's time that overlaps with the program's computing.
double hidden(const WorldBackend& backend, int ranks, const Begin& begin, const Beside& beside = computing) {
  const Time alone = end_of(backend, ranks, begin, nothing);
  const Time with = end_of(backend, ranks, begin, beside);
  return 1 - (with - kComputing).seconds() / alone.seconds();
}

TEST(Progress, CannotHideALongMessageWithoutCallsForItsRequest) {
  EXPECT_LT(hidden(host(), 2, message(kLong)), 0.01);
  EXPECT_GT(hidden(host("hardware"), 2, message(kLong)), 0.99);
}

TEST(Progress, LeavesShortMessagesToTheNic) {
  EXPECT_GT(hidden(host(), 2, message(1024)), 0.8);
}

/// Once the NIC has seen the request, it needs no processor: the sender's program may compute.
TEST(Progress, NeedsTheReceiversProcessorAlone) {
  const Time alone = end_of(host(), 2, message(kLong), nothing);
  const auto sender_computes = [](RankHandle& rank, RankRequest&) -> Task<void> {
    if (rank.rank() == 0) rank.compute(kComputing);
    co_return;
  };
  EXPECT_LT(end_of(host(), 2, message(kLong), sender_computes), kComputing + part(alone, 0.01));
  // If a call has seen the request, a receive posted in a later call answers at once.
  const auto receives_late = [](bool saw) {
    WorldOptions options;
    options.ranks = 2;
    options.check = true;
    World world(options, host());
    EXPECT_EQ(world.run([&](RankHandle& rank) -> Task<void> {
      if (rank.rank() == 0) {
        RankRequest request = rank.isend(1, kLong);
        (void)co_await rank.send(1, 8, 1);
        (void)co_await rank.wait(request);
        co_return;
      }
      if (saw) (void)co_await rank.receive(0, 8, 1);
      rank.compute(Time::us(100));
      RankRequest request = rank.irecv(0, kLong, 0);
      rank.compute(kComputing);
      (void)co_await rank.wait(request);
      if (!saw) (void)co_await rank.receive(0, 8, 1);
    }),
              "");
    return world.end();
  };
  EXPECT_LT(receives_late(true), kComputing + Time::us(110));
  EXPECT_GT(receives_late(false), kComputing + Time::us(100) + part(alone, 0.9));
}

TEST(Progress, HidesOneRoundOfACollective) {
  // An allreduce on two ranks: to the root, and then back.
  EXPECT_LT(hidden(host(), 2, collective(OperationKind::kAllreduce, kLong, 2)), 0.01);
  EXPECT_GT(hidden(host("hardware"), 2, collective(OperationKind::kAllreduce, kLong, 2)), 0.99);
  // Short blocks all leave in the first round; the rest is copying, into buffers and out of them.
  const Begin short_blocks = collective(OperationKind::kAllgather, 12000, 4);
  EXPECT_GT(hidden(host(), 4, short_blocks), 0.2);
  WorldBackend copies_at_once = host();
  copies_at_once.settings.set("copy_bandwidth", {10000, {}});
  EXPECT_GT(hidden(copies_at_once, 4, short_blocks), 0.7);
  EXPECT_LT(hidden(host(), 4, collective(OperationKind::kAllgather, kMi, 4)), 0.01);
  // One of three rounds of a barrier.
  const double barrier = hidden(host(), 8, collective(OperationKind::kBarrier, 0, 8));
  EXPECT_GT(barrier, 0.2);
  EXPECT_LT(barrier, 0.4);
}

TEST(Progress, DependsOnThePollingInterval) {
  for (const Begin& begin : {message(kLong), collective(OperationKind::kAllreduce, kLong, 2)}) {
    double before = 1;
    for (const int period : {10, 100, 1000, 10000, 20000}) {
      const double now = hidden(host(), 2, begin, polling(Time::us(period)));
      EXPECT_LE(now, before + 0.02) << period;
      before = now;
    }
    EXPECT_LT(before, 0.02);
  }
  EXPECT_GT(hidden(host(), 2, message(kLong), polling(Time::us(10))), 0.9);
  // The processor computes the sums in any case, and the program waits for it.
  const double reduced =
      hidden(host(), 2, collective(OperationKind::kAllreduce, kLong, 2), polling(Time::us(10)));
  EXPECT_GT(reduced, 0.5);
  EXPECT_LT(reduced, 0.85);
}

/// As in replays: the number of failed polls while the program computed.
TEST(Progress, CountsQuestionsBetweenCalls) {
  const auto questions = [](std::uint64_t number) -> Beside {
    return [number](RankHandle& rank, RankRequest&) -> Task<void> {
      rank.compute(kComputing, number);
      if (rank.is_far_ahead()) co_await rank.wait_for_world();
    };
  };
  for (const Begin& begin : {message(kLong), collective(OperationKind::kAllreduce, kLong, 2)}) {
    for (const std::uint64_t number : {0, 1, 19, 1999}) {
      const double asked = hidden(
          host(), 2, begin, polling(Time::ps(kComputing.count() / static_cast<std::int64_t>(number + 1))));
      EXPECT_NEAR(hidden(host(), 2, begin, questions(number)), asked, 0.06) << number;
    }
  }
}

TEST(Progress, InAThreadTakesPartOfTheProcessor) {
  const Begin begin = collective(OperationKind::kAllreduce, kLong, 2);
  EXPECT_GT(hidden(host("thread", 0), 2, begin), 0.99);
  const Time end = end_of(host("thread", 0.2), 2, begin, computing);
  EXPECT_NEAR(end.seconds(), kComputing.seconds() / 0.8, 1e-5);
}

TEST(Progress, MakesNoDifferenceToAProgramThatDoesNotCompute) {
  using enum OperationKind;
  for (const OperationKind kind : {kBcast, kReduce, kAllreduce, kAllgather, kAlltoall, kBarrier, kScan}) {
    for (const int ranks : {2, 5, 8}) {
      const Begin begin = collective(kind, kind == kBarrier ? 0 : kMi, ranks);
      EXPECT_EQ(end_of(host(), ranks, begin, nothing), end_of(host("hardware"), ranks, begin, nothing))
          << to_string(kind) << " on " << ranks;
    }
  }
  EXPECT_EQ(end_of(host(), 2, message(kLong), nothing), end_of(host("hardware"), 2, message(kLong), nothing));
}

/// In every backend, the host carries the declined operations, with its own progress.
TEST(Progress, IsTheHostsForDeclinedOperations) {
  WorldBackend backend = test::with_host(test::hardware("zrlmpi"));
  const Begin begin = collective(OperationKind::kAlltoall, kMi, 4);
  EXPECT_LT(hidden(backend, 4, begin), 0.01);
  backend.host_settings = host("hardware").settings;
  EXPECT_GT(hidden(backend, 4, begin), 0.99);
}

/// A progress thread runs while a nonblocking operation of the host is open, and not for operations of the
/// hardware.
TEST(Progress, AThreadTakesItsShareWhereTheHostCarriesSomethingOnly) {
  const WorldBackend by_thread = host("thread", 0.5);
  const auto computed = [&](const WorldBackend& backend, const Begin& begin, bool before) {
    WorldOptions options;
    options.ranks = 2;
    World world(options, backend);
    EXPECT_EQ(world.run([&](RankHandle& rank) -> Task<void> {
      RankRequest request;
      if (before) request = begin(rank);
      rank.compute(kComputing);
      if (!before) request = begin(rank);
      (void)co_await rank.wait(request);
    }),
              "");
    return world.end();
  };
  const Begin reduction = collective(OperationKind::kAllreduce, kMi, 2);
  EXPECT_GE(computed(by_thread, reduction, true), kComputing * 2);
  EXPECT_LT(computed(by_thread, reduction, false), kComputing * 2) << "nothing is open while it computes";
  for (const Begin& begin : {reduction, message(kMi)}) {
    WorldBackend offloaded = test::with_host(test::hardware("dpu"));
    const Time without = computed(offloaded, begin, true);
    offloaded.host_settings = by_thread.settings;
    EXPECT_EQ(computed(offloaded, begin, true), without) << "the hardware carries it";
    WorldBackend declined = test::with_host(test::hardware("zrlmpi"));
    declined.host_settings = by_thread.settings;
    EXPECT_GE(computed(declined, collective(OperationKind::kAlltoall, kMi, 2), true), kComputing * 2);
  }
}

/// An operation whose request was freed ends, and then nothing is open any more.
TEST(Progress, AThreadEndsWithARequestThatWasFreed) {
  WorldOptions options;
  options.ranks = 2;
  World world(options, host("thread", 0.5));
  EXPECT_EQ(world.run([&](RankHandle& rank) -> Task<void> {
    RankRequest request = message(8)(rank);
    if (rank.rank() == 0) {
      rank.abandon(request);
    } else {
      (void)co_await rank.wait(request);
    }
    (void)co_await rank.barrier();
    if (rank.rank() == 0) rank.compute(kComputing);
  }),
            "");
  EXPECT_LT(world.end(), kComputing * 2);
}

TEST(Progress, DependsOnNoOrderOfSimulation) {
  using enum OperationKind;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const auto program = [seed](RankHandle& rank) -> Task<void> {
      std::mt19937_64 draw(seed);
      for (int step = 0; step < 12; ++step) {
        const OperationKind kinds[] = {kAllreduce, kAllgather, kBcast, kAlltoall, kReduceScatter, kBarrier};
        const OperationKind kind = kinds[draw() % std::size(kinds)];
        const std::size_t bytes = kind == kBarrier ? 0 : std::size_t{8} << draw() % 16;
        std::vector<RankRequest> requests;
        requests.push_back(rank.start(rank.world_communicator(), operation_of(kind, bytes, rank.size())));
        requests.push_back(rank.start(rank.world_communicator(), operation_of(kBcast, 70000, rank.size())));
        const int right = (rank.rank() + 1) % rank.size();
        const int left = (rank.rank() + rank.size() - 1) % rank.size();
        requests.push_back(rank.irecv(left, kMi));
        requests.push_back(rank.isend(right, std::size_t{1} << draw() % 20));
        for (std::uint64_t computed = draw() % 4; computed > 0; --computed) {
          rank.compute(
              Time::us(static_cast<std::int64_t>(draw() % 50 + 3 * static_cast<unsigned>(rank.rank()))));
          if (draw() % 2 == 0) (void)co_await rank.iprobe(rank.world_communicator(), left, 99);
        }
        if (draw() % 2 == 0) {
          (void)co_await rank.wait_all(requests);
          continue;
        }
        for (RankRequest& request : requests) {
          std::optional<Received> done;
          while (!done) {
            rank.compute(Time::us(7));
            done = co_await rank.test(request);
          }
        }
      }
    };
    std::vector<std::vector<Time>> clocks;
    for (const std::uint64_t shuffle : {std::uint64_t{0}, seed, seed + 1000}) {
      WorldOptions options;
      options.ranks = 6;
      options.machine.ranks_per_node = 2;
      options.check = true;
      options.shuffle_seed = shuffle;
      World world(options, host());
      EXPECT_EQ(world.run(program), "");
      EXPECT_EQ(world.violations(), std::vector<std::string>());
      clocks.emplace_back();
      for (int rank = 0; rank < 6; ++rank) clocks.back().push_back(world.clock(rank));
    }
    EXPECT_EQ(clocks[0], clocks[1]) << seed;
    EXPECT_EQ(clocks[0], clocks[2]) << seed;
  }
}

}  // namespace
}  // namespace offramp
