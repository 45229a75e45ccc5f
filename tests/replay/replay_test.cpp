// Replays: a recording ends with the clocks of its program.
#include "lib/answers/replay/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lib/answers/replay/open_requests.hpp"
#include "tests/built_in_names.hpp"
#include "tests/replay/tape.hpp"

namespace offramp {
namespace {

using recording::EventKind;
using test::Tape;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::size_t kLong = 1 << 20;  // makes a handshake over every backend

const Registry& registry() {
  static const Registry all{built_in_backends()};
  return all;
}

std::vector<Time> played(const WorldSetting& setting, int ranks, const World::Program& program) {
  const std::unique_ptr<World> world = std::move(*make_world(setting, ranks));
  EXPECT_EQ(world->run(program), "");
  std::vector<Time> clocks;
  for (int rank = 0; rank < ranks; ++rank) clocks.push_back(world->clock(rank));
  return clocks;
}

ReplayResult replayed(const WorldSetting& setting, const std::vector<Tape>& tapes,
                      const ReplayOptions& options = {}) {
  Result<ReplayResult> result = replay(setting, test::source_of(tapes), options);
  EXPECT_TRUE(result) << result.error();
  return result ? std::move(*result) : ReplayResult();
}

std::string error_of(const std::vector<Tape>& tapes, const ReplayOptions& options = {}) {
  return replay(test::setting_of(registry(), "host"), test::source_of(tapes), options).error();
}

Operation operation_of(OperationKind kind, std::size_t bytes, int ranks, int root = 0) {
  Operation operation;
  operation.kind = kind;
  operation.bytes = bytes;
  operation.ranks = ranks;
  operation.root = root;
  if (reduces(kind)) {
    operation.element = ElementType::kFloat64;
    operation.function = ReduceFunction::kSum;
    operation.elements = bytes / 8;
  }
  return operation;
}

/// With each backend.
class Replays : public testing::TestWithParam<const char*> {
 protected:
  WorldSetting setting_ = test::setting_of(registry(), GetParam());
};

TEST_P(Replays, GiveTheClocksOfTheProgram) {
  const std::vector<Time> direct = played(setting_, 3, [](RankHandle& rank) -> Task<void> {
    const int right = (rank.rank() + 1) % 3;
    const int left = (rank.rank() + 2) % 3;
    if (rank.rank() == 1) rank.compute(Time::us(7));
    (void)co_await rank.sendrecv(right, kLong, left, kLong, 4);
    if (rank.rank() == 0) (void)co_await rank.ssend(1, 64, 1);
    if (rank.rank() == 1) (void)co_await rank.receive(0, 64, 1);
    std::vector<RankRequest> requests;
    for (int i = 0; i < 4; ++i) requests.push_back(rank.irecv(left, 4096, i));
    for (int i = 0; i < 4; ++i) requests.push_back(rank.isend(right, 4096, i));
    (void)co_await rank.wait_all(requests);
    (void)co_await rank.allreduce(8192);
    (void)co_await rank.bcast(40000, 2);
    (void)co_await rank.barrier();
  });
  std::vector<Tape> tapes(3);
  for (int rank = 0; rank < 3; ++rank) {
    Tape& tape = tapes[static_cast<std::size_t>(rank)];
    const int right = (rank + 1) % 3;
    const int left = (rank + 2) % 3;
    if (rank == 1) tape.compute(7000);
    std::vector<std::uint64_t> both = {tape.irecv(left, kLong, 4)};
    both.insert(both.begin(), tape.isend(right, kLong, 4));
    tape.last().event.flags |= recording::kContinues;
    tape.wait(both);
    tape.last().event.flags |= recording::kContinues;
    if (rank == 0) tape.message(EventKind::kSend, 1, 64, 1, recording::kBlocking | recording::kSynchronous);
    if (rank == 1) tape.receive(0, 64, 1);
    std::vector<std::uint64_t> requests;
    for (int i = 0; i < 4; ++i) requests.push_back(tape.irecv(left, 4096, i));
    for (int i = 0; i < 4; ++i) requests.push_back(tape.isend(right, 4096, i));
    tape.wait(requests);
    tape.add(tape.collective(operation_of(OperationKind::kAllreduce, 8192, 3)));
    tape.add(tape.collective(operation_of(OperationKind::kBcast, 40000, 3, 2)));
    tape.add(tape.collective(operation_of(OperationKind::kBarrier, 0, 3)));
  }
  ReplayOptions options;
  options.compute.kind = Compute::Mode::kMeasured;
  const ReplayResult result = replayed(setting_, tapes, options);
  EXPECT_EQ(result.clocks(), direct);
  EXPECT_EQ(result.modelled_time, *std::max_element(direct.begin(), direct.end()));
  EXPECT_THAT(result.unfinished, IsEmpty());
}

TEST_P(Replays, KnowSubCommunicatorsByTheirMembers) {
  const std::vector<Time> direct = played(setting_, 4, [](RankHandle& rank) -> Task<void> {
    const std::optional<Communicator> half =
        co_await rank.split(rank.world_communicator(), rank.rank() / 2, -rank.rank());
    const Communicator twin = co_await rank.duplicate(*half);
    if (half->rank() == 0) {
      (void)co_await rank.send(twin, 1, 128, 3);
      (void)co_await rank.send(*half, 1, 4096, 3);
    } else {
      (void)co_await rank.receive(*half, 0, 4096, 3);
      (void)co_await rank.receive(twin, 0, 128, 3);
    }
    (void)co_await rank.collective(*half, operation_of(OperationKind::kAllgather, 512, 2));
  });
  std::vector<Tape> tapes(4);
  for (int rank = 0; rank < 4; ++rank) {
    Tape& tape = tapes[static_cast<std::size_t>(rank)];
    const std::vector<int> members = rank < 2 ? std::vector{1, 0} : std::vector{3, 2};
    tape.meet();
    tape.communicator(members);
    tape.meet(2);
    tape.communicator(members);
    const bool first = rank % 2 == 1;
    if (first) {
      tape.message(EventKind::kSend, 1, 128, 3, recording::kBlocking, 3);
      tape.message(EventKind::kSend, 1, 4096, 3, recording::kBlocking, 2);
    } else {
      tape.message(EventKind::kReceive, 0, 4096, 3, recording::kBlocking, 2);
      tape.message(EventKind::kReceive, 0, 128, 3, recording::kBlocking, 3);
    }
    tape.add(tape.collective(operation_of(OperationKind::kAllgather, 512, 2), 2));
    tape.add(tape.collective(operation_of(OperationKind::kBarrier, 0, 1), recording::kSelf));
  }
  const ReplayResult result = replayed(setting_, tapes);
  // The program above has no barrier of one rank.
  std::vector<Time> expected;
  for (int rank = 0; rank < 4; ++rank) expected.push_back(result.clocks()[static_cast<std::size_t>(rank)]);
  const Time alone =
      played(setting_, 1, [](RankHandle& rank) -> Task<void> { (void)co_await rank.barrier(); })[0];
  for (std::size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(expected[rank], direct[rank] + alone) << rank;
}

TEST_P(Replays, DistinguishCommunicatorsOfEqualMembersByTheirIds) {
  std::vector<Tape> tapes(2);
  for (int rank = 0; rank < 2; ++rank) {
    Tape& tape = tapes[static_cast<std::size_t>(rank)];
    tape.communicator({0, 1}, rank == 0 ? 7 : 9);
    tape.communicator({0, 1}, rank == 0 ? 9 : 7);
    const std::uint32_t seven = rank == 0 ? 2 : 3;
    tape.add(tape.collective(operation_of(OperationKind::kAllgather, 512, 2), seven));
    tape.add(tape.collective(operation_of(OperationKind::kBarrier, 0, 2), 5 - seven));
  }
  EXPECT_THAT(replayed(setting_, tapes).unfinished, IsEmpty());
}

TEST_P(Replays, LastAsLongAsBlockedTimeAndCallsWithoutAModel) {
  std::vector<Tape> tapes(2);
  tapes[0].compute(1000).block(20'000).lasts(700'000).meet();
  tapes[1].compute(3000).block(50'000).lasts(40'000).meet();
  tapes[0].lasts(5000).native();
  const auto ends = [&](const Compute& compute) {
    ReplayOptions options;
    options.compute = compute;
    const ReplayResult result = replayed(setting_, tapes, options);
    EXPECT_EQ(result.ranks[0].blocked, Time::ns(20'000));
    EXPECT_EQ(whole_run_of(result).in_calls, Time()) << "no call has a model";
    return result.clocks();
  };
  // Rank 1 enters last, so the meeting lasts as long as its call.
  EXPECT_THAT(ends({.kind = Compute::Mode::kMeasured}), ElementsAre(Time::ns(98'000), Time::ns(93'000)));
  EXPECT_THAT(ends({.kind = Compute::Mode::kFactor, .factor = 2}),
              ElementsAre(Time::ns(101'000), Time::ns(96'000)));
  EXPECT_THAT(ends({.kind = Compute::Mode::kMeasured, .blocked = 0}),
              ElementsAre(Time::ns(48'000), Time::ns(43'000)));
  EXPECT_THAT(ends({.kind = Compute::Mode::kNone}), ElementsAre(Time(), Time()));
}

/// The native time of a constructor is beside its meeting, which follows the new communicator.
TEST_P(Replays, CountConstructorsAmongCallsWithoutAModel) {
  std::vector<Tape> tapes(2);
  for (Tape& tape : tapes) {
    tape.communicator({0, 1});
    tape.lasts(40'000).meet();
    tape.last().event.flags |= recording::kContinues;
  }
  ReplayOptions options;
  options.compute.kind = Compute::Mode::kMeasured;
  const WholeRun run = whole_run_of(replayed(setting_, tapes, options));
  EXPECT_EQ(run.in_calls, Time());
  EXPECT_EQ(run.without_model, Time::us(80));
}

/// Each rank writes its own part of a file, and one has more to write.
TEST_P(Replays, CollectiveAccessesToAFileLastAsLongAsEachRanksOwn) {
  std::vector<Tape> tapes(2);
  tapes[0].lasts(700'000).meet();
  tapes[1].block(50'000).lasts(40'000).meet();
  for (Tape& tape : tapes) tape.last().event.call = Tape::kFileCall;
  ReplayOptions options;
  options.compute.kind = Compute::Mode::kMeasured;
  EXPECT_THAT(replayed(setting_, tapes, options).clocks(), ElementsAre(Time::us(700), Time::us(90)));
}

TEST_P(Replays, CountTimeBetweenPollsAsConfigured) {
  std::vector<Tape> tapes(1);
  tapes[0].compute(1000).polls(9).gaps({200, 30'000}).native();
  const auto computed = [&](Polling polling, Compute::Mode kind) {
    ReplayOptions options;
    options.compute = {.kind = kind, .factor = 2, .polling = polling};
    return replayed(setting_, tapes, options);
  };
  for (const auto& [polling, nanoseconds] :
       {std::pair{Polling::kWork, 31'200}, {Polling::kThreshold, 31'000}, {Polling::kWait, 1000}}) {
    const ReplayResult none = computed(polling, Compute::Mode::kNone);
    EXPECT_EQ(none.modelled_time, Time());
    EXPECT_EQ(none.ranks[0].computing, Time::ns(nanoseconds));
    EXPECT_EQ(computing_of(none).brief_gaps, Time::ns(200));
    EXPECT_EQ(computing_of(none).longer_gaps, Time::ns(30'000));
    EXPECT_EQ(computed(polling, Compute::Mode::kMeasured).modelled_time, Time::ns(nanoseconds));
    EXPECT_EQ(computed(polling, Compute::Mode::kFactor).modelled_time, Time::ns(2 * nanoseconds));
  }
}

TEST_P(Replays, RepeatTheRecordedWildcardMatches) {
  // Rank 2 is first in modelled time, rank 1 was first in the recorded run.
  std::vector<Tape> tapes(3);
  tapes[0].message(EventKind::kReceive, kAnySource, 64, kAnyTag);
  tapes[0].took(1, 5);
  tapes[0].message(EventKind::kReceive, kAnySource, 64, kAnyTag);
  tapes[0].took(2, 6);
  tapes[1].compute(500'000);
  tapes[1].send(0, 64, 5);
  tapes[2].send(0, 64, 6);
  tapes[2].polls(3).native();
  ReplayOptions options;
  options.compute.kind = Compute::Mode::kMeasured;
  const std::vector<Time> in_order = played(setting_, 3, [](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 1) rank.compute(Time::us(500));
    if (rank.rank() > 0) {
      (void)co_await rank.send(0, 64, rank.rank() + 4);
      co_return;
    }
    (void)co_await rank.receive(1, 64);
    (void)co_await rank.receive(2, 64);
  });
  const std::vector<Time> by_arrival = played(setting_, 3, [](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 1) rank.compute(Time::us(500));
    if (rank.rank() > 0) {
      (void)co_await rank.send(0, 64, rank.rank() + 4);
      co_return;
    }
    (void)co_await rank.receive(kAnySource, 64);
    (void)co_await rank.receive(kAnySource, 64);
  });
  const ReplayResult recorded = replayed(setting_, tapes, options);
  EXPECT_EQ(recorded.clocks(), in_order);
  EXPECT_THAT(recorded.total().dependences, ElementsAre(2, 3, 0));
  options.arrival = Arrival::kModelled;
  EXPECT_EQ(replayed(setting_, tapes, options).clocks(), by_arrival);
}

TEST_P(Replays, StartRequestsAgainAndInCollectivesToo) {
  const Operation reduction = operation_of(OperationKind::kReduce, 4096, 2, 1);
  const std::vector<Time> direct = played(setting_, 2, [&](RankHandle& rank) -> Task<void> {
    PersistentMessage message;
    message.sends = rank.rank() == 0;
    message.communicator = rank.world_communicator();
    message.peer = 1 - rank.rank();
    message.bytes = 70000;
    for (int i = 0; i < 3; ++i) {
      RankRequest request = rank.start(message);
      RankRequest collective = rank.start(rank.world_communicator(), reduction);
      (void)co_await rank.wait(collective);
      (void)co_await rank.wait(request);
    }
  });
  std::vector<Tape> tapes(2);
  for (int rank = 0; rank < 2; ++rank) {
    Tape& tape = tapes[static_cast<std::size_t>(rank)];
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t request = rank == 0 ? tape.isend(1, 70000) : tape.irecv(0, 70000);
      Tape::Event event = tape.collective(reduction);
      event.flags = 0;
      const std::uint64_t collective = tape.add(event);
      tape.wait({collective});
      tape.wait({request});
      tape.wait({request});  // known already
    }
  }
  EXPECT_EQ(replayed(setting_, tapes).clocks(), direct);
}

TEST_P(Replays, HaveBlocksOfDifferentSizes) {
  static constexpr std::size_t kBlocks[] = {800, 0, 4096};
  const Operation gatherv = operation_of(OperationKind::kGatherv, 0, 3, 1);
  const Operation alltoallv = operation_of(OperationKind::kAlltoallv, 0, 3);
  const std::vector<Time> direct = played(setting_, 3, [&](RankHandle& rank) -> Task<void> {
    const auto own = static_cast<std::size_t>(rank.rank());
    CollectiveSizes sizes;
    sizes.send = kBlocks[own];
    sizes.in_place = rank.rank() == 1;
    if (rank.rank() == 1) sizes.receive_blocks = {std::begin(kBlocks), std::end(kBlocks)};
    RankRequest gather = rank.start(rank.world_communicator(), gatherv, sizes);
    (void)co_await rank.wait(gather);
    CollectiveSizes all;
    all.send_blocks.assign(3, kBlocks[own]);
    all.receive_blocks = {std::begin(kBlocks), std::end(kBlocks)};
    RankRequest exchange = rank.start(rank.world_communicator(), alltoallv, all);
    (void)co_await rank.wait(exchange);
  });
  std::vector<Tape> tapes(3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    Tape& tape = tapes[rank];
    const std::vector<std::uint64_t> blocks(std::begin(kBlocks), std::end(kBlocks));
    Tape::Event event = tape.collective(gatherv);
    event.bytes = kBlocks[rank];
    if (rank == 1) {
      event.flags |= recording::kInPlace;
      event.second_list = tape.list(blocks);
      event.extra = 4896;
    }
    tape.add(event);
    event = tape.collective(alltoallv);
    event.list = tape.list({kBlocks[rank], kBlocks[rank], kBlocks[rank]});
    event.second_list = tape.list(blocks);
    event.bytes = 3 * kBlocks[rank];
    event.extra = 4896;
    tape.add(event);
  }
  EXPECT_EQ(replayed(setting_, tapes).clocks(), direct);
}

TEST_P(Replays, FreeAndBufferWithoutWaiting) {
  const std::vector<Time> direct = played(setting_, 2, [](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 1) {
      rank.compute(Time::us(400));
      for (int i = 0; i < 3; ++i) (void)co_await rank.receive(0, kLong, i);
      co_return;
    }
    for (int i = 0; i < 3; ++i) {
      RankRequest request = rank.isend(1, kLong, i);
      rank.abandon(request);
    }
  });
  std::vector<Tape> tapes(2);
  tapes[0].message(EventKind::kSend, 1, kLong, 0, recording::kBuffered);
  tapes[0].message(EventKind::kSend, 1, kLong, 1, recording::kBuffered | recording::kBlocking);
  tapes[0].of_requests(EventKind::kFree, {tapes[0].isend(1, kLong, 2)});
  tapes[1].compute(400'000);
  for (int i = 0; i < 3; ++i) tapes[1].receive(0, kLong, i);
  ReplayOptions options;
  options.compute.kind = Compute::Mode::kMeasured;
  EXPECT_EQ(replayed(setting_, tapes, options).clocks(), direct);
}

/// Events of any kind that are valid but for some fields.
class Scribbler {
 public:
  explicit Scribbler(std::uint64_t seed) : random_(seed) {}

  std::vector<Tape> scribble() {
    std::vector<Tape> tapes(3);
    for (Tape& tape : tapes) {
      tape.communicator({2, 0, 1});
      begun_ = 0;
      for (int i = below(40); i > 0; --i) add(tape);
      tape.cut = below(2) == 0;
    }
    return tapes;
  }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }
  /// Mostly a number in range; rarely any number.
  template <typename T>
  T about(int least, int limit) {
    return below(1000) == 0 ? static_cast<T>(random_()) : static_cast<T>(least + below(limit - least));
  }

  void add(Tape& tape) {
    Tape::Event event;
    event.kind = about<EventKind>(0, static_cast<int>(EventKind::kCount));
    // Collectives and probes of three scribblers never agree for long.
    if (event.kind == EventKind::kCollective && below(4) > 0) event.kind = EventKind::kSend;
    if (event.kind == EventKind::kProbe && below(4) > 0) event.kind = EventKind::kReceive;
    event.flags = static_cast<std::uint8_t>(below(5) > 0 ? below(256) & ~recording::kBlocking : below(256));
    event.element = about<ElementType>(0, static_cast<int>(ElementType::kMixed) + 1);
    event.function = about<ReduceFunction>(0, static_cast<int>(ReduceFunction::kUser) + 1);
    event.operation = about<OperationKind>(1, static_cast<int>(OperationKind::kGatherv));
    event.call = static_cast<std::uint16_t>(event.kind);
    event.communicator = 2 * about<std::uint32_t>(0, 2);
    const int least = event.kind == EventKind::kReceive ? -1 : 0;
    event.peer = about<std::int32_t>(least, 3);
    event.tag = about<std::int32_t>(least, 2);
    event.bytes = about<std::uint64_t>(0, 70000);
    if (event.kind == EventKind::kAccess) {
      event.tag = about<std::int32_t>(1, static_cast<int>(Access::kCount));
      event.extra = about<std::uint64_t>(0, 70000);
    }
    set_lists(tape, event);
    tape.compute(random_() % 1000);
    tape.add(event);
    begun_ += recording::begins_request(event) ? 1 : 0;
    if (below(3) > 0) tape.took(event.peer < 0 ? below(3) : event.peer, event.tag < 0 ? 0 : event.tag);
  }

  void set_lists(Tape& tape, Tape::Event& event) {
    const bool of_requests =
        event.kind == EventKind::kWait || event.kind == EventKind::kCancel || event.kind == EventKind::kFree;
    if (event.kind == EventKind::kCommunicator) {
      event.list = tape.list({1, 0, 2});
    } else if (event.kind == EventKind::kNeighbours) {
      event.list = list(tape, 0, 3);
      event.second_list = list(tape, 0, 3);
    } else if (of_requests && begun_ > 0) {
      event.list = list(tape, 1, begun_ + 1);
    }
  }

  std::uint32_t list(Tape& tape, int least, int limit) {
    std::vector<std::uint64_t> values;
    for (int i = below(5); i > 0; --i) values.push_back(about<std::uint64_t>(least, limit));
    return tape.list(values);
  }

  std::mt19937_64 random_;
  int begun_ = 0;
};

TEST_P(Replays, EndWhateverTheRecordingSays) {
  int ended = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const std::vector<Tape> tapes = Scribbler(seed).scribble();
    for (const Arrival arrival : {Arrival::kRecorded, Arrival::kModelled}) {
      ReplayOptions options;
      options.compute.kind = Compute::Mode::kMeasured;
      options.arrival = arrival;
      const Result<ReplayResult> result = replay(setting_, test::source_of(tapes), options);
      ended += result ? 1 : 0;
      EXPECT_TRUE(result || !result.error().empty());
    }
  }
  EXPECT_GT(ended, 10);
}

INSTANTIATE_TEST_SUITE_P(OverEachBackend, Replays, testing::ValuesIn(test::built_in_names()),
                         [](const auto& test) { return std::string(test.param); });

// --- one thing at a time, over the host ---

class AReplay : public testing::Test {
 protected:
  WorldSetting setting_ = test::setting_of(registry(), "host");
};

TEST_F(AReplay, TakesAFactorOfTheRecordedTimes) {
  std::vector<Tape> tapes(1);
  tapes[0].compute(1000).native();
  tapes[0].compute(501).native();
  ReplayOptions options;
  EXPECT_EQ(replayed(setting_, tapes, options).modelled_time, Time());
  options.compute.kind = Compute::Mode::kMeasured;
  EXPECT_EQ(replayed(setting_, tapes, options).modelled_time, Time::ns(1501));
  options.compute = {.kind = Compute::Mode::kFactor, .factor = 0.5};
  EXPECT_EQ(replayed(setting_, tapes, options).modelled_time, Time::ps(750500));
}

TEST_F(AReplay, LetsTheWorldDecideWhichRequestIsDoneFirst) {
  // The message that rank 0 was recorded to receive first comes last.
  std::vector<Tape> tapes(3);
  const std::uint64_t late = tapes[0].irecv(1, 64);
  const std::uint64_t early = tapes[0].irecv(2, 64);
  tapes[0].wait_for(recording::kAny, {late, early}, {0});
  tapes[0].send(2, 8);
  tapes[0].wait({early});
  tapes[1].compute(900'000);
  tapes[1].send(0, 64);
  tapes[2].send(0, 64);
  tapes[2].receive(0, 8);
  ReplayOptions options;
  options.compute.kind = Compute::Mode::kMeasured;
  const ReplayResult recorded = replayed(setting_, tapes, options);
  EXPECT_EQ(recorded.total().dependences[static_cast<std::size_t>(Dependence::kChoice)], 1u);
  EXPECT_GT(recorded.clocks()[2], Time::us(900));
  options.arrival = Arrival::kModelled;
  const ReplayResult modelled = replayed(setting_, tapes, options);
  EXPECT_LT(modelled.clocks()[2], Time::us(900));
  EXPECT_GT(modelled.clocks()[0], Time::us(900)) << "the program learns of the other one by its end";
}

/// Four ranks in a circle exchange borders with both neighbours.
std::vector<Tape> borders(const std::function<void(Tape&, int left, int right)>& exchange) {
  std::vector<Tape> tapes(4);
  for (int rank = 0; rank < 4; ++rank) {
    Tape& tape = tapes[static_cast<std::size_t>(rank)];
    for (int step = 0; step < 3; ++step) exchange(tape, (rank + 3) % 4, (rank + 1) % 4);
  }
  return tapes;
}

TEST_F(AReplay, NeighbourhoodCollectivesAreMessages) {
  for (const std::uint64_t bytes : {8ULL, 100'000ULL, 4'000'000ULL}) {
    const auto blocks = [bytes](int first, int second) -> std::vector<std::uint64_t> {
      return {static_cast<std::uint64_t>(first), bytes, static_cast<std::uint64_t>(second), bytes};
    };
    const auto together = borders(
        [&](Tape& tape, int left, int right) { tape.neighbours(blocks(left, right), blocks(right, left)); });
    const auto begun = borders([&](Tape& tape, int left, int right) {
      tape.wait({tape.neighbours(blocks(left, right), blocks(right, left), 0)});
    });
    const auto alone = borders([&](Tape& tape, int left, int right) {
      std::vector<std::uint64_t> requests;
      for (const int from : {right, left}) requests.push_back(tape.irecv(from, bytes));
      for (const int to : {left, right}) requests.push_back(tape.isend(to, bytes));
      tape.wait(requests);
    });
    const double expected = replayed(setting_, alone, {}).modelled_time.seconds();
    const ReplayResult result = replayed(setting_, together, {});
    EXPECT_THAT(result.unfinished, IsEmpty());
    EXPECT_NEAR(result.modelled_time.seconds() / expected, 1, 0.1) << bytes;
    EXPECT_NEAR(replayed(setting_, begun, {}).modelled_time.seconds() / expected, 1, 0.1) << bytes;
    EXPECT_GT(result.modelled_time.seconds(), 3 * 2 * static_cast<double>(bytes) / 12.5e9)
        << "the rate of a link";
    EXPECT_EQ(result.total().calls[0].bytes, 4 * 3 * 2 * bytes);
  }
}

/// The clock of rank 0 after it has accessed the memory of rank 1, which computes for 1 ms.
Time accessed(const WorldSetting& setting, Access kind, std::uint64_t bytes, std::uint64_t back = 0) {
  std::vector<Tape> tapes(2);
  tapes[0].access(kind, 1, bytes, back);
  tapes[1].compute(1'000'000).native();
  ReplayOptions options;
  options.compute.kind = Compute::Mode::kMeasured;
  return replayed(setting, tapes, options).clocks()[0];
}

TEST_F(AReplay, AccessesUseTheLinksAndWaitForTheirEnd) {
  constexpr std::uint64_t kAll = 10'000'000;
  constexpr double kLink = kAll / 12.5e9;
  for (const Access kind : {Access::kWrite, Access::kRead}) {
    const bool writes = kind == Access::kWrite;
    std::vector<Tape> tapes(3);
    tapes[0].access(kind, 1, writes ? kAll : 0, writes ? 0 : kAll);
    const ReplayResult one = replayed(setting_, tapes, {});
    EXPECT_GT(one.clocks()[0].seconds(), kLink + 2e-6) << "and the latency in both directions";
    EXPECT_LT(one.clocks()[0].seconds(), 1.1 * kLink);
    EXPECT_EQ(one.clocks()[1], Time());
    EXPECT_EQ(one.total().calls[0].bytes, kAll);
    tapes[2].access(kind, 1, writes ? kAll : 0, writes ? 0 : kAll);
    EXPECT_NEAR(replayed(setting_, tapes, {}).modelled_time.seconds() / kLink, 2, 0.1) << "the target's link";
  }
  std::vector<Tape> tapes(2);
  std::vector<std::uint64_t> requests;
  for (int i = 0; i < 100; ++i) requests.push_back(tapes[0].access(Access::kWrite, 1, kAll / 100, 0, 0));
  tapes[0].wait(requests);
  EXPECT_NEAR(replayed(setting_, tapes, {}).modelled_time.seconds() / kLink, 1, 0.1) << "one after the other";
}

TEST_F(AReplay, OnlyCombiningAccessesNeedTheTargetsProcessor) {
  EXPECT_LT(accessed(setting_, Access::kWrite, 8), Time::us(3));
  EXPECT_LT(accessed(setting_, Access::kRead, 0, 8), Time::us(4));
  EXPECT_LT(accessed(setting_, Access::kAtomic, 8, 8), Time::us(4));
  EXPECT_GT(accessed(setting_, Access::kRead, 0, 8), accessed(setting_, Access::kWrite, 8))
      << "it asks first";
  const Time combined = accessed(setting_, Access::kCombine, 4096);
  EXPECT_GT(combined, Time::us(1000)) << "when the target is in a call";
  EXPECT_GT(accessed(setting_, Access::kCombine, 4096, 4096), combined) << "the old values come back";
  setting_.machine.ranks_per_node = 2;
  for (const Access kind : {Access::kWrite, Access::kCombine}) {
    EXPECT_LT(accessed(setting_, kind, 4096), Time::us(4)) << "the origin copies";
    EXPECT_GT(accessed(setting_, kind, 4'000'000), Time::us(400)) << "the rate of a copy";
  }
}

TEST_F(AReplay, HardwareLeavesAccessesToTheHost) {
  std::vector<Tape> tapes(2);
  tapes[0].access(Access::kWrite, 1, 4096);
  const Time by_host = replayed(setting_, tapes, {}).modelled_time;
  const ReplayResult result = replayed(test::setting_of(registry(), "dpu"), tapes, {});
  EXPECT_EQ(result.modelled_time, by_host);
  EXPECT_EQ(result.total().calls[0].declined, 1u);
  ASSERT_EQ(result.total().declines.size(), 1u);
  EXPECT_EQ(result.total().declines.begin()->first.first, "MPI_Put");
}

TEST_F(AReplay, CountsAccessesBySize) {
  std::vector<Tape> tapes(2);
  tapes[0].access(Access::kWrite, 1, 4096);
  ReplayOptions options;
  options.sizes = true;
  const ReplayResult result = replayed(setting_, tapes, options);
  const auto kind = static_cast<std::size_t>(SizeTable::OperationClass::kAccess);
  EXPECT_EQ(result.ranks[0].sizes->entry(kind, std::bit_width(4096u)).bytes, 4096u);
  EXPECT_EQ(result.ranks[0].sizes->entry(kind, std::bit_width(4096u)).modelled, result.clocks()[0]);
}

/// A target that computes keeps a combining access waiting, unless a thread or the hardware serves it.
TEST_F(AReplay, ProgressServesCombiningAccesses) {
  for (const char* progress : {"calls", "thread", "hardware"}) {
    Configuration configuration;
    configuration.sections["host"]["progress"] = {progress, RawValue::Type::kText, "test"};
    const Result<WorldSetting> setting =
        world_setting(configuration, registry(), *registry().find("host"), 2);
    ASSERT_TRUE(setting) << setting.error();
    const bool waits = progress == std::string_view("calls");
    EXPECT_EQ(accessed(*setting, Access::kCombine, 4096) > Time::us(1000), waits) << progress;
    EXPECT_EQ(accessed(*setting, Access::kCombine, 4096, 4096) > Time::us(1000), waits) << progress;
    for (const Access kind : {Access::kWrite, Access::kAtomic})
      EXPECT_LT(accessed(*setting, kind, 8, kind == Access::kAtomic ? 8 : 0), Time::us(4)) << progress;
  }
}

TEST_F(AReplay, WaitsForSome) {
  for (const Arrival arrival : {Arrival::kRecorded, Arrival::kModelled}) {
    std::vector<Tape> tapes(2);
    const std::uint64_t first = tapes[0].irecv(1, 64, 1);
    const std::uint64_t second = tapes[0].irecv(1, 64, 2);
    const std::uint64_t third = tapes[0].irecv(1, 64, 3);
    tapes[0].compute(100'000);
    tapes[0].wait_for(recording::kSome, {third, first, second}, {2, 1});
    tapes[0].wait({third});
    for (const int tag : {1, 2}) tapes[1].send(0, 64, tag);
    tapes[1].compute(900'000);
    tapes[1].send(0, 64, 3);
    ReplayOptions options;
    options.compute.kind = Compute::Mode::kMeasured;
    options.arrival = arrival;
    const ReplayResult result = replayed(setting_, tapes, options);
    EXPECT_GT(result.clocks()[0], Time::us(900));
    EXPECT_THAT(result.unfinished, IsEmpty());
  }
}

/// The world decides the order of arrival anew, independently of the recorded run.
TEST_F(AReplay, ReceivesMessagesInTheOrderOfProbes) {
  std::set<Time> ends;
  for (const bool reversed : {false, true}) {
    std::vector<Tape> tapes(4);
    for (const int rank : {1, 2, 3}) {
      const int source = reversed ? 4 - rank : rank;
      tapes[0].message(EventKind::kProbe, kAnySource, 0, 0, 0);
      tapes[0].took(source, 0);
      tapes[0].receive(source, 1'000'000 * static_cast<std::uint64_t>(source));
      tapes[static_cast<std::size_t>(rank)].compute(100'000 * static_cast<std::uint64_t>(4 - rank));
      tapes[static_cast<std::size_t>(rank)].send(0, 1'000'000 * static_cast<std::uint64_t>(rank));
    }
    ReplayOptions options;
    options.compute.kind = Compute::Mode::kMeasured;
    options.arrival = Arrival::kModelled;
    const ReplayResult result = replayed(setting_, tapes, options);
    EXPECT_THAT(result.unfinished, IsEmpty());
    ends.insert(result.modelled_time);
  }
  EXPECT_EQ(ends.size(), 1u);
}

TEST_F(AReplay, KnowsAllBehindALoopThatWaitsForSome) {
  std::set<Time> ends;
  const std::vector<std::vector<std::vector<std::uint32_t>>> loops = {
      {{0}, {0}, {0}}, {{2}, {1}, {0}}, {{0, 2}, {0}}, {{1, 0}, {0}}, {{0, 1, 2}}};
  for (const auto& loop : loops) {
    std::vector<Tape> tapes(4);
    std::vector<std::uint64_t> left;
    for (const int rank : {1, 2, 3}) {
      left.push_back(tapes[0].irecv(rank, 64));
      tapes[static_cast<std::size_t>(rank)].compute(rank == 2 ? 900'000 : 1000);
      tapes[static_cast<std::size_t>(rank)].send(0, 64);
      tapes[static_cast<std::size_t>(rank)].receive(0, 8);
    }
    for (const auto& choice : loop) {
      tapes[0].wait_for(recording::kSome, left, choice);
      std::vector<std::uint64_t> still;
      for (std::uint32_t i = 0; i < left.size(); ++i) {
        if (std::find(choice.begin(), choice.end(), i) == choice.end()) still.push_back(left[i]);
      }
      left = still;
    }
    for (const int rank : {1, 2, 3}) tapes[0].send(rank, 8);
    ReplayOptions options;
    options.compute.kind = Compute::Mode::kMeasured;
    options.arrival = Arrival::kModelled;
    const ReplayResult result = replayed(setting_, tapes, options);
    EXPECT_GT(result.clocks()[1], Time::us(900)) << "the loop ends when the last message has come";
    ends.insert(result.modelled_time);
  }
  EXPECT_EQ(ends.size(), 1u);
}

TEST_F(AReplay, LeavesOutReceivesThatWereCancelled) {
  std::vector<Tape> tapes(2);
  const std::uint64_t cancelled = tapes[0].irecv(kAnySource, 64, 1);
  tapes[0].took(-1, 0);
  tapes[0].receive(1, 64, 1);  // takes the message that the cancelled receive would match
  tapes[0].of_requests(EventKind::kCancel, {cancelled});
  tapes[0].wait({cancelled});
  const std::uint64_t named = tapes[0].irecv(1, 64, 9);
  tapes[0].of_requests(EventKind::kCancel, {named});
  tapes[0].wait({named});
  tapes[1].send(0, 64, 1);
  for (const Arrival arrival : {Arrival::kRecorded, Arrival::kModelled}) {
    if (arrival == Arrival::kModelled) tapes[1].send(0, 64, 1);  // here the first receive takes one
    ReplayOptions options;
    options.arrival = arrival;
    EXPECT_THAT(replayed(setting_, tapes, options).unfinished, IsEmpty());
  }
}

TEST_F(AReplay, ClaimsAndProbes) {
  std::vector<Tape> tapes(2);
  tapes[0].message(EventKind::kProbe, kAnySource, 0, 4, 0);
  tapes[0].took(1, 4);
  const std::uint64_t claimed = tapes[0].message(EventKind::kClaim, 1, 0, kAnyTag, 0);
  tapes[0].took(1, 4);
  tapes[0].receive(1, 8, 4);
  tapes[0].wait({claimed});
  tapes[1].compute(5000);
  tapes[1].send(0, 100, 4);
  tapes[1].send(0, 8, 4);
  const std::vector<Time> direct = played(setting_, 2, [](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 1) {
      rank.compute(Time::us(5));
      (void)co_await rank.send(0, 100, 4);
      (void)co_await rank.send(0, 8, 4);
      co_return;
    }
    (void)co_await rank.probe(rank.world_communicator(), 1, 4);
    RankRequest claim = co_await rank.claim(rank.world_communicator(), 1, 4);
    (void)co_await rank.receive(1, 8, 4);
    (void)co_await rank.wait(claim);
  });
  ReplayOptions options;
  options.compute.kind = Compute::Mode::kMeasured;
  const ReplayResult result = replayed(setting_, tapes, options);
  EXPECT_EQ(result.clocks(), direct);
}

TEST_F(AReplay, CountsCallsAndPhases) {
  std::vector<Tape> tapes(2);
  tapes[0].phase(1, "setup");
  tapes[0].compute(100).phase(1, "solve");
  tapes[0].send(1, 1000);
  tapes[0].phase(2);
  tapes[0].compute(50).phase(-2);
  tapes[0].phase(0);
  tapes[0].compute(30).native();
  tapes[1].phase(1, "solve");
  tapes[1].receive(0, 4000);
  ReplayOptions options;
  options.compute.kind = Compute::Mode::kMeasured;
  const ReplayResult result = replayed(setting_, tapes, options);
  const Counters total = result.total();
  const auto counter = [&](std::string_view function) -> const CallCounter& {
    const auto found = std::find(result.functions.begin(), result.functions.end(), function);
    EXPECT_NE(found, result.functions.end()) << function;
    return total.calls[static_cast<std::size_t>(found - result.functions.begin())];
  };
  const CallCounter& sends = counter("MPI_Send");
  EXPECT_EQ(sends.count, 1u);
  EXPECT_EQ(sends.bytes, 1000u);
  EXPECT_EQ(sends.offloaded, 1u);
  const CallCounter& receives = counter("MPI_Recv");
  EXPECT_EQ(receives.bytes, 1000u) << "not the room for it";
  EXPECT_EQ(receives.modelled, result.clocks()[1]);
  EXPECT_EQ(counter("native").native, 1u);
  ASSERT_EQ(result.phases.size(), 3u);
  EXPECT_EQ(result.phases[0].name, "setup");
  EXPECT_EQ(result.phases[0].longest(), Time::ns(100));
  EXPECT_EQ(result.phases[1].name, "solve");
  EXPECT_EQ(result.phases[1].count, 2u);
  EXPECT_EQ(result.phases[1].per_rank[0], sends.modelled + Time::ns(50));
  EXPECT_EQ(result.phases[1].per_rank[1], result.clocks()[1]);
  EXPECT_EQ(result.phases[2].name, "level 2");
  EXPECT_EQ(result.phases[2].per_rank[0], Time::ns(50));
}

TEST_F(AReplay, CountsDeclinedOperations) {
  std::vector<Tape> tapes(2);
  WorldSetting strict = test::setting_of(registry(), "zrlmpi");
  strict.settings.set("strict", {1, {}});
  tapes[0].send(1, 1000);
  tapes[1].receive(0, 1000);
  const ReplayResult result = replayed(strict, tapes);
  const Counters total = result.total();
  EXPECT_EQ(total.calls[0].declined, 1u);
  ASSERT_EQ(total.declines.size(), 1u);
  EXPECT_EQ(total.declines.begin()->second, 1u);
  WorldSetting routed = test::setting_of(registry(), "zrlmpi");
  routed.rules = {{}};
  EXPECT_EQ(replayed(routed, tapes).total().calls[0].routed, 1u);
}

TEST_F(AReplay, CertifiesTheEventsAndTimesOfEachRank) {
  ReplayOptions options;
  options.certificate = true;
  const auto certificates = [&](std::uint64_t bytes, int tag, std::uint64_t computed) {
    std::vector<Tape> tapes(2);
    tapes[0].compute(computed).send(1, bytes, tag);
    tapes[1].receive(0, 4000, tag);
    options.compute.kind = Compute::Mode::kMeasured;
    const ReplayResult result = replayed(setting_, tapes, options);
    return std::pair(result.ranks[0].certificate, result.ranks[1].certificate);
  };
  const auto first = certificates(1000, 5, 0);
  EXPECT_EQ(certificates(1000, 5, 0), first);
  for (const auto& other : {certificates(1001, 5, 0), certificates(1000, 6, 0), certificates(1000, 5, 70)}) {
    EXPECT_NE(other.first, first.first);
    EXPECT_NE(other.second, first.second);
  }
}

TEST_F(AReplay, ReportsDetailsOfEachRank) {
  std::vector<Tape> tapes(2);
  tapes[0].send(1, 1000);
  tapes[0].wait({tapes[0].isend(1, 100'000)});
  tapes[1].receive(0, 4000);
  tapes[1].wait({tapes[1].irecv(0, 200'000)});
  for (Tape& tape : tapes) tape.add(tape.collective(operation_of(OperationKind::kAllreduce, 64, 2)));
  ReplayOptions options;
  options.details = options.sizes = true;
  const ReplayResult result = replayed(setting_, tapes, options);
  ASSERT_TRUE(result.path);
  EXPECT_EQ(result.path->on_ranks + result.path->in_messages, result.modelled_time);
  EXPECT_GE(result.path->messages, 1u);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const ReplayedRank& one = result.ranks[rank];
    EXPECT_THAT(one.units->units(), Not(IsEmpty()));
    std::uint64_t bytes = 0;
    Time spent;
    for (std::size_t kind = 0; kind < SizeTable::kKinds; ++kind) {
      for (std::size_t size = 0; size < SizeTable::kClasses; ++size) {
        bytes += one.sizes->entry(kind, size).bytes;
        spent += one.sizes->entry(kind, size).modelled;
      }
    }
    EXPECT_EQ(bytes, 101'064u);
    EXPECT_EQ(spent, one.clock) << "all that passes is of some operation";
  }
}

TEST_F(AReplay, FollowsRoutesToSeveralBackends) {
  Configuration configuration;
  const auto route = [&](OperationKind kind, const char* backend) {
    Route& added = configuration.routes.emplace_back();
    added.operation = kind;
    added.backend = backend;
  };
  route(OperationKind::kBcast, "cclo");
  route(OperationKind::kAllreduce, "tinsel");
  route(OperationKind::kBarrier, "host");
  const Result<WorldSetting> routed = world_setting(configuration, registry(), *registry().find("zrlmpi"), 2);
  ASSERT_TRUE(routed) << routed.error();
  std::vector<Tape> tapes(3);
  for (Tape& tape : tapes) {
    tape.add(tape.collective(operation_of(OperationKind::kBcast, 512, 3)));
    tape.add(tape.collective(operation_of(OperationKind::kAllreduce, 512, 3)));
    tape.add(tape.collective(operation_of(OperationKind::kBarrier, 0, 3)));
    tape.add(tape.collective(operation_of(OperationKind::kReduce, 512, 3)));
  }
  const ReplayResult result = replayed(*routed, tapes);
  const Counters total = result.total();
  EXPECT_EQ(total.calls[0].routed, 9u);
  EXPECT_EQ(total.calls[0].offloaded, 3u);
  EXPECT_EQ(total.declines.size(), 0u);
  route(OperationKind::kReduce, "none");
  EXPECT_THAT(world_setting(configuration, registry(), *registry().find("zrlmpi"), 2).error(),
              HasSubstr("which is not a backend"));
}

std::vector<std::string> texts(const ReplayResult& result) {
  std::vector<std::string> all;
  for (const UnfinishedRank& rank : result.unfinished) all.push_back(rank.text());
  return all;
}

TEST_F(AReplay, EndsWhereARecordingWasCut) {
  std::vector<Tape> tapes(3);
  tapes[0].receive(1, 64);
  tapes[0].receive(2, 64);
  tapes[1].send(0, 64);
  tapes[1].irecv(0, 64);
  tapes[2].add(tapes[2].collective(operation_of(OperationKind::kBarrier, 0, 3)));
  tapes[1].cut = true;
  EXPECT_THAT(texts(replayed(setting_, tapes)),
              ElementsAre("rank 0 at event 2 (MPI_Recv): it waits for another rank",
                          "rank 1 at event 2 (MPI_Recv): the recording is cut off",
                          "rank 2 at event 1 (collective): it waits for another rank"));
  EXPECT_EQ(replayed(setting_, tapes).done(), 3U);
  std::vector<Tape> never(2);
  never[0].message(EventKind::kReceive, kAnySource, 64);
  never[1].native();
  EXPECT_THAT(texts(replayed(setting_, never)),
              ElementsAre("rank 0 at event 1 (MPI_Recv): no message ever arrived"));
  never[0] = Tape();
  never[0].wait({never[0].irecv(kAnySource, 64)});
  EXPECT_THAT(texts(replayed(setting_, never)),
              ElementsAre("rank 0 at event 2 (MPI_Wait): no message ever arrived"));
}

TEST_F(AReplay, EndsWhereARecordingIsDamagedIfThatIsWanted) {
  std::vector<Tape> tapes(2);
  tapes[0].receive(1, 64);
  tapes[0].receive(1, 64);
  tapes[1].send(0, 64);
  tapes[1].error = "run.rec: rank 1: its checksum is wrong";
  EXPECT_EQ(error_of(tapes), "run.rec: rank 1: its checksum is wrong");
  ReplayOptions options;
  options.partial = true;
  EXPECT_THAT(
      texts(replayed(setting_, tapes, options)),
      ElementsAre(
          "rank 0 at event 2 (MPI_Recv): it waits for another rank",
          "rank 1 at event 1 (MPI_Send): its recording is damaged: run.rec: rank 1: its checksum is wrong"));
}

TEST_F(AReplay, NamesEachRanksWaitIfTheRecordingIsComplete) {
  std::vector<Tape> tapes(2);
  tapes[0].receive(1, 64, 7);
  tapes[1].receive(0, 64, 8);
  EXPECT_THAT(error_of(tapes), HasSubstr("rank 1 of 2 waits at"));
  EXPECT_THAT(error_of(tapes), HasSubstr("rank 0 at event 1 (MPI_Recv): it waits for another rank"));
}

TEST_F(AReplay, NamesSendsThatWaitForEachOther) {
  std::vector<Tape> tapes(2);
  for (int rank = 0; rank < 2; ++rank) {
    tapes[static_cast<std::size_t>(rank)].send(1 - rank, 1U << 20U);
    tapes[static_cast<std::size_t>(rank)].receive(1 - rank, 1U << 20U);
  }
  EXPECT_THAT(error_of(tapes), HasSubstr("relies on sends that do not wait"));
}

TEST_F(AReplay, CanBeStopped) {
  std::vector<Tape> tapes(1);
  for (int i = 0; i < 100'000; ++i) tapes[0].native();
  ReplayOptions options;
  options.progress = [](const ReplayProgress& progress) { return progress.events < 40'000; };
  const ReplayResult result = replayed(setting_, tapes, options);
  EXPECT_TRUE(result.stopped);
  EXPECT_LT(result.events, 60'000u);
}

TEST_F(AReplay, KeepsARequestOpenBesideManyOthers) {
  std::vector<Tape> tapes(2);
  const std::uint64_t oldest = tapes[0].irecv(1, 8, 1);
  for (int i = 0; i < 100'000; ++i) {
    tapes[0].message(EventKind::kSend, 1, 8, 0, recording::kBuffered);
    tapes[0].of_requests(EventKind::kFree, {tapes[0].isend(1, 8)});
    tapes[1].receive(0, 8);
    tapes[1].receive(0, 8);
  }
  tapes[1].send(0, 8, 1);
  tapes[0].wait({oldest});
  EXPECT_EQ(replayed(setting_, tapes).messages, 200'001u);
}

TEST(AnOpenRequest, IsFoundUntilItIsTaken) {
  std::mt19937_64 random(7);
  OpenRequests requests;
  std::set<std::uint64_t> open;
  std::uint64_t begun = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (open.size() < 40 && random() % 2 == 0) {
      requests.add(begun).begun.call = static_cast<std::uint16_t>(begun);
      open.insert(begun++);
    } else {
      const std::uint64_t number = begun - random() % std::min<std::uint64_t>(begun + 1, 100);
      OpenRequest* const found = requests.find(number);
      ASSERT_EQ(found != nullptr, open.erase(number) == 1) << number;
      if (found == nullptr) continue;
      const OpenRequest taken = requests.remove(*found);
      ASSERT_EQ(taken.number, number);
      ASSERT_EQ(taken.begun.call, static_cast<std::uint16_t>(number));
    }
    ASSERT_EQ(requests.size(), open.size());
  }
  EXPECT_LE(requests.slots(), 128u) << "for the most that were open at once";
  std::vector<std::uint64_t> left;
  for (const OpenRequest& one : requests.remove_all()) left.push_back(one.number);
  EXPECT_TRUE(std::equal(left.begin(), left.end(), open.begin(), open.end()));
}

// The limits are 100 times the usual time, and a hundredth of the time with a table whose removals pass over
// all open requests.
TEST(OpenRequests, AreFoundInConstantTime) {
  constexpr std::uint64_t kRequests = 400'000;
  const auto seconds_since = [](std::clock_t begin) {
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  OpenRequests requests;
  const std::clock_t begin = std::clock();
  for (std::uint64_t number = 0; number < kRequests; ++number) requests.add(number);
  for (std::uint64_t number = 0; number < kRequests; ++number)
    ASSERT_EQ(requests.remove(*requests.find(number)).number, number);
  EXPECT_LT(seconds_since(begin), 5) << "a wait for all, the oldest first";

  const std::clock_t beside = std::clock();
  for (std::uint64_t number = 0; number < kRequests / 2; ++number) requests.add(number);
  for (std::uint64_t number = kRequests / 2; number < 5 * kRequests; ++number)
    ASSERT_EQ(requests.remove(requests.add(number)).number, number);
  EXPECT_LT(seconds_since(beside), 5) << "many come and go beside many that stay";
}

// --- recordings that make no sense ---

struct Nonsense {
  const char* name;
  void (*write)(std::vector<Tape>& tapes);
  const char* error;
};

class ARecording : public testing::TestWithParam<Nonsense> {};

TEST_P(ARecording, ThatMakesNoSenseNamesRankAndEvent) {
  std::vector<Tape> tapes(2);
  tapes[0].native();
  tapes[1].native();
  GetParam().write(tapes);
  EXPECT_THAT(error_of(tapes), HasSubstr(GetParam().error));
}

Tape::Event event_of(EventKind kind) {
  Tape::Event event;
  event.kind = kind;
  return event;
}

INSTANTIATE_TEST_SUITE_P(
    Hostile, ARecording,
    testing::Values(
        Nonsense{"Kind", [](auto& tapes) { tapes[1].add(event_of(static_cast<EventKind>(77))); },
                 "rank 1, event 2 (MPI_Send): unknown kind 77"},
        Nonsense{"Element",
                 [](auto& tapes) {
                   Tape::Event event;
                   event.element = static_cast<ElementType>(200);
                   tapes[0].add(event);
                 },
                 "rank 0, event 2"},
        Nonsense{"Function",
                 [](auto& tapes) {
                   Tape::Event event;
                   event.function = static_cast<ReduceFunction>(200);
                   tapes[0].add(event);
                 },
                 "element, function, or operation"},
        Nonsense{"OperationKind",
                 [](auto& tapes) {
                   Tape::Event event = event_of(EventKind::kCollective);
                   event.operation = static_cast<OperationKind>(99);
                   tapes[0].add(event);
                 },
                 "element, function, or operation"},
        Nonsense{"Send as a collective", [](auto& tapes) { tapes[0].add(event_of(EventKind::kCollective)); },
                 "a send is not a collective"},
        Nonsense{"Peer", [](auto& tapes) { tapes[0].send(2, 8); },
                 "rank 0, event 2 (MPI_Send): rank 2 is not one of 2"},
        Nonsense{"Wildcard of a send", [](auto& tapes) { tapes[0].send(kAnySource, 8); },
                 "rank -1 is not one of 2"},
        Nonsense{"Source", [](auto& tapes) { tapes[0].irecv(-7, 8); }, "rank -7 is not one of 2"},
        Nonsense{"Tag", [](auto& tapes) { tapes[0].send(1, 8, -1); }, "invalid tag -1"},
        Nonsense{"Bytes", [](auto& tapes) { tapes[0].send(1, UINT64_MAX); },
                 "exceed the largest message of the simulation"},
        Nonsense{"Sum of bytes",
                 [](auto& tapes) {
                   for (int i = 0; i < 1000; ++i)
                     tapes[0].message(EventKind::kSend, 1, std::uint64_t{1} << 43, 0, recording::kBuffered);
                 },
                 "exceed the largest message of the simulation"},
        Nonsense{"Communicator",
                 [](auto& tapes) { tapes[0].message(EventKind::kSend, 0, 8, 0, recording::kBlocking, 2); },
                 "communicator 2 does not exist"},
        Nonsense{"Request before the first",
                 [](auto& tapes) {
                   Tape::Event event = event_of(EventKind::kWait);
                   event.extra = 1;
                   tapes[0].add(event);
                 },
                 "it refers to the request 1 back, but only 0 were started"},
        Nonsense{"Request far back",
                 [](auto& tapes) {
                   tapes[0].isend(1, 8);
                   Tape::Event event = event_of(EventKind::kFree);
                   event.list = tapes[0].list({1, UINT64_MAX});
                   tapes[0].add(event);
                 },
                 "were started"},
        Nonsense{"Request that is none yet",
                 [](auto& tapes) {
                   tapes[0].isend(1, 8);
                   Tape::Event event = event_of(EventKind::kCancel);
                   event.list = tapes[0].list({0});
                   tapes[0].add(event);
                 },
                 "the request 0 back"},
        Nonsense{"Choice",
                 [](auto& tapes) { tapes[0].wait_for(recording::kAny, {tapes[0].isend(1, 8)}, {1}); },
                 "it completed request 1 of 1"},
        Nonsense{"Match",
                 [](auto& tapes) {
                   tapes[0].irecv(kAnySource, 8);
                   tapes[0].took(2, 0);
                 },
                 "which it does not match"},
        Nonsense{"Match of another tag",
                 [](auto& tapes) {
                   tapes[0].irecv(kAnySource, 8, 3);
                   tapes[0].took(1, 4);
                 },
                 "which it does not match"},
        Nonsense{"Member",
                 [](auto& tapes) {
                   tapes[0].communicator({0, 2});
                 },
                 "rank 2 is not one of 2"},
        Nonsense{"Member twice",
                 [](auto& tapes) {
                   tapes[0].communicator({0, 1, 0});
                 },
                 "each member once"},
        Nonsense{"Without itself", [](auto& tapes) { tapes[0].communicator({1}); }, "including this rank"},
        Nonsense{"NoMembers", [](auto& tapes) { tapes[0].communicator({}); }, "including this rank"},
        Nonsense{"Root",
                 [](auto& tapes) {
                   tapes[0].add(tapes[0].collective(operation_of(OperationKind::kBcast, 8, 2, 2)));
                 },
                 "root 2 is not one of 2"},
        Nonsense{"Elements",
                 [](auto& tapes) {
                   Operation operation = operation_of(OperationKind::kAllreduce, 8, 2);
                   operation.elements = SIZE_MAX;
                   tapes[0].add(tapes[0].collective(operation));
                 },
                 "exceed the largest message of the simulation"},
        Nonsense{"Number of blocks",
                 [](auto& tapes) {
                   Tape::Event event = tapes[0].collective(operation_of(OperationKind::kAllgatherv, 0, 2));
                   event.second_list = tapes[0].list({8, 8, 8});
                   tapes[0].add(event);
                 },
                 "3 blocks for 2 ranks"},
        Nonsense{"No blocks",
                 [](auto& tapes) {
                   tapes[0].add(tapes[0].collective(operation_of(OperationKind::kScatterv, 0, 2)));
                 },
                 "0 blocks for 2 ranks"},
        Nonsense{"Sizes of blocks",
                 [](auto& tapes) {
                   Tape::Event event =
                       tapes[0].collective(operation_of(OperationKind::kReduceScatterv, 0, 2));
                   event.list = tapes[0].list({UINT64_MAX, 2});
                   tapes[0].add(event);
                 },
                 "its blocks exceed"},
        Nonsense{"Neighbour",
                 [](auto& tapes) {
                   tapes[0].neighbours({}, {2, 8});
                 },
                 "rank 2 is not one of 2"},
        Nonsense{"Target", [](auto& tapes) { tapes[0].access(Access::kWrite, 2, 8); },
                 "rank 2 is not one of 2"},
        Nonsense{"Access", [](auto& tapes) { tapes[0].access(Access::kCount, 1, 8); }, "unknown access"},
        Nonsense{"Large access", [](auto& tapes) { tapes[0].access(Access::kRead, 1, 0, UINT64_MAX); },
                 "bytes exceed"},
        Nonsense{"Block",
                 [](auto& tapes) {
                   tapes[0].neighbours({2, 8}, {});
                 },
                 "rank 2 is not one of 2"},
        Nonsense{"Block without a size",
                 [](auto& tapes) {
                   tapes[0].neighbours({1, 8, 1}, {});
                 },
                 "has no size"},
        Nonsense{"Large block",
                 [](auto& tapes) {
                   tapes[0].neighbours({1, UINT64_MAX}, {});
                 },
                 "block exceeds"},
        Nonsense{"Computing",
                 [](auto& tapes) {
                   tapes[0].compute(UINT64_MAX);
                   tapes[0].send(1, 8, -2);
                 },
                 "rank 0, event 2"},
        Nonsense{"Different collectives",
                 [](auto& tapes) {
                   tapes[0].add(tapes[0].collective(operation_of(OperationKind::kBcast, 8, 2)));
                   tapes[1].add(tapes[1].collective(operation_of(OperationKind::kBcast, 16, 2)));
                 },
                 "on another rank"},
        Nonsense{"A collective and a meeting",
                 [](auto& tapes) {
                   tapes[0].add(tapes[0].collective(operation_of(OperationKind::kBarrier, 0, 2)));
                   tapes[1].meet();
                 },
                 "a meeting here"},
        Nonsense{"What the reader says", [](auto& tapes) { tapes[1].error = "block 3 is damaged"; },
                 "block 3 is damaged"}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

TEST_F(AReplay, DoesNotComputeForEver) {
  std::vector<Tape> tapes(1);
  tapes[0].compute(UINT64_MAX).native();
  ReplayOptions options;
  options.compute.kind = Compute::Mode::kMeasured;
  EXPECT_THAT(error_of(tapes, options), HasSubstr("a recorded time of"));
  tapes[0] = Tape();
  for (int i = 0; i < 3; ++i) tapes[0].compute(std::uint64_t{1} << 50).native();
  EXPECT_THAT(error_of(tapes, options), HasSubstr("exceeds 26 days"));
}

}  // namespace
}  // namespace offramp
