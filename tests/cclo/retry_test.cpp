// One control processor serves all calls of a card; the retry queue of the second generation.
#include "tests/cclo/rig.hpp"

namespace offramp::cclo::retry_test {
namespace {

using Floats = std::vector<float>;

const Values kGen2 = {{"profile", word("gen2")}};
constexpr std::uint64_t kLong = 10000;  // elements: beyond the eager limit

CallArguments message(Rig& rig, int rank, Scenario scenario, std::uint32_t peer, std::uint64_t count = kLong,
                      std::uint32_t tag = kTagAny) {
  CallArguments call;
  call.scenario = scenario;
  call.count = rig.second() ? count : 4 * count;
  call.peer = peer;
  call.tag = tag;
  call.a = call.c = rig.put(rank, Floats(count, static_cast<float>(rank + 1)));
  return call;
}
CallArguments copy(Rig& rig, int rank) {
  CallArguments call;
  call.scenario = Scenario::kCopy;
  call.count = 100;
  call.a = rig.put(rank, Floats(100, 5));
  call.b = call.c = rig.put(rank, Floats(100));
  return call;
}

TEST(CcloRetry, ABlockedReceiveDoesNotBlockAnotherCall) {
  Rig rig(2, kGen2);
  const CallArguments receive = message(rig, 0, Scenario::kReceive, 1);
  const std::size_t blocked = rig.start_from_kernel(0, receive);
  const std::size_t other = rig.start_from_kernel(0, copy(rig, 0), Time::us(5));
  rig.start(1, message(rig, 1, Scenario::kSend, 0), Time::ms(1));
  EXPECT_EQ(rig.finish(1), 0U);
  EXPECT_EQ(rig.waits, "");
  const OffloadEngine::Result& late = rig.engine(0).result(blocked);
  EXPECT_TRUE(late.done);
  EXPECT_EQ(late.code, 0U);
  EXPECT_GT(late.end, Time::ms(1));
  EXPECT_EQ(late.retries, 1U);
  EXPECT_EQ(rig.get<float>(0, receive.c, kLong), Floats(kLong, 2));
  EXPECT_LT(rig.engine(0).result(other).end, Time::us(8));
  // It arrives between two polls of the retry queue.
  const Spec& spec = rig.spec(0);
  const Time look = spec.cycles(spec.firmware.fetch + 17 * spec.firmware.word + spec.firmware.step);
  EXPECT_GE(rig.engine(0).result(other).begin, Time::us(5));
  EXPECT_LT(rig.engine(0).result(other).begin, Time::us(5) + look);
}

TEST(CcloRetry, ACollectiveThatSpinsBlocksAllOthers) {
  Rig rig(3, kGen2);
  CallArguments allreduce;
  allreduce.scenario = Scenario::kAllreduce;
  allreduce.count = kLong;
  for (int rank = 0; rank < 3; ++rank) {
    allreduce.a = rig.put(rank, Floats(kLong, 1));
    allreduce.c = rig.put(rank, Floats(kLong));
    if (rank > 0) rig.start(rank, allreduce, Time::ms(1));
    if (rank == 0) rig.start_from_kernel(0, allreduce);
  }
  const std::size_t other = rig.start_from_kernel(0, copy(rig, 0), Time::us(5));
  EXPECT_EQ(rig.finish(1), 0U);
  EXPECT_EQ(rig.waits, "");
  EXPECT_GT(rig.engine(0).result(other).begin, Time::ms(1));
  EXPECT_EQ(rig.get<float>(2, allreduce.c, kLong), Floats(kLong, 3));
}

TEST(CcloRetry, TheFirstGenerationHasOneCallAtATime) {
  Rig rig(2);
  rig.start_from_kernel(0, message(rig, 0, Scenario::kReceive, 1));
  CallArguments other = copy(rig, 0);
  other.count = 400;
  const std::size_t behind = rig.start_from_kernel(0, other, Time::us(5));
  rig.start(1, message(rig, 1, Scenario::kSend, 0), Time::ms(1));
  EXPECT_EQ(rig.finish(1), 0U);
  EXPECT_GT(rig.engine(0).result(behind).begin, Time::ms(1));
}

TEST(CcloRetry, CallsAreServedAsTheirNotificationsCome) {
  Rig rig(4, kGen2);
  std::vector<std::size_t> calls;
  for (std::uint32_t peer = 1; peer < 4; ++peer)
    calls.push_back(rig.start_from_kernel(0, message(rig, 0, Scenario::kSend, peer)));
  rig.start(3, message(rig, 3, Scenario::kReceive, 0), Time::us(100));
  rig.start(2, message(rig, 2, Scenario::kReceive, 0), Time::us(300));
  rig.start(1, message(rig, 1, Scenario::kReceive, 0), Time::us(500));
  rig.finish(0);
  EXPECT_EQ(rig.waits, "");
  EXPECT_LT(rig.engine(0).result(calls[2]).end, Time::us(200));
  EXPECT_LT(rig.engine(0).result(calls[1]).end, Time::us(400));
  EXPECT_GT(rig.engine(0).result(calls[0]).end, Time::us(500));
}

TEST(CcloRetry, TagsOfNotificationsAreCompared) {
  Rig rig(2, kGen2);
  const CallArguments five = message(rig, 0, Scenario::kReceive, 1, kLong, 5);
  const CallArguments six = message(rig, 0, Scenario::kReceive, 1, kLong, 6);
  const std::size_t first = rig.start_from_kernel(0, five);
  const std::size_t second = rig.start_from_kernel(0, six);
  rig.start_from_kernel(1, message(rig, 1, Scenario::kSend, 0, kLong, 6), Time::us(100));
  rig.start_from_kernel(1, message(rig, 1, Scenario::kSend, 0, kLong, 5), Time::us(100));
  rig.finish(0);
  EXPECT_EQ(rig.waits, "");
  EXPECT_LT(rig.engine(0).result(second).end, rig.engine(0).result(first).end);
}

TEST(CcloRetry, ABarrierWaitsUntilTheQueueIsEmpty) {
  Rig rig(2, kGen2);
  rig.start_from_kernel(0, message(rig, 0, Scenario::kReceive, 1));
  CallArguments barrier;
  barrier.scenario = Scenario::kBarrier;
  const std::size_t waits = rig.start_from_kernel(0, barrier, Time::us(5));
  rig.start_from_kernel(1, message(rig, 1, Scenario::kSend, 0), Time::ms(1));
  rig.start_from_kernel(1, barrier, Time::ms(1));
  rig.finish(0);
  EXPECT_EQ(rig.waits, "");
  EXPECT_TRUE(rig.engine(0).result(waits).done);
  EXPECT_GT(rig.engine(0).result(waits).end, Time::ms(1));
  EXPECT_GE(rig.engine(0).result(waits).retries, 1U);
}

TEST(CcloRetry, TheQueueHoldsFourCalls) {
  for (const std::size_t calls : {4U, 5U}) {
    Rig rig(2, kGen2);
    for (std::size_t i = 0; i < calls; ++i) rig.start_from_kernel(0, message(rig, 0, Scenario::kReceive, 1));
    const std::size_t other = rig.start_from_kernel(0, copy(rig, 0), Time::us(50));
    rig.finish(0);
    EXPECT_EQ(rig.engine(0).result(other).done, calls == 4);
    EXPECT_EQ(rig.engine(0).stuck().empty(), calls == 4);
    EXPECT_NE(rig.waits.find(calls == 4 ? "retries a call" : "the retry queue holds 4 calls"),
              std::string::npos)
        << rig.waits;
  }
}

TEST(CcloRetry, NineNotificationsMayWait) {
  for (const int peers : {9, 10}) {
    Rig rig(peers + 2, kGen2);
    // The addresses arrive although no call asks for them.
    for (int peer = 1; peer <= peers; ++peer) rig.start(peer, message(rig, peer, Scenario::kReceive, 0));
    const auto asked = static_cast<std::uint32_t>(peers + 1);
    rig.start_from_kernel(0, message(rig, 0, Scenario::kReceive, asked), Time::us(100));
    const std::size_t other = rig.start_from_kernel(0, copy(rig, 0), Time::us(200));
    rig.finish(0);
    EXPECT_EQ(rig.engine(0).result(other).done, peers == 9);
    EXPECT_EQ(rig.waits.find("their FIFO holds 9") == std::string::npos, peers == 9) << rig.waits;
  }
}

TEST(CcloRetry, AResetDropsTheQueue) {
  Rig rig(2, kGen2);
  const std::size_t a = rig.start_from_kernel(0, message(rig, 0, Scenario::kReceive, 1));
  const std::size_t b = rig.start_from_kernel(0, message(rig, 0, Scenario::kSend, 1));
  rig.machine().run();
  EXPECT_EQ(rig.engine(0).retrying(), 2U);
  EXPECT_EQ(rig.configure(0, Gen2Config::kReset), 0U);
  EXPECT_EQ(rig.engine(0).retrying(), 0U);
  for (const std::size_t call : {a, b}) EXPECT_EQ(rig.engine(0).result(call).code, 0x80000000U);
}

}  // namespace
}  // namespace offramp::cclo::retry_test
