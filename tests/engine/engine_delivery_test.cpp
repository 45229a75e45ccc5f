// The engine on a fabric that misbehaves: headers out of order, twice, never, late or forged.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lib/run/engine/engine.hpp"
#include "tests/engine/support.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::Mailroom;
using test::pattern;

class ADelivery : public testing::Test {
 protected:
  static constexpr std::uint64_t kId = 77;

  ADelivery() : room_(3) {
    for (int rank = 0; rank < 3; ++rank)
      engines_.push_back(std::make_unique<Engine>(room_.at(rank), test::host_lane(rank, 3)));
  }
  Engine& engine(int rank) { return *engines_[static_cast<std::size_t>(rank)]; }
  Context& open(int rank) { return engine(rank).open_context(kId, rank, test::world_of(3)); }
  void deliver(Mailroom::Letter& letter) { Mailroom::deliver(letter, engine(letter.to)); }
  static Envelope envelope_of(const Mailroom::Letter& letter) {
    Envelope envelope;
    EXPECT_EQ(letter.header.size(), sizeof envelope);
    std::memcpy(&envelope, letter.header.data(), sizeof envelope);
    return envelope;
  }
  /// Delivers a copy of a letter's envelope after one change.
  void deliver_changed(Mailroom::Letter& letter, void (*change)(Envelope&)) {
    Envelope envelope = envelope_of(letter);
    change(envelope);
    engine(letter.to).deliver({envelope.encoded(), letter.payload.data(), letter.payload.size(), nullptr});
  }

