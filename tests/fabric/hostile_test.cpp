// An engine on a real fabric with a peer that sends arbitrary messages: the engine drops and counts them, and
// goes on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <barrier>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "lib/run/engine/engine.hpp"
#include "lib/run/fabric/node_fabric.hpp"
#include "lib/run/fabric/node_rings.hpp"
#include "tests/engine/support.hpp"
#include "tests/fabric/worlds.hpp"

namespace offramp::hostile_test {
namespace {

struct Nobody final : Fabric::Sink {
  explicit Nobody(Fabric& of) : fabric(of) {}
  void deliver(const Fabric::Inbound& message) override {
    if (message.remote != nullptr) fabric.drop(message.remote);
  }
  Fabric& fabric;
};

/// Counts completed sends.
struct Sent : FabricWaiter {
  Sent() {
    notify = [](FabricWaiter& self, bool) { static_cast<Sent&>(self).done = true; };
  }
  bool done = false;
};

template <typename World>
class HostilePeer : public testing::Test {};
using Worlds = testing::Types<test::NodeWorld, test::MemoryWorld, test::UcxThroughSharedMemory,
                              test::UcxWithCrossMemory, test::UcxBesideRings>;
TYPED_TEST_SUITE(HostilePeer, Worlds);

TYPED_TEST(HostilePeer, SendsGarbageThatIsDroppedAndCounted) {
  if (!TypeParam::available()) GTEST_SKIP() << "no UCX";
  TypeParam world(2);
  Fabric& peer = world.at(1);
  Nobody nobody(peer);
  Engine engine(world.at(0), test::host_lane(0, 2));
  Context& context = engine.open_context(77, 0, test::world_of(2));
  test::Buffer buffer(64);
  ReceiveRecord receive;
  engine.receive(receive, context, 1, 5, buffer);

  std::mt19937_64 random(11);
  constexpr int kMessages = 400;
  std::vector<Sent> sent(kMessages);
  std::vector<test::Buffer> headers;
  std::vector<test::Buffer> payloads;
  headers.reserve(kMessages);
  payloads.reserve(kMessages);
  for (int i = 0; i < kMessages; ++i) {
    // Random sizes, the right size, and one wrong field; with payloads that come along and payloads that
    // wait.
    test::Buffer header(i % 3 == 0 ? random() % Fabric::kMaxHeader : sizeof(Envelope));
    for (std::byte& b : header) b = static_cast<std::byte>(random());
    if (i % 3 == 2) {
      Envelope good;
      good.context = 77;
      good.source = 1;
      good.source_world = 1;
      good.bytes = random();  // not the size of the payload
      std::memcpy(header.data(), good.encoded().data(), header.size());
    }
    headers.push_back(std::move(header));
    payloads.emplace_back(i % 7 == 0 ? 200'000 : random() % 3000);
    Sent& one = sent[static_cast<std::size_t>(i)];
    one.done = peer.send(0, headers.back(), payloads.back(), one) == Fabric::State::kDone;
  }
  Engine sender(peer, test::host_lane(1, 2));
  Context& from = sender.open_context(77, 1, test::world_of(2));
  SendRecord send;
  const test::Buffer data = test::pattern(64, 3);
  sender.send(send, {from, 0, 5, data, ElementType::kByte});

  const auto over = [](const Sent& one) { return one.done; };
  for (int turn = 0; turn < 2'000'000 && !(receive.done && std::all_of(sent.begin(), sent.end(), over));
       ++turn) {
    engine.progress();
    sender.progress();
  }
  EXPECT_EQ(engine.malformed(), static_cast<std::uint64_t>(kMessages));
  ASSERT_TRUE(receive.done);
  EXPECT_TRUE(std::all_of(sent.begin(), sent.end(), over));
  EXPECT_EQ(receive.outcome, Outcome::kOk);
  EXPECT_EQ(buffer, data);
  world.close(0, engine);
  world.close(1, nobody);
}

/// The second of two ranks of a node, which writes invalid messages into its ring.
class RawPeer {
 public:
  /// The kinds of messages, and the ring's record of a payload: see lib/run/fabric/node_fabric.cpp.
  enum Kind : std::uint32_t { kOffer = 1, kEnd, kAsk, kPiece, kAskBytes, kBytes, kUnknown };
  struct Place {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t offer = 0;
    std::uint64_t pull = 0;
  };

  explicit RawPeer(const NodeRings::Exchange& exchange) {
    rings_.open({0, 1}, 1, 4 << 20, exchange);
    EXPECT_TRUE(rings_.join_all());
    exchange(std::to_string(getpid()));
  }
  void write(Kind kind, const Place& place) {
    EXPECT_TRUE(rings_.towards(0)->write({}, std::as_bytes(std::span(&place, 1)), kind));
  }

 private:
  NodeRings rings_;
};

/// Keeps the last message, and pulls its payload in pieces.
struct Puller final : Fabric::Sink, PieceSink, FabricWaiter {
  explicit Puller(Fabric& of) : fabric(of) {
    notify = [](FabricWaiter& self, bool) { static_cast<Puller&>(self).done = true; };
  }
  void deliver(const Fabric::Inbound& message) override {
    damaged = message.header.data() == nullptr && message.remote == nullptr;
    if (message.remote != nullptr) fabric.pull_pieces(message.remote, *this, *this);
  }
  void use(std::span<const std::byte> piece, bool) override { used += piece.size(); }
  Fabric& fabric;
  std::size_t used = 0;
  bool damaged = false;
  bool done = false;
};

class RingOfANode : public testing::Test {
 protected:
  static constexpr std::uint64_t kSize = 1 << 20;

  RingOfANode() {
    std::barrier<> met(2);
    std::vector<std::string> words(2);
    const auto exchange_of = [&](std::size_t rank) {
      return [&, rank](const std::string& own) {
        words[rank] = own;
        met.arrive_and_wait();
        std::vector<std::string> all = words;
        met.arrive_and_wait();
        return all;
      };
    };
    std::thread other([&] { peer_.emplace(exchange_of(1)); });
    fabric_ = open_node_fabric(0, 2, 4 << 20, exchange_of(0));
    other.join();
    puller_.emplace(*fabric_);
  }
  /// Whether the fabric gives up the ring after this message, and only then.
  bool is_damaged_by(RawPeer::Kind kind, const RawPeer::Place& place) {
    while (fabric_->progress(*puller_) > 0) continue;
    EXPECT_FALSE(puller_->damaged);
    peer_->write(kind, place);
    while (fabric_->progress(*puller_) > 0) continue;
    return puller_->damaged;
  }

  std::optional<RawPeer> peer_;
  std::unique_ptr<ProcessFabric> fabric_;
  std::optional<Puller> puller_;
};

TEST_F(RingOfANode, IsGivenUpAfterTheEndOfAnUnknownOffer) {
  EXPECT_TRUE(is_damaged_by(RawPeer::kEnd, {.offer = 7}));
}

TEST_F(RingOfANode, IsGivenUpAfterAQuestionForPiecesOfAnUnknownOffer) {
  EXPECT_TRUE(is_damaged_by(RawPeer::kAsk, {.offer = 7}));
}

TEST_F(RingOfANode, IsGivenUpAfterAQuestionForPiecesOfAWholePayload) {
  const test::Buffer payload(kSize);
  Sent sent;
  fabric_->offer(1, {}, payload, sent);
  EXPECT_TRUE(is_damaged_by(RawPeer::kAsk, {.offer = 0}));
}

TEST_F(RingOfANode, IsGivenUpAfterAPieceOfAnUnknownPull) {
  EXPECT_TRUE(is_damaged_by(RawPeer::kPiece, {.size = 8, .pull = 3}));
}

TEST_F(RingOfANode, IsGivenUpAfterAQuestionForBytesOfAnUnknownOffer) {
  EXPECT_TRUE(is_damaged_by(RawPeer::kAskBytes, {.size = 8, .offer = 7}));
}

TEST_F(RingOfANode, IsGivenUpAfterAQuestionForBytesBesideAPayload) {
  const test::Buffer payload(kSize);
  Sent sent;
  fabric_->offer(1, {}, payload, sent);
  const auto begin = reinterpret_cast<std::uintptr_t>(payload.data());
  EXPECT_FALSE(is_damaged_by(RawPeer::kAskBytes, {.address = begin, .size = kSize}));
  EXPECT_FALSE(is_damaged_by(RawPeer::kAskBytes, {.address = begin + kSize - 1, .size = 1}));
  EXPECT_TRUE(is_damaged_by(RawPeer::kAskBytes, {.address = begin + kSize - 1, .size = 2}));
}

TEST_F(RingOfANode, IsGivenUpAfterAQuestionForBytesBeforeAPayload) {
  const test::Buffer payload(kSize);
  Sent sent;
  fabric_->offer(1, {}, payload, sent);
  EXPECT_TRUE(is_damaged_by(RawPeer::kAskBytes,
                            {.address = reinterpret_cast<std::uintptr_t>(payload.data()) - 8, .size = 8}));
}

TEST_F(RingOfANode, IsGivenUpAfterUnrequestedBytes) {
  EXPECT_TRUE(is_damaged_by(RawPeer::kBytes, {.size = 8}));
}

TEST_F(RingOfANode, IsGivenUpAfterAnUnknownKindOfMessage) {
  EXPECT_TRUE(is_damaged_by(RawPeer::kUnknown, {}));
}

TEST_F(RingOfANode, IsGivenUpAfterAPieceOfAnImpossibleSize) {
  const test::Buffer piece(kSize);
  const auto address = reinterpret_cast<std::uintptr_t>(piece.data());
  EXPECT_FALSE(is_damaged_by(RawPeer::kOffer, {.size = kSize}));
  EXPECT_FALSE(is_damaged_by(RawPeer::kPiece, {.address = address, .size = 1000}));
  EXPECT_EQ(puller_->used, 1000U);
  EXPECT_TRUE(is_damaged_by(RawPeer::kPiece, {.address = address, .size = kSize - 1000}));
  EXPECT_EQ(puller_->used, 1000U);
}

TEST_F(RingOfANode, IsGivenUpAfterAnEmptyPiece) {
  EXPECT_FALSE(is_damaged_by(RawPeer::kOffer, {.size = kSize}));
  EXPECT_TRUE(is_damaged_by(RawPeer::kPiece, {}));
}

TEST_F(RingOfANode, IsGivenUpAfterAPieceBeyondTheEnd) {
  const test::Buffer piece(kSize);
  EXPECT_FALSE(is_damaged_by(RawPeer::kOffer, {.size = 100}));
  EXPECT_TRUE(is_damaged_by(RawPeer::kPiece,
                            {.address = reinterpret_cast<std::uintptr_t>(piece.data()), .size = 101}));
  EXPECT_EQ(puller_->used, 0U);
}

}  // namespace
}  // namespace offramp::hostile_test
