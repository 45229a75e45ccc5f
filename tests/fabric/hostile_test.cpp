// An engine behind a real fabric whose peer sends anything: it drops and counts it, and goes on.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "lib/run/engine/engine.hpp"
#include "tests/core/support.hpp"
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

/// Counts the sends that are over.
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
    // Any size, the right size, and right but for one field; payloads that come along and that wait.
    test::Buffer header(i % 3 == 0 ? random() % Fabric::kMaxHeader : sizeof(Envelope));
    for (std::byte& b : header) b = static_cast<std::byte>(random());
    if (i % 3 == 2) {
      Envelope good;
      good.context = 77;
      good.source = 1;
      good.source_world = 1;
      good.bytes = random();  // not what comes
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

}  // namespace
}  // namespace offramp::hostile_test
