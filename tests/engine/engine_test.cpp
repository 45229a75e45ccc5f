// The engine on the memory fabric: messages of every kind between ranks, and of a rank to itself.
#include "lib/run/engine/engine.hpp"

#include <gtest/gtest.h>

#include "tests/engine/support.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::pattern;
using test::Ranks;

class AnEngine : public testing::Test {
 protected:
  // Eager, fetched without a receive, and staying at the sender.
  static constexpr std::size_t kSizes[] = {0, 1, 8192, 8193, 65536, 65537, 1000000};
  AnEngine() : ranks_(3) {
    for (int rank = 0; rank < 3; ++rank) worlds_.push_back(&ranks_.open(rank));
  }
  Context& world(int rank) { return *worlds_[static_cast<std::size_t>(rank)]; }

  Ranks ranks_;
  std::vector<Context*> worlds_;
};

TEST_F(AnEngine, CarriesEverySizeToAPostedReceive) {
  for (const std::size_t size : kSizes) {
    const Buffer data = pattern(size, 1);
    Buffer into(size + 10, std::byte{0x5a});
    ReceiveRecord receive;
    SendRecord send;
    ranks_[1].receive(receive, world(1), 0, 4, into);
    ranks_[0].send(send, {world(0), 1, 4, data, ElementType::kInt8});
    EXPECT_FALSE(receive.done);
    ranks_.settle();
    ASSERT_TRUE(send.done && receive.done) << size;
    EXPECT_EQ(receive.outcome, Outcome::kOk);
    EXPECT_EQ(receive.received, size);
    EXPECT_EQ(receive.envelope.source, 0);
    EXPECT_EQ(receive.envelope.tag, 4);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), into.begin()));
    EXPECT_EQ(into[size], std::byte{0x5a});
  }
  EXPECT_EQ(ranks_[0].sends_in_flight(), 0U);
  EXPECT_EQ(ranks_[1].malformed(), 0U);
  EXPECT_EQ(world(0).pending + world(1).pending, 0);
}

TEST_F(AnEngine, CompletesSmallSendsWithoutAReceiveWhateverTheHardwareDoes) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{8192}, test::kNeverWaits}) {
    const Buffer data = pattern(size, 2);
    Buffer into(size);
    SendRecord send;
    ReceiveRecord receive;
    ranks_[0].send(send, {world(0), 1, 4, data});
    ranks_.settle();
    EXPECT_TRUE(send.done) << size;
    ranks_[1].receive(receive, world(1), kAnySource, kAnyTag, into);
    EXPECT_TRUE(receive.done);
    EXPECT_EQ(into, data);
  }
}

TEST_F(AnEngine, KeepsLargeSendsUntilTheyAreReceived) {
  const Buffer data = pattern(65537, 3);
  Buffer into(65537);
  SendRecord send;
  ReceiveRecord receive;
  ranks_[0].send(send, {world(0), 1, 4, data});
  ranks_.settle();
  EXPECT_FALSE(send.done);
  EXPECT_NE(ranks_[0].describe().find("to rank 1 (world 1) tag 4 65537 bytes"), std::string::npos);
  EXPECT_NE(ranks_[1].describe().find("unexpected message: source 0 tag 4 65537 bytes"), std::string::npos);
  ranks_[1].receive(receive, world(1), 0, 4, into);
  ranks_.settle();
  EXPECT_TRUE(send.done);
  EXPECT_EQ(into, data);
}

TEST_F(AnEngine, CompletesASynchronousSendOnlyAfterTheMatch) {
  for (const std::size_t size : kSizes) {
    const Buffer data = pattern(size, 4);
    Buffer into(size);
    SendRecord send;
    ReceiveRecord receive;
    ranks_[0].send(send, {world(0), 2, 4, data, ElementType::kByte, true});
    ranks_.settle();
    EXPECT_FALSE(send.done);
    ranks_[2].receive(receive, world(2), 0, 4, into);
    ranks_.settle();
    EXPECT_TRUE(send.done) << size;
    EXPECT_EQ(into, data);
  }
}

TEST_F(AnEngine, CutsALongMessageAtTheEndOfTheBuffer) {
  for (const bool posted_first : {true, false}) {
    for (const std::size_t size : {std::size_t{100}, std::size_t{20000}, std::size_t{500000}}) {
      const Buffer data = pattern(size, 5);
      Buffer into(61, std::byte{0});
      SendRecord send;
      ReceiveRecord receive;
      if (posted_first) ranks_[1].receive(receive, world(1), 0, 4, {into.data(), 60});
      ranks_[0].send(send, {world(0), 1, 4, data});
      ranks_.settle();
      if (!posted_first) ranks_[1].receive(receive, world(1), 0, 4, {into.data(), 60});
      ranks_.settle();
      ASSERT_TRUE(send.done && receive.done);
      EXPECT_EQ(send.outcome, Outcome::kOk);
      EXPECT_EQ(receive.outcome, Outcome::kTruncated);
      EXPECT_EQ(receive.received, 60U);
      EXPECT_TRUE(std::equal(into.begin(), into.end() - 1, data.begin()));
      EXPECT_EQ(into.back(), std::byte{0});
      EXPECT_EQ(receive.landing, nullptr);
    }
  }
}

