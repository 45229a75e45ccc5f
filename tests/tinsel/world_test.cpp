// Ranks share resources, in a world: bounds from the machine's rates, and the same traffic in one machine
// with every fragment.
#include "simulators/world/world.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "backends/tinsel/device.hpp"
#include "backends/tinsel/shared_units.hpp"
#include "backends/tinsel/tinsel.hpp"
#include "tests/tinsel/flows.hpp"

namespace offramp::tinsel::world_test {
namespace {

using Values = std::vector<std::pair<std::string, Settings::Value>>;
constexpr std::size_t kKibibyte = 1024;
constexpr std::size_t kMebibyte = 1024 * kKibibyte;

Settings settings_with(const Values& values) {
  Settings settings = Settings::defaults(tinsel_backend().parameters);
  for (const auto& [name, value] : values) settings.set(name, value);
  return settings;
}

Time end_of(int ranks, const World::Program& program, const Values& values = {}) {
  WorldOptions options;
  options.ranks = ranks;
  options.check = true;
  World world(options, WorldBackend(tinsel_backend(), settings_with(values)));
  EXPECT_EQ(world.run(program), "");
  for (const std::string& violation : world.violations()) ADD_FAILURE() << violation;
  return world.end();
}

void expect_near(const char* what, Time time, Time bound, double part = 0.03) {
  fmt::print("{:<60} bound {:10.1f} us, world {:10.1f} us\n", what, bound.seconds() * 1e6,
             time.seconds() * 1e6);
  EXPECT_GE(time, bound) << what;
  EXPECT_LT(time.seconds(), (1 + part) * bound.seconds()) << what;
}

/// One inter-board link.
Time on_link(std::size_t bytes, std::int64_t messages, bool envelope = true) {
  const Settings settings = settings_with({});
  const Configuration configuration(settings, 2);
  const SharedUnits units(configuration);
  return units.on_link(units.load_of(bytes, envelope)) * messages;
}
/// The words at the mailbox's port, which its threads read or write one by one.
Time through_port(std::size_t bytes, std::int64_t messages) {
  const Settings settings = settings_with({});
  const Configuration configuration(settings, 2);
  const Load load = SharedUnits(configuration).load_of(bytes, true);
  return configuration.machine.cycles(static_cast<std::int64_t>(load.flits) * kWordsPerFlit * messages);
}
/// A single message: on one board, or between boards.
Trip alone(int ranks, int from, int to, std::size_t bytes) {
  const Settings settings = settings_with({});
  const Configuration configuration(settings, ranks);
  return Device(configuration, {}).unicast(from, to, bytes, 0);
}

Operation operation_of(OperationKind kind, int ranks, std::size_t bytes) {
  Operation operation;
  operation.kind = kind;
  operation.bytes = bytes;
  operation.ranks = ranks;
  if (!reduces(kind)) return operation;
  operation.element = ElementType::kFloat32;
  operation.function = ReduceFunction::kSum;
  operation.elements = bytes / 4;
  return operation;
}

Task<void> start_16(RankHandle& rank, Operation operation) {
  std::vector<RankRequest> requests;
  for (int i = 0; i < 16; ++i) requests.push_back(rank.start(rank.world_communicator(), operation));
  co_await rank.wait_all(requests);
}
Task<void> one_collective(RankHandle& rank, Operation operation) {
  co_await rank.collective(operation);
}

TEST(TinselWorld, BoardsShareTheLinkBetweenThem) {
  const auto across = [](RankHandle& rank) -> Task<void> {
    if (rank.rank() < 16) co_await rank.send(rank.rank() + 16, 256 * kKibibyte);
    if (rank.rank() >= 16) co_await rank.receive(rank.rank() - 16, 256 * kKibibyte);
  };
  const Time time = end_of(32, across);
  expect_near("16 ranks of a board send 256 KiB to the next one", time, on_link(256 * kKibibyte, 16));
  EXPECT_GT(time, Time::us(9400));
}

/// Messages between ranks that all begin at once; one machine with every fragment.
Time in_one_machine(int ranks, const std::vector<std::pair<int, int>>& pairs, std::size_t bytes) {
  const Settings settings = settings_with({});
  const Configuration configuration(settings, ranks);
  Time end;
  Flows flows(configuration, {[](std::uint32_t, Time) {},
                              [&end](std::uint32_t, Time, Time last) { end = later(end, last); }});
  for (const auto& [from, to] : pairs) flows.send(from, to, bytes, configuration.send_call);
  EXPECT_TRUE(flows.run());
  return end;
}

TEST(TinselWorld, MessagesThatShareUnitsTakeAsLongAsTheirFragmentsInOneMachine) {
  struct Case {
    const char* what;
    int ranks;
    std::size_t bytes;
    bool congested = false;
    std::vector<std::pair<int, int>> pairs = {};
  };
  std::vector<Case> cases = {
      {"board to board", 32, 32 * kKibibyte},    {"board to board, short", 32, 1000},
      {"incast on a board", 16, 32 * kKibibyte}, {"incast over links", 64, 32 * kKibibyte, true},
      {"around a ring", 96, 60 * kKibibyte},     {"the other half", 96, 30 * kKibibyte}};
  for (int r = 0; r < 16; ++r) {
    cases[0].pairs.emplace_back(r, r + 16);
    cases[1].pairs.emplace_back(r, r + 16);
  }
  for (int r = 1; r < 16; ++r) cases[2].pairs.emplace_back(r, 0);
  for (int r = 1; r < 64; ++r) cases[3].pairs.emplace_back(r, 0);
  for (int r = 0; r < 96; ++r) cases[4].pairs.emplace_back(r, (r + 1) % 96);
  for (int r = 0; r < 48; ++r) cases[5].pairs.emplace_back(r, r + 48);
  for (const Case& one : cases) {
    const Time exact = in_one_machine(one.ranks, one.pairs, one.bytes);
    const Time world = end_of(one.ranks, [&](RankHandle& rank) -> Task<void> {
      std::vector<RankRequest> requests;
      for (const auto& [from, to] : one.pairs) {
        if (from == rank.rank()) requests.push_back(rank.isend(to, one.bytes));
      }
      for (const auto& [from, to] : one.pairs) {
        if (to == rank.rank()) requests.push_back(rank.irecv(from, one.bytes));
      }
      co_await rank.wait_all(requests);
    });
    fmt::print("{:<30} one machine {:9.1f} us, world {:9.1f} us, {:+.1f} %\n", one.what,
               exact.seconds() * 1e6, world.seconds() * 1e6, 100 * (world.seconds() / exact.seconds() - 1));
    // The program's own part: it posts receives, is woken and matches the messages.
    const Settings settings = settings_with({});
    const Configuration configuration(settings, one.ranks);
    const Time program = configuration.wake + configuration.receive_call * 2;
    if (one.congested) {  // buffers of the links overflow, which a world does not model
      EXPECT_GT(exact, world) << one.what;
      EXPECT_LT(exact.seconds(), 1.1 * world.seconds()) << one.what;
      continue;
    }
    EXPECT_NEAR(world.seconds(), exact.seconds(), 0.05 * exact.seconds() + program.seconds()) << one.what;
  }
}

TEST(TinselWorld, AnAlltoallKeepsTheLinkBetweenTwoBoardsBusy) {
  const Time time = end_of(32, [](RankHandle& rank) {
    return one_collective(rank, operation_of(OperationKind::kAlltoall, 32, 16 * kKibibyte));
  });
  expect_near("alltoall of 16 KiB on 32 ranks", time, on_link(16 * kKibibyte, 16 * 16));
}

TEST(TinselWorld, ConcurrentBroadcastsShareTheRootsThreads) {
  const Operation bcast = operation_of(OperationKind::kBcast, 2, kMebibyte);
  const Time one = end_of(2, [&](RankHandle& rank) { return one_collective(rank, bcast); });
  const Time many = end_of(2, [&](RankHandle& rank) { return start_16(rank, bcast); });
  expect_near("16 broadcasts of 1 MiB, as 16 alone", many, one * 16 - Time::us(200));
}

TEST(TinselWorld, ConcurrentReductionsShareThreads) {
  const Operation allreduce = operation_of(OperationKind::kAllreduce, 2, kMebibyte);
  const Time one = end_of(2, [&](RankHandle& rank) { return one_collective(rank, allreduce); });
  const Time many = end_of(2, [&](RankHandle& rank) { return start_16(rank, allreduce); });
  fmt::print("allreduce of 1 MiB: {:.1f} us alone, {:.1f} us for 16\n", one.seconds() * 1e6,
             many.seconds() * 1e6);
  // In each of them, each end sends and receives a mebibyte, and the root adds: 4 instructions per element.
  const Settings settings = settings_with({});
  const Configuration configuration(settings, 2);
  const Time busy = alone(2, 1, 0, kMebibyte).sent + alone(2, 0, 1, kMebibyte).sent;
  EXPECT_GE(many, later(configuration.combine(allreduce, kMebibyte), through_port(kMebibyte, 2)) * 16);
  EXPECT_GE(many, busy * 8) << "the ends send at once";
  EXPECT_LT(many, one * 16);
}

TEST(TinselWorld, ABroadcastBesideMessagesWaitsForUnitsNotForTheirCredits) {
  const auto messages = [](int count, bool and_broadcast) {
    return [count, and_broadcast](RankHandle& rank) -> Task<void> {
      std::vector<RankRequest> requests;
      for (int i = 0; i < count; ++i)
        requests.push_back(rank.rank() == 0 ? rank.isend(1, kMebibyte) : rank.irecv(0, kMebibyte));
      if (and_broadcast)
        requests.push_back(
            rank.start(rank.world_communicator(), operation_of(OperationKind::kBcast, 2, kMebibyte)));
      co_await rank.wait_all(requests);
    };
  };
  // The window limits the messages, so the mailbox's port is free for the broadcast.
  expect_near("16 messages and a broadcast, as 16 messages", end_of(2, messages(16, true)),
              end_of(2, messages(16, false)) - Time::us(20));
}

Task<void> incast(RankHandle& rank, Time late) {
  if (rank.rank() == 0) {
    std::vector<RankRequest> requests;
    for (int peer = 1; peer < rank.size(); ++peer) requests.push_back(rank.irecv(peer, kMebibyte));
    co_await rank.wait_all(requests);
    co_return;
  }
  if (rank.rank() == 1) rank.compute(late);
  co_await rank.send(0, kMebibyte);
}

TEST(TinselWorld, AnIncastTakesTheTimeOfTheReceiversMailboxAlsoIfTheFirstReceiveIsForALateSender) {
  for (const Time late : {Time(), Time::ms(1)})
    expect_near("15 messages of 1 MiB to one rank",
                end_of(16, [late](RankHandle& rank) { return incast(rank, late); }),
                through_port(kMebibyte, 15));
  // For a sender that is late enough, everything is idle.
  const Time two = end_of(2, [](RankHandle& rank) { return incast(rank, {}); });
  const Time late = end_of(4, [](RankHandle& rank) { return incast(rank, Time::ms(30)); });
  EXPECT_NEAR((late - Time::ms(30)).seconds(), two.seconds(), 1e-6);
}

/// GB/s of payload of all streams from one board to the next.
double rate_over_a_link(int streams, int window) {
  const Time time = end_of(32,
                           [streams](RankHandle& rank) -> Task<void> {
                             if (rank.rank() < streams) co_await rank.send(rank.rank() + 16, 2 * kMebibyte);
                             if (rank.rank() >= 16 && rank.rank() < 16 + streams)
                               co_await rank.receive(rank.rank() - 16, 2 * kMebibyte);
                           },
                           {{"window", {static_cast<double>(window), {}}}});
  return static_cast<double>(streams) * 2 * kMebibyte / time.seconds() / 1e9;
}

TEST(TinselWorld, AStreamIsLimitedByItsWindowAndTwoAreByTheLink) {
  EXPECT_NEAR(rate_over_a_link(1, 32), 0.24, 0.005);
  EXPECT_NEAR(rate_over_a_link(1, 63), 0.38, 0.005);
  EXPECT_NEAR(rate_over_a_link(2, 32), 0.44, 0.005);
  EXPECT_NEAR(rate_over_a_link(8, 32), 0.44, 0.005);
}

TEST(TinselWorld, AShortMessageDoesNotWaitForLongOnes) {
  Time done;
  const auto program = [&done](RankHandle& rank) -> Task<void> {
    const int partner = (rank.rank() + 16) % 32;
    if (rank.rank() < 15) co_await rank.send(partner, 60 * kKibibyte);
    if (rank.rank() >= 16 && rank.rank() < 31) co_await rank.receive(partner, 60 * kKibibyte);
    if (rank.rank() == 15) {
      rank.compute(Time::us(50));
      co_await rank.send(31, 8);
    }
    if (rank.rank() == 31) {
      co_await rank.receive(15, 8);
      done = rank.clock();
    }
  };
  const Time all = end_of(32, program);
  EXPECT_GT(all, Time::us(1900));
  EXPECT_LT(done, Time::us(80));
}

TEST(TinselWorld, ARankMoreNeverMakesAGatherFaster) {
  for (const std::size_t bytes : {8U, 27U, 30U, 1000U}) {
    Time before;
    for (const int ranks : {2, 3, 4, 5, 8, 15, 16}) {  // of one board
      const Operation gather = operation_of(OperationKind::kGather, ranks, bytes);
      const Time time = end_of(ranks, [&](RankHandle& rank) { return one_collective(rank, gather); });
      EXPECT_GE(time, before) << ranks << " ranks, " << bytes << " bytes";
      before = time;
    }
  }
}

/// A rank's messages to several others of its board, all at once.
Time scattered(int messages, std::size_t bytes, const Values& values = {}) {
  return end_of(
      16,
      [=](RankHandle& rank) -> Task<void> {
        std::vector<RankRequest> requests;
        for (int peer = 1; peer <= messages; ++peer) {
          if (rank.rank() == 0) requests.push_back(rank.isend(peer, bytes));
          if (rank.rank() == peer) requests.push_back(rank.irecv(0, bytes));
        }
        co_await rank.wait_all(requests);
      },
      values);
}

TEST(TinselWorld, ASenderServesOthersWhileOneDestinationsCreditsAreMissing) {
  const Time within = scattered(15, 1802);  // 31 fragments
  const Time beyond = scattered(15, 2343);  // 40
  fmt::print("15 messages of 1802 and 2343 B: {:.1f} and {:.1f} us\n", within.seconds() * 1e6,
             beyond.seconds() * 1e6);
  EXPECT_GT(beyond, within);
  EXPECT_LT(beyond.seconds(), 1.35 * within.seconds());
  EXPECT_NEAR(beyond.seconds(), scattered(15, 2343, {{"window", {63, {}}}}).seconds(),
              0.1 * beyond.seconds());
  // A few streams have the sender's threads and its port to themselves.
  EXPECT_LT(scattered(2, kMebibyte).seconds(), 1.1 * scattered(1, kMebibyte).seconds());
}

TEST(TinselWorld, ABarrierIsTheFasterOneOfATreeAndIdleDetectionAndGrowsWithTheRanks) {
  const auto barrier = [](int ranks, const char* way) {
    const Operation operation = operation_of(OperationKind::kBarrier, ranks, 0);
    return end_of(ranks, [&](RankHandle& rank) { return one_collective(rank, operation); },
                  {{"barrier", {0, way}}});
  };
  Time before;
  for (const int ranks : {2, 3, 8, 16, 32, 64, 97, 768}) {
    const Time time = barrier(ranks, "auto");
    EXPECT_EQ(time, earlier(barrier(ranks, "tree"), barrier(ranks, "idle"))) << ranks;
    EXPECT_GE(time, before) << ranks;
    before = time;
  }
}

TEST(TinselWorld, MessagesOfOnePairShareAWindow) {
  const auto in_a_row = [](int messages, std::size_t bytes) {
    return end_of(2, [=](RankHandle& rank) -> Task<void> {
      std::vector<RankRequest> requests;
      for (int i = 0; i < messages; ++i)
        requests.push_back(rank.rank() == 0 ? rank.isend(1, bytes) : rank.irecv(0, bytes));
      co_await rank.wait_all(requests);
    });
  };
  const Time one = in_a_row(1, kMebibyte);
  EXPECT_NEAR(in_a_row(8, kMebibyte).seconds(), 8 * one.seconds(), 0.02 * 8 * one.seconds());
  EXPECT_NEAR(in_a_row(1024, kKibibyte).seconds(), one.seconds(), 0.1 * one.seconds());
}

// 16 ranks of a board exchange data that no cache has room for: each byte is read by the sender's threads,
// fetched by the receiver's, and written back; 32 beats of 32 bytes are in flight to each of two DRAMs for 80
// cycles.
TEST(TinselWorld, AnExchangeOnOneBoardIsLimitedByItsMemory) {
  const auto exchange = [](std::size_t bytes) {
    return end_of(16, [bytes](RankHandle& rank) -> Task<void> {
      std::vector<RankRequest> requests;
      requests.push_back(rank.irecv(rank.rank() ^ 1, bytes));
      requests.push_back(rank.isend(rank.rank() ^ 1, bytes));
      co_await rank.wait_all(requests);
    });
  };
  const std::size_t cached = 64 * kKibibyte;  // 1 KiB of each thread
  const double rate = 2 * 32 * 32 * 210e6 / 80;
  const double bound = 16 * 3 * static_cast<double>(kMebibyte - cached) / rate;
  const double time = exchange(kMebibyte).seconds();
  fmt::print("exchange of 1 MiB on 16 ranks of a board: bound {:.1f} us, world {:.1f} us\n", bound * 1e6,
             time * 1e6);
  EXPECT_GE(time, bound);
  EXPECT_LT(time, 1.1 * bound);
  EXPECT_LT(exchange(cached).seconds(), 0.05 * time);  // which needs no memory
}

TEST(TinselWorld, ResourcesNameTheBusyLink) {
  WorldOptions options;
  options.ranks = 32;
  World world(options, WorldBackend(tinsel_backend(), settings_with({})));
  EXPECT_EQ(world.run([](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) co_await rank.send(16, 30000);
    if (rank.rank() == 16) co_await rank.receive(0, 30000);
  }),
            "");
  bool found = false;
  for (const World::ResourceUse& use : world.resources()) {
    if (use.name != "tinsel.board (0, 0) link E") continue;
    found = true;
    EXPECT_EQ(use.busy, on_link(30000, 1));
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace offramp::tinsel::world_test
