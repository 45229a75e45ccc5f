// The memory of messages without a receive: its bound, and that nothing else depends on it.
#include <gtest/gtest.h>

#include <vector>

#include "lib/run/engine/engine.hpp"
#include "tests/engine/support.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::pattern;
using test::Ranks;

constexpr std::size_t kBytes = 32 * 1024;

/// Sends that complete before their first receive.
void send_all(Ranks& ranks, Context& from, std::vector<SendRecord>& sends, const std::vector<Buffer>& data) {
  for (std::size_t i = 0; i < sends.size(); ++i) {
    ranks[0].send(sends[i], {from, 1, static_cast<int>(i), data[i]});
    ranks.settle();
    EXPECT_TRUE(sends[i].done) << i;
  }
}

std::vector<Buffer> patterns(std::size_t count, std::size_t bytes) {
  std::vector<Buffer> data;
  for (std::size_t i = 0; i < count; ++i) data.push_back(pattern(bytes, static_cast<std::uint32_t>(i)));
  return data;
}

TEST(PayloadWindow, GivesUpToItsSizeAndGetsItBackByHalves) {
  PayloadWindow window(3);
  window.resize(1000);
  EXPECT_TRUE(window.reserve(1, 600));
  EXPECT_FALSE(window.reserve(1, 401));
  EXPECT_TRUE(window.reserve(1, 400));
  EXPECT_TRUE(window.reserve(2, 1000)) << "every peer has its own";
  EXPECT_FALSE(window.restore(1, 1001));
  EXPECT_TRUE(window.restore(1, 1000));
  EXPECT_FALSE(window.restore(1, 1));
  EXPECT_FALSE(window.release(1, 499));
  EXPECT_TRUE(window.release(1, 1)) << "half of it";
  EXPECT_FALSE(window.release(1, 700)) << "is due already";
  EXPECT_EQ(window.collect_due(1), 1200U);
  EXPECT_FALSE(window.release(1, 499));
}

TEST(PayloadWindow, IsSharedBetweenAllPeersButNeverTiny) {
  EXPECT_EQ(PayloadWindow(2).size(), PayloadWindow::kTotal / 2);
  EXPECT_EQ(PayloadWindow(100000).size(), PayloadWindow::kLeast);
}

class AStorm : public testing::TestWithParam<std::size_t> {};  // the fabric's eager limit

TEST_P(AStorm, LeavesNoMoreThanTheWindowAtTheReceiverAndTheRestAtTheSender) {
  constexpr std::size_t kCount = 200;
  constexpr std::size_t kWindow = 10 * kBytes;
  Ranks ranks(2, GetParam());
  ranks[0].resize_window(kWindow);
  ranks[1].resize_window(kWindow);
  Context& from = ranks.open(0);
  Context& to = ranks.open(1);
  const std::vector<Buffer> data = patterns(kCount, kBytes);
  std::vector<SendRecord> sends(kCount);
  send_all(ranks, from, sends, data);
  EXPECT_EQ(ranks[1].unexpected_bytes(), kWindow);
  EXPECT_EQ(ranks[1].unexpected_bytes_peak(), kWindow);
  EXPECT_EQ(ranks[0].deferred_bytes(), (kCount - 10) * kBytes);
  EXPECT_EQ(ranks[0].sends_in_flight(), kCount - 10);

  Buffer into(kBytes);
  for (std::size_t i = kCount; i-- > 0;) {  // the last first: all envelopes have arrived
    ReceiveRecord receive;
    ranks[1].receive(receive, to, 0, static_cast<int>(i), into);
    ranks.settle();
    ASSERT_TRUE(receive.done) << i;
    EXPECT_EQ(into, data[i]) << i;
  }
  EXPECT_EQ(ranks[1].unexpected_bytes(), 0U);
  EXPECT_EQ(ranks[0].deferred_bytes(), 0U);
  EXPECT_EQ(ranks[0].sends_in_flight(), 0U);
  EXPECT_EQ(ranks[0].malformed() + ranks[1].malformed(), 0U);
}

INSTANTIATE_TEST_SUITE_P(EagerLimits, AStorm, testing::Values(0U, 8192U, SIZE_MAX));

TEST(PayloadWindow, IsGivenBackWhileMessagesAreReceived) {
  Ranks ranks(2);
  ranks[0].resize_window(4 * kBytes);
  ranks[1].resize_window(4 * kBytes);
  Context& from = ranks.open(0);
  Context& to = ranks.open(1);
  const Buffer data = pattern(kBytes, 1);
  Buffer into(kBytes);
  for (int i = 0; i < 100; ++i) {
    SendRecord send;
    ReceiveRecord receive;
    if (i % 2 == 0) ranks[1].receive(receive, to, 0, 1, into);
    ranks[0].send(send, {from, 1, 1, data});
    EXPECT_EQ(ranks[0].deferred_bytes(), 0U) << i;
    ranks.settle();
    if (i % 2 != 0) ranks[1].receive(receive, to, 0, 1, into);
    ranks.settle();
    ASSERT_TRUE(receive.done) << i;
  }
}

TEST(PayloadWindow, IsGivenBackForMessagesOfAFreedCommunicator) {
  Ranks ranks(2);
  ranks[0].resize_window(4 * kBytes);
  ranks[1].resize_window(4 * kBytes);
  const Buffer data = pattern(kBytes, 1);
  for (std::uint64_t id = 1; id <= 20; ++id) {
    Context& from = ranks.open(0, id);
    Context& to = ranks.open(1, id);
    std::vector<SendRecord> sends(2);
    ranks[0].send(sends[0], {from, 1, 1, data});
    ranks.settle();
    ranks[1].close_context(to);
    ranks[0].send(sends[1], {from, 1, 1, data});
    ranks.settle();
    ranks[0].close_context(from);
    EXPECT_EQ(ranks[0].deferred_bytes(), 0U) << id;
  }
  EXPECT_EQ(ranks[1].unexpected_bytes(), 0U);
}

TEST(PayloadWindow, DoesNotCountMessagesToOneselfOrTinyOnes) {
  Ranks ranks(2);
  ranks[0].resize_window(0);
  Context& self = ranks.open(0);
  ranks.open(1);
  const Buffer data = pattern(kBytes, 1);
  SendRecord own;
  SendRecord tiny;
  ranks[0].send(own, {self, 0, 1, data});
  ranks[0].send(tiny, {self, 1, 1, Bytes(data).first(PayloadWindow::kUncounted)});
  ranks.settle();
  EXPECT_EQ(ranks[0].deferred_bytes(), 0U);
}

TEST(PayloadWindow, IsNotGivenBackTwiceByAForgedMessage) {
  test::Mailroom room(2);
  Engine sender(room.at(0), test::host_lane(0, 2));
  sender.resize_window(2 * kBytes);
  Context& from = sender.open_context(1, 0, test::world_of(2));
  const Buffer data = pattern(kBytes, 1);
  std::vector<SendRecord> sends(3);
  sender.send(sends[0], {from, 1, 1, data});
  Envelope forged;
  forged.kind = EnvelopeKind::kWindow;
  forged.source_world = 1;
  forged.bytes = kBytes + 1;
  sender.deliver({forged.encoded(), nullptr, 0, nullptr});
  EXPECT_EQ(sender.malformed(), 1U);
  sender.send(sends[1], {from, 1, 1, data});
  sender.send(sends[2], {from, 1, 1, data});
  EXPECT_EQ(sender.deferred_bytes(), kBytes);
}

}  // namespace
}  // namespace offramp