TEST_F(AnEngine, TalksToItself) {
  for (const std::size_t size : kSizes) {
    const Buffer data = pattern(size, 6);
    Buffer into(size);
    SendRecord send;
    ReceiveRecord receive;
    ranks_[0].send(send, {world(0), 0, 4, data, ElementType::kByte, size % 2 == 0});
    ranks_[0].receive(receive, world(0), 0, 4, into);
    ranks_.settle();
    ASSERT_TRUE(send.done && receive.done);
    EXPECT_EQ(into, data);
  }
}

TEST_F(AnEngine, NeverCompletesASendFromInsideAnotherCall) {
  const Buffer data = pattern(100000, 7);
  Buffer into(100000);
  SendRecord send;
  ReceiveRecord receive;
  ranks_[0].send(send, {world(0), 0, 4, data});
  ranks_[0].progress();
  ranks_[0].receive(receive, world(0), 0, 4, into);
  EXPECT_TRUE(receive.done);
  EXPECT_FALSE(send.done);
  ranks_[0].progress();
  EXPECT_TRUE(send.done);
}

TEST_F(AnEngine, TakesAReceiveBackUntilItIsMatched) {
  Buffer into(10);
  const Buffer data = pattern(10, 8);
  ReceiveRecord cancelled;
  ReceiveRecord receive;
  SendRecord send;
  ranks_[1].receive(cancelled, world(1), kAnySource, 4, into);
  EXPECT_TRUE(ranks_[1].cancel(cancelled));
  EXPECT_TRUE(cancelled.done);
  EXPECT_EQ(cancelled.outcome, Outcome::kCancelled);
  EXPECT_FALSE(ranks_[1].cancel(cancelled));
  ranks_[1].observe(cancelled);
  EXPECT_EQ(ranks_[1].lane().counters.calls[0].bytes, 0U);
  ranks_[0].send(send, {world(0), 1, 4, data});
  ranks_[1].receive(receive, world(1), 0, 4, into);
  ranks_.settle();
  EXPECT_TRUE(receive.done);
  EXPECT_FALSE(ranks_[1].cancel(receive));
  EXPECT_EQ(receive.outcome, Outcome::kOk);
}

TEST_F(AnEngine, MayBeUsedAgainFromACompletion) {
  struct Chain {
    Ranks& ranks;
    Context& context;
    Buffer bytes;
    SendRecord next;
    int hops;
  } chain{ranks_, world(1), Buffer(4), {}, 0};
  ReceiveRecord receive;
  receive.owner = &chain;
  receive.on_complete = [](ReceiveRecord& record) {
    auto& self = *static_cast<Chain*>(record.owner);
    if (++self.hops == 50) return;
    self.ranks[1].send(self.next, {self.context, 1, 4, self.bytes});
    self.ranks[1].receive(record, self.context, 1, 4, self.bytes);
  };
  ranks_[1].receive(receive, world(1), 1, 4, chain.bytes);
  ranks_[1].send(chain.next, {world(1), 1, 4, chain.bytes});
  ranks_.settle();
  EXPECT_EQ(chain.hops, 50);
}

TEST_F(AnEngine, CountsAReceiveWhenItIsObservedAndOnce) {
  const Buffer data = pattern(100, 9);
  Buffer into(100);
  SendRecord send;
  ReceiveRecord receive;
  ranks_[0].send(send, {world(0), 1, 4, data});
  ranks_[1].receive(receive, world(1), 0, 4, into);
  ranks_.settle();
  const CallCounter& counter = ranks_[1].lane().counters.calls[0];
  EXPECT_EQ(counter.bytes, 0U);
  ranks_[1].observe(receive);
  ranks_[1].observe(receive);
  EXPECT_EQ(counter.bytes, 100U);
}

TEST_F(AnEngine, CountsWildcardReceivesAmongSeveralRanks) {
  const Buffer data = pattern(8, 1);
  Buffer into(8);
  SendRecord send;
  ReceiveRecord receive;
  ranks_[0].send(send, {world(0), 1, 4, data});
  ranks_[1].receive(receive, world(1), kAnySource, 4, into);
  ranks_.settle();
  EXPECT_EQ(ranks_[1].lane().counters.arrival_order_dependences(), 1U);
}

}  // namespace
}  // namespace offramp
