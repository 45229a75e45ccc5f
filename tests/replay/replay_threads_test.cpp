// Replays of ranks with several threads: the threads are independent, except for the order that MPI demands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "lib/answers/replay/replay.hpp"
#include "tests/built_in_names.hpp"
#include "tests/replay/tape.hpp"

namespace offramp::replay_threads_test {
namespace {

using recording::EventKind;
using test::Tape;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kLong = 1 << 20;             // makes a handshake over every backend
constexpr std::uint64_t kMillisecond = 1'000'000;  // ns

const Registry& registry() {
  static const Registry all{built_in_backends()};
  return all;
}

Operation sum(int ranks, int root, bool nonblocking = false) {
  Operation operation;
  operation.kind = OperationKind::kReduce;
  operation.element = ElementType::kFloat64;
  operation.function = ReduceFunction::kSum;
  operation.bytes = 8;
  operation.elements = 1;
  operation.ranks = ranks;
  operation.root = root;
  operation.nonblocking = nonblocking;
  return operation;
}

/// With each backend. CPU time counts, so that a thread can be late.
class Threads : public testing::TestWithParam<const char*> {
 protected:
  ReplayResult play(const std::vector<Tape>& tapes) {
    ReplayOptions options;
    options.compute.kind = Compute::Mode::kMeasured;
    Result<ReplayResult> result =
        replay(test::setting_of(registry(), GetParam()), test::source_of(tapes), options);
    EXPECT_TRUE(result) << result.error();
    if (!result) return {};
    EXPECT_THAT(result->unfinished, IsEmpty());
    return std::move(*result);
  }
  /// When the rank ends, which is right after the last call that it waits for.
  Time end_of(const std::vector<Tape>& tapes, int rank) {
    const ReplayResult result = play(tapes);
    return result.ranks.empty() ? Time() : result.ranks[static_cast<std::size_t>(rank)].clock;
  }
};

TEST_P(Threads, ComputeBesideEachOther) {
  std::vector<Tape> tapes(1);
  tapes[0].native();
  for (const std::uint32_t thread : {1U, 2U, 0U}) tapes[0].of_thread(thread).compute(kMillisecond).native();
  EXPECT_EQ(end_of(tapes, 0), Time::ms(1));
}

TEST_P(Threads, BeginBesideTheFirstOneWhoseCallsComeLater) {
  std::vector<Tape> tapes(1);
  for (const std::uint32_t thread : {1U, 1U, 0U})
    tapes[0].of_thread(thread).compute((thread == 0 ? 2 : 1) * kMillisecond).native();
  EXPECT_EQ(end_of(tapes, 0), Time::ms(2));
}

/// The bytes that a rank's calls of a function have moved; 0 without such calls.
std::uint64_t bytes_of(const ReplayResult& result, std::size_t rank, const char* function) {
  const auto found = std::find(result.functions.begin(), result.functions.end(), function);
  if (found == result.functions.end()) return 0;
  return result.ranks.at(rank)
      .counters.calls.at(static_cast<std::size_t>(found - result.functions.begin()))
      .bytes;
}

TEST_P(Threads, EndBeforeMpiFinalize) {
  std::vector<Tape> tapes(2);
  tapes[0].of_thread(1).compute(kMillisecond).native();
  tapes[0].of_thread(0).send(1, 8);
  tapes[0].last().event.call = Tape::kFinalizeCall;
  tapes[1].receive(0, 8);
  EXPECT_GE(end_of(tapes, 1), Time::ms(1)) << "what MPI_Finalize does comes behind the other thread";
}

TEST_P(Threads, CancelRequestsThatOthersWaitFor) {
  std::vector<Tape> tapes(2);
  tapes[0].native();
  tapes[1].native();
  const std::uint64_t request = tapes[1].of_thread(1).irecv(0, 8);
  tapes[1].of_thread(2).compute(kMillisecond).of_requests(EventKind::kCancel, {request});
  tapes[1].of_thread(1).wait({request});
  EXPECT_GE(end_of(tapes, 1), Time::ms(1));
}

TEST_P(Threads, CancelWhileOthersBeginMore) {
  std::vector<Tape> tapes(2);
  tapes[0].native();
  tapes[1].native();
  std::vector<std::uint64_t> more;
  const std::uint64_t request = tapes[1].of_thread(1).irecv(0, 8);
  tapes[1].of_thread(2).compute(kMillisecond).of_requests(EventKind::kCancel, {request});
  for (int tag = 1; tag < 100; ++tag) {
    tapes[0].send(1, 8, tag);
    more.push_back(tapes[1].of_thread(3).irecv(0, 8, tag));
  }
  tapes[1].wait(more);
  tapes[1].of_thread(1).wait({request});
  EXPECT_EQ(bytes_of(play(tapes), 1, "MPI_Recv"), 99U * 8);
}

TEST_P(Threads, BeginWhereTheFirstOneIs) {
  std::vector<Tape> tapes(1);
  tapes[0].compute(kMillisecond).native();
  tapes[0].of_thread(1).compute(kMillisecond).native();
  tapes[0].of_thread(0).native();
  EXPECT_EQ(end_of(tapes, 0), Time::ms(2));
}

/// Two threads reduce on different communicators, in an order that differs from rank to rank. main: the first
/// one is the rank's initial thread, so its whole call is recorded before the first call of the other one.
std::vector<Tape> reductions(bool main) {
  std::vector<Tape> tapes(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    Tape& tape = tapes[rank];
    tape.meet();
    tape.communicator({0, 1}, 1);
    tape.meet();
    tape.communicator({0, 1}, 2);
    for (std::uint32_t turn = 0; turn < 2; ++turn) {
      const std::uint32_t communicator = turn ^ rank;
      tape.of_thread(main ? turn : turn + 1);
      recording::Event event = tape.collective(sum(2, 1), recording::kFirstMade + communicator);
      event.flags = 0;  // its end is an event of its own
      const std::uint64_t request = tape.add(event);
      tape.wait({request});
    }
  }
  return tapes;
}

TEST_P(Threads, ReduceInOppositeOrder) {
  EXPECT_GT(play(reductions(false)).modelled_time, Time());
}

TEST_P(Threads, BeginSoonerIfTheRankIsIdle) {
  EXPECT_GT(play(reductions(true)).modelled_time, Time());
}

/// A thread of rank 0 computes before it sends; another one also sends, and is recorded after it. Rank 1
/// receives both messages, and forwards the second one.
std::vector<Tape> two_messages(int second_tag) {
  std::vector<Tape> tapes(3);
  tapes[0].native();
  tapes[0].of_thread(1).compute(kMillisecond).send(1, 8, 5);
  tapes[0].of_thread(2).send(1, 16, second_tag);
  tapes[1].native();
  const std::uint64_t first = tapes[1].of_thread(1).irecv(0, 8, 5);
  const std::uint64_t second = tapes[1].of_thread(2).irecv(0, 16, second_tag);
  tapes[1].of_thread(1).wait({first});
  tapes[1].of_thread(2).wait({second});
  tapes[1].send(2, 4);
  tapes[2].receive(1, 4);
  return tapes;
}

TEST_P(Threads, SendInTheirOrderIfEqualReceivesMatch) {
  const ReplayResult result = play(two_messages(5));
  EXPECT_GE(result.modelled_time, Time::ms(1));
  EXPECT_EQ(bytes_of(result, 1, "MPI_Recv"), 8U + 16U) << "each receive takes what was sent for it";
}

TEST_P(Threads, SendInAnyOrderElsewhere) {
  EXPECT_LT(end_of(two_messages(6), 2), Time::ms(1));
}

TEST_P(Threads, ReceiveInTheirOrder) {
  std::vector<Tape> tapes(2);
  tapes[0].native();
  for (const std::size_t bytes : {64U, 128U}) tapes[0].send(1, bytes, 3);
  tapes[1].native();
  const std::uint64_t first = tapes[1].of_thread(1).compute(kMillisecond).irecv(0, 64, 3);
  const std::uint64_t second = tapes[1].of_thread(2).irecv(0, 128, 3);
  tapes[1].wait({second});
  tapes[1].of_thread(1).wait({first});
  const ReplayResult result = play(tapes);
  EXPECT_GE(result.modelled_time, Time::ms(1));
  EXPECT_EQ(bytes_of(result, 1, "MPI_Recv"), 64U + 128U) << "and none is cut off";
}

TEST_P(Threads, WaitForRequestsThatOthersHaveBegun) {
  std::vector<Tape> tapes(2);
  tapes[0].native();
  tapes[0].send(1, 8);
  tapes[0].receive(1, 8);
  tapes[1].native();
  const std::uint64_t request = tapes[1].of_thread(1).compute(kMillisecond).irecv(0, 8);
  tapes[1].of_thread(2).wait({request});
  tapes[1].send(0, 8);
  EXPECT_GE(end_of(tapes, 0), Time::ms(1));
}

TEST_P(Threads, UseCommunicatorsThatOthersHaveMade) {
  std::vector<Tape> tapes(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    tapes[rank].native();
    tapes[rank].of_thread(1);
    if (rank == 0) tapes[rank].compute(kMillisecond);
    tapes[rank].communicator({0, 1}, 7);
    tapes[rank].of_thread(2).message(rank == 0 ? EventKind::kSend : EventKind::kReceive,
                                     1 - static_cast<int>(rank), kLong, 1, recording::kBlocking,
                                     recording::kFirstMade);
  }
  EXPECT_GE(end_of(tapes, 1), Time::ms(1));
}

TEST_P(Threads, LeaveAMessageToThePrompterProbe) {
  std::vector<Tape> tapes(2);
  tapes[0].compute(kMillisecond).send(1, 64, 2);
  tapes[0].send(1, 128, 2);
  tapes[1].native();
  const std::uint64_t claimed = tapes[1].of_thread(1).message(EventKind::kClaim, 0, 64, 2, 0);
  const std::uint64_t received = tapes[1].of_thread(2).irecv(0, 128, 2);
  tapes[1].wait({received});
  tapes[1].of_thread(1).wait({claimed});
  const ReplayResult result = play(tapes);
  EXPECT_EQ(bytes_of(result, 1, "MPI_Mprobe"), 64U);
  EXPECT_EQ(bytes_of(result, 1, "MPI_Recv"), 128U);
}

INSTANTIATE_TEST_SUITE_P(Backends, Threads, testing::ValuesIn(test::built_in_names()),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(ThreadsOf, AnyNumberOfRanksAreWorkedOff) {
  constexpr int kThreads = 2000;
  std::vector<Tape> tapes(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    tapes[rank].native();
    for (std::uint32_t thread = 1; thread <= kThreads; ++thread) {
      tapes[rank].of_thread(thread);
      const int tag = static_cast<int>(rank == 0 ? thread : kThreads + 1 - thread);
      rank == 0 ? tapes[rank].send(1, kLong, tag) : tapes[rank].receive(0, kLong, tag);
    }
  }
  Result<ReplayResult> result = replay(test::setting_of(registry(), "host"), test::source_of(tapes));
  ASSERT_TRUE(result) << result.error();
  EXPECT_THAT(result->unfinished, IsEmpty());
}

/// CPU seconds of a replay in which a rank begins this many threads one after the other.
double time_of_short_threads(std::uint32_t threads) {
  std::vector<Tape> tapes(2);
  for (Tape& tape : tapes) tape.native();
  for (std::uint32_t thread = 1; thread <= threads; ++thread) {
    tapes[0].send(1, 8);
    tapes[1].of_thread(thread).receive(0, 8);
  }
  const std::clock_t begin = std::clock();
  Result<ReplayResult> result = replay(test::setting_of(registry(), "host"), test::source_of(tapes));
  EXPECT_TRUE(result) << result.error();
  EXPECT_THAT(result->unfinished, IsEmpty());
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// If each message visited all threads that the rank ever began, the ratio would be above 30.
TEST(ThreadsOf, OneRankHaveNoCostAfterTheirEnd) {
  // The least of several: other processes of the machine take the caches away.
  const auto least = [](std::uint32_t threads) {
    double time = time_of_short_threads(threads);
    for (int repeat = 0; repeat < 3; ++repeat) time = std::min(time, time_of_short_threads(threads));
    return time;
  };
  EXPECT_LT(least(80'000), 20 * least(10'000));
}

TEST(ThreadsOf, OneRankMayWaitForAMissingMessage) {
  std::vector<Tape> tapes(1);
  tapes[0].native();
  tapes[0].of_thread(1).receive(0, 8);
  EXPECT_THAT(replay(test::setting_of(registry(), "host"), test::source_of(tapes)).error(),
              HasSubstr("the replay does not finish"));
}

}  // namespace
}  // namespace offramp::replay_threads_test