  Mailroom room_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

TEST_F(ADelivery, RestoresTheOrderOfSendingAndDropsDuplicates) {
  constexpr int kMessages = 40;
  for (const std::uint32_t seed : {1U, 2U, 3U, 4U, 5U}) {
    Mailroom room(2);
    Engine sender(room.at(0), test::host_lane(0, 2));
    Engine receiver(room.at(1), test::host_lane(1, 2));
    Context& from = sender.open_context(1, 0, std::vector{0, 1});
    Context& to = receiver.open_context(1, 1, std::vector{0, 1});
    room.eager_limit = seed % 2 == 0 ? SIZE_MAX : 100;
    std::vector<SendRecord> sends(kMessages);
    std::vector<Buffer> data;
    for (int i = 0; i < kMessages; ++i) {
      data.push_back(pattern(i % 3 == 0 ? 70000 : i % 3 == 1 ? 200 : 5, static_cast<std::uint32_t>(i)));
      sender.send(sends[static_cast<std::size_t>(i)], {from, 1, 3, data.back()});
    }
    std::vector<std::size_t> order(kMessages);
    std::iota(order.begin(), order.end(), 0U);
    std::mt19937 random(seed);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<ReceiveRecord> receives(kMessages);
    std::vector<Buffer> into(kMessages, Buffer(70000));
    const auto receive = [&](int i) {
      const auto at = static_cast<std::size_t>(i);
      receiver.receive(receives[at], to, i % 2 == 0 ? 0 : kAnySource, kAnyTag, into[at]);
    };
    for (int i = 0; i < kMessages / 2; ++i) receive(i);
    int copies = 0;
    for (const std::size_t i : order) {
      Mailroom::Letter& letter = *room.letters[i];
      Mailroom::deliver(letter, receiver);
      if (letter.sender != nullptr || random() % 2 == 0) continue;
      ++copies;
      Mailroom::deliver(letter, receiver);
    }
    for (int i = kMessages / 2; i < kMessages; ++i) receive(i);
    room.notify_senders();
    for (std::size_t i = kMessages; i < room.letters.size(); ++i)
      Mailroom::deliver(*room.letters[i], sender);  // replies
    for (std::size_t i = 0; i < kMessages; ++i) {
      ASSERT_TRUE(receives[i].done && sends[i].done) << i;
      EXPECT_EQ(receives[i].received, data[i].size());
      EXPECT_TRUE(std::equal(data[i].begin(), data[i].end(), into[i].begin()));
    }
    EXPECT_EQ(receiver.malformed(), static_cast<std::uint64_t>(copies));
    EXPECT_EQ(from.pending + to.pending, 0);
  }
}

TEST_F(ADelivery, ReportsAGapInTheHangReport) {
  Context& from = open(0);
  open(1);
  SendRecord sends[2];
  for (SendRecord& send : sends) engine(0).send(send, {from, 1, 3, {}});
  deliver(*room_.letters[1]);
  EXPECT_NE(engine(1).describe().find("1 messages wait for sequence number 0"), std::string::npos)
      << engine(1).describe();
}

TEST_F(ADelivery, CountsInvalidBytesWithoutEffect) {
  Context& from = open(0);
  Context& to = open(1);
  const Buffer data = pattern(20, 1);
  SendRecord send;
  engine(0).send(send, {from, 1, 3, data});
  Mailroom::Letter& letter = room_.last();
  deliver_changed(letter, [](Envelope& e) { e.kind = EnvelopeKind{9}; });
  deliver_changed(letter, [](Envelope& e) { e.source = 2; });  // world rank 0 is not rank 2
  deliver_changed(letter, [](Envelope& e) { e.backend = 1; });
  deliver_changed(letter, [](Envelope& e) { e.sequence = 1U << 20U; });
  deliver_changed(letter, [](Envelope& e) { e.bytes += 1; });
  engine(1).deliver({{letter.header.data(), 17}, nullptr, 0, nullptr});
  EXPECT_EQ(engine(1).malformed(), 6U);
  Buffer into(20);
  ReceiveRecord receive;
  engine(1).receive(receive, to, kAnySource, kAnyTag, into);
  EXPECT_FALSE(receive.done);
  deliver(letter);
  EXPECT_TRUE(receive.done);
  EXPECT_EQ(into, data);
}

TEST_F(ADelivery, SurvivesRandomHeaders) {
  Context& to = open(1);
  Context& from = open(0);
  Buffer into(64);
  ReceiveRecord receive;
  engine(1).receive(receive, to, 2, 12345, into);  // never comes
  SendRecord send;
  const Buffer data = pattern(32, 1);
  engine(0).send(send, {from, 1, 3, data});
  std::mt19937_64 random(4);
  for (int round = 0; round < 50000; ++round) {
    Buffer bytes = room_.letters[0]->header;
    for (std::uint64_t changes = random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    engine(1).deliver({bytes, data.data(), data.size(), nullptr});
  }
  EXPECT_GT(engine(1).malformed(), 10000U);
  EXPECT_FALSE(receive.done);
  engine(1).cancel(receive);
}

TEST_F(ADelivery, CompletesNoSendForAForgedReply) {
  Context& from = open(0);
  Context& to = open(1);
  Buffer into(8);
  SendRecord send;
  ReceiveRecord receive;
  engine(0).send(send, {from, 1, 3, {}, ElementType::kByte, true});
  deliver(room_.last());
  engine(1).receive(receive, to, 0, 3, into);
  Mailroom::Letter& reply = room_.last();
  ASSERT_EQ(reply.to, 0);
  deliver_changed(reply, [](Envelope& e) { e.token += std::uint64_t{1} << 32; });
  deliver_changed(reply, [](Envelope& e) { e.token = 12345; });
  deliver_changed(reply, [](Envelope& e) { e.token = UINT64_MAX; });
  deliver_changed(reply, [](Envelope& e) { e.source_world = 2; });
  deliver_changed(reply, [](Envelope& e) { e.context += 1; });
  deliver_changed(reply, [](Envelope& e) { e.sequence += 1; });
  EXPECT_FALSE(send.done);
  EXPECT_EQ(engine(0).malformed(), 6U);
  deliver(reply);
  EXPECT_TRUE(send.done);
  deliver(reply);
  EXPECT_EQ(engine(0).malformed(), 7U);
}

TEST_F(ADelivery, DropsTheEmptyPayloadOfAReply) {
  Context& from = open(0);
  SendRecord send;
  engine(0).send(send, {from, 1, 3, {}, ElementType::kByte, true});
  Envelope reply = envelope_of(room_.last());
  reply.kind = EnvelopeKind::kReply;
  reply.source_world = 1;
  Mailroom::Letter left;
  engine(0).deliver({reply.encoded(), nullptr, 0, &left});
  EXPECT_TRUE(send.done);
  EXPECT_EQ(left.dropped, 1);
}

TEST_F(ADelivery, BeforeTheCommunicatorExistsIsKept) {
  Context& from = open(0);
  const Buffer data = pattern(20, 1);
  SendRecord send;
  engine(0).send(send, {from, 1, 3, data});
  deliver(room_.last());
  Context& to = open(1);
  Buffer into(20);
  ReceiveRecord receive;
  engine(1).receive(receive, to, 0, 3, into);
  EXPECT_TRUE(receive.done);
  EXPECT_EQ(into, data);
}

TEST_F(ADelivery, FromAStrangerBeforeTheCommunicatorExistsIsThrownAwayWhenItDoes) {
  Context& from = open(0);
  const Buffer data = pattern(70000, 1);
  room_.eager_limit = 100;
  SendRecord sends[2];
  engine(0).send(sends[0], {from, 1, 3, data});
  engine(0).send(sends[1], {from, 1, 3, data});
  for (const auto& letter : room_.letters) deliver(*letter);
  Context& to = engine(1).open_context(kId, 0, {1, 2});  // world rank 0 is no member
  EXPECT_EQ(to.unexpected_count(), 0U);
  EXPECT_EQ(engine(1).malformed(), 2U);
  EXPECT_EQ(room_.letters[0]->dropped + room_.letters[1]->dropped, 2);
}

TEST_F(ADelivery, AfterTheCommunicatorWasFreedIsDropped) {
  Context& from = open(0);
  engine(1).close_context(open(1));
  room_.eager_limit = 0;
  SendRecord send;
  engine(0).send(send, {from, 1, 3, pattern(10, 1)});
  deliver(room_.last());
  EXPECT_EQ(room_.last().dropped, 1);
  EXPECT_EQ(engine(1).malformed(), 0U);
  room_.notify_senders();
  EXPECT_TRUE(send.done);
}

TEST_F(ADelivery, ToACommunicatorThatIsFreedGetsDroppedEvenAheadOfItsTurn) {
  Context& from = open(0);
  Context& to = open(1);
  room_.eager_limit = 100;
  const Buffer data = pattern(70000, 1);
  SendRecord sends[3];
  for (SendRecord& send : sends) engine(0).send(send, {from, 1, 3, data});
  deliver(*room_.letters[0]);
  deliver(*room_.letters[2]);
  engine(1).close_context(to);
  EXPECT_EQ(room_.letters[0]->dropped, 1);
  EXPECT_EQ(room_.letters[2]->dropped, 1);
}

TEST_F(ADelivery, CompletesRequestsThatBeganBeforeTheCommunicatorWasFreed) {
  Context& from = open(0);
  Context& to = open(1);
  const Buffer data = pattern(70000, 1);
  Buffer into(70000);
  room_.eager_limit = 100;
  SendRecord send;
  ReceiveRecord receive;
  engine(0).send(send, {from, 1, 3, data, ElementType::kByte, true});
  engine(1).receive(receive, to, 0, 3, into);
  engine(0).close_context(from);
  engine(1).close_context(to);
  deliver(*room_.letters[0]);
  EXPECT_TRUE(receive.done);
  EXPECT_EQ(into, data);
  deliver(*room_.letters[1]);
  EXPECT_FALSE(send.done);
  room_.notify_senders();
  EXPECT_TRUE(send.done);
  engine(1).observe(receive);
}

TEST_F(ADelivery, KeepsAFreedCommunicatorWhileAMessageIsFetched) {
  room_.eager_limit = 100;
  room_.pulls_wait = true;
  Context& from = open(0);
  Context& to = open(1);
  const Buffer data = pattern(1000, 1);
  SendRecord send;
  engine(0).send(send, {from, 1, 3, data});
  deliver(room_.last());
  ASSERT_EQ(room_.pulls.size(), 1U);
  engine(1).close_context(to);
  room_.finish_pulls();
  room_.notify_senders();
  EXPECT_TRUE(send.done);
  EXPECT_EQ(room_.last().dropped, 0);
}

TEST_F(ADelivery, HandsAFetchedMessageToTheReceiveThatCameMeanwhile) {
  room_.eager_limit = 100;
  room_.pulls_wait = true;
  Context& from = open(0);
  Context& to = open(1);
  const Buffer data = pattern(1000, 1);
  Buffer into(1000);
  SendRecord send;
  ReceiveRecord receive;
  engine(0).send(send, {from, 1, 3, data});
  deliver(room_.last());
  engine(1).receive(receive, to, 0, 3, into);
  EXPECT_FALSE(receive.done);
  EXPECT_FALSE(engine(1).cancel(receive)) << "it is matched";
  engine(1).close_context(to);
  room_.finish_pulls();
  EXPECT_TRUE(receive.done);
  EXPECT_EQ(into, data);
}

TEST_F(ADelivery, WhosePayloadIsLostFailsTheReceiveAndLeavesTheBuffer) {
  room_.eager_limit = 100;
  room_.pulls_wait = true;
  for (const std::size_t size : {std::size_t{1000}, std::size_t{100000}}) {
    for (const std::size_t room : {size, size / 2}) {
      for (const bool posted_first : {true, false}) {
        Context& from = open(0);
        Context& to = open(1);
        const Buffer data = pattern(size, 1);
        Buffer into(room, std::byte{7});
        SendRecord send;
        ReceiveRecord receive;
        if (posted_first) engine(1).receive(receive, to, 0, 3, into);
        engine(0).send(send, {from, 1, 3, data});
        deliver(room_.last());
        if (!posted_first) engine(1).receive(receive, to, 0, 3, into);
        room_.finish_pulls(false);
        ASSERT_TRUE(receive.done);
        EXPECT_EQ(receive.outcome, Outcome::kFault);
        EXPECT_EQ(receive.received, 0U);
        EXPECT_EQ(into, Buffer(room, std::byte{7}));
        room_.notify_senders();
      }
    }
  }
}

TEST_F(ADelivery, ThatAProbeClaimedIsReceivedAfterTheCommunicatorWasFreed) {
  Context& from = open(0);
  Context& to = open(1);
  const Buffer data = pattern(100, 1);
  Buffer into(100);
  SendRecord send;
  ReceiveRecord receive;
  engine(0).send(send, {from, 1, 3, data});
  deliver(room_.last());
  auto claimed = to.pop_unexpected(*to.find_unexpected(0, 3));
  engine(1).close_context(to);
  engine(1).receive_claimed(receive, std::move(claimed), into);
  EXPECT_TRUE(receive.done);
  EXPECT_EQ(into, data);
  engine(1).observe(receive);
  deliver(room_.last());
  EXPECT_EQ(engine(1).malformed(), 0U) << "the communicator is gone, its late message is dropped";
}

TEST_F(ADelivery, LeftOverAtTheEndIsDropped) {
  Context& from = open(0);
  Context& to = open(1);
  room_.eager_limit = 100;
  const Buffer data = pattern(70000, 1);
  SendRecord sends[3];
  for (SendRecord& send : sends) engine(0).send(send, {from, 1, 3, data});
  deliver(*room_.letters[0]);
  deliver(*room_.letters[2]);
  Buffer into(10);
  ReceiveRecord receive;
  engine(1).receive(receive, to, 2, 3, into);
  engines_[1].reset();
  EXPECT_EQ(room_.letters[0]->dropped + room_.letters[2]->dropped, 2);
}

TEST_F(ADelivery, DropsMessagesForAFreedCommunicator) {
  Context& from = open(0);
  engine(1).close_context(open(1));
  const Buffer data = pattern(100, 1);
  SendRecord early;
  SendRecord late;
  engine(0).send(early, {from, 1, 3, data});
  deliver(room_.last());
  EXPECT_EQ(engine(1).unexpected_bytes(), 0U);
  // After so many others were freed, the record of this one is gone: the engine keeps the message, as for a
  // communicator that is still to be made.
  for (std::uint64_t id = 1000; id < 9000; ++id)
    engine(1).close_context(engine(1).open_context(id, 1, test::world_of(3)));
  engine(0).send(late, {from, 1, 3, data});
  deliver(room_.last());
  EXPECT_EQ(engine(1).unexpected_bytes(), 100U);
  EXPECT_EQ(engine(1).malformed(), 0U);
}

/// is_over() makes MPI return no request for such a send, so the engine must be done with it.
TEST_F(ADelivery, IsOverForAnEagerSendAtOnce) {
  Context& from = open(0);
  const Buffer small = pattern(8, 1);
  const Buffer large = pattern(100'000, 2);
  SendRecord eager;
  SendRecord synchronous;
  SendRecord offered;
  engine(0).send(eager, {from, 1, 0, small});
  engine(0).send(synchronous, {from, 1, 0, small, ElementType::kByte, true});
  engine(0).send(offered, {from, 1, 0, large});
  EXPECT_TRUE(Engine::is_over(eager));
  EXPECT_FALSE(Engine::is_over(synchronous));
  EXPECT_FALSE(Engine::is_over(offered));
}

}  // namespace
}  // namespace offramp
