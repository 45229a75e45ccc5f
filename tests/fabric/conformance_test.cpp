// The guarantees of Fabric, checked on every fabric.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "tests/fabric/worlds.hpp"
#include "tests/pattern.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::pattern;

constexpr std::size_t kEager = 1024;     // "small" on every fabric
constexpr std::size_t kLarge = 4 << 20;  // stays at the sender on every fabric

/// A waiter that records its notification; also owns the header, which has to live as long.
struct Sent : FabricWaiter {
  std::vector<std::uint32_t> header;
  Buffer payload;
  Fabric::State state = Fabric::State::kPending;
  bool notified = false;
  [[nodiscard]] bool done() const { return state == Fabric::State::kDone || notified; }
};

struct Pulled : FabricWaiter {
  Buffer into;
  bool done = false;
};

/// One rank: its fabric and what has arrived.
class Rank final : public Fabric::Sink {
 public:
  struct Message {
    std::vector<std::uint32_t> header;
    Buffer payload;
    std::size_t size = 0;
    void* remote = nullptr;
  };

  explicit Rank(Fabric& fabric) : fabric_(fabric) {}

  using Start = Fabric::State (Fabric::*)(int peer, std::span<const std::byte> header,
                                          std::span<const std::byte> payload, FabricWaiter& waiter);
  Sent& send(int to, std::vector<std::uint32_t> header, Buffer payload, Start start = &Fabric::send) {
    Sent& sent = new_send(std::move(header));
    sent.payload = std::move(payload);
    const Fabric::State state =
        (fabric_.*start)(to, std::as_bytes(std::span(sent.header)), sent.payload, sent);
    EXPECT_FALSE(sent.notified) << "the callback came from inside send()";
    sent.state = state;
    return sent;
  }

  Sent& offer_pieces(int to, std::vector<std::uint32_t> header, PieceSource& source, std::size_t bytes) {
    Sent& sent = new_send(std::move(header));
    sent.state = fabric_.offer_pieces(to, std::as_bytes(std::span(sent.header)), source, bytes, sent);
    EXPECT_FALSE(sent.notified) << "the callback came from inside offer_pieces()";
    return sent;
  }

  /// sink: receives the payload in pieces.
  Pulled& pull(Message& message, PieceSink* sink = nullptr) {
    pulled_.push_back(std::make_unique<Pulled>());
    Pulled& pulled = *pulled_.back();
    pulled.into.resize(message.size);
    pulled.notify = [](FabricWaiter& waiter, bool ok) {
      EXPECT_TRUE(ok);
      static_cast<Pulled&>(waiter).done = true;
    };
    void* const remote = std::exchange(message.remote, nullptr);
    const Fabric::State state = sink != nullptr ? fabric_.pull_pieces(remote, *sink, pulled)
                                                : fabric_.pull(remote, pulled.into, pulled);
    EXPECT_NE(state, Fabric::State::kFailed);
    EXPECT_FALSE(pulled.done) << "the callback came from inside pull()";
    pulled.done = state == Fabric::State::kDone;
    return pulled;
  }

  void deliver(const Fabric::Inbound& inbound) override {
    Message message;
    message.header.resize(inbound.header.size() / 4);
    std::memcpy(message.header.data(), inbound.header.data(), inbound.header.size());
    message.size = inbound.size;
    message.remote = inbound.remote;
    if (inbound.remote == nullptr && inbound.size > 0)
      message.payload.assign(inbound.data, inbound.data + inbound.size);
    EXPECT_TRUE(inbound.remote == nullptr || inbound.data == nullptr);
    messages.push_back(std::move(message));
    if (on_message) on_message(messages.back());
  }

  int progress() { return fabric_.progress(*this); }
  Fabric& fabric() { return fabric_; }

  std::vector<Message> messages;
  std::function<void(Message&)> on_message;

 private:
  Sent& new_send(std::vector<std::uint32_t> header) {
    sent_.push_back(std::make_unique<Sent>());
    Sent& sent = *sent_.back();
    sent.header = std::move(header);
    sent.notify = [](FabricWaiter& waiter, bool ok) {
      auto& self = static_cast<Sent&>(waiter);
      EXPECT_TRUE(ok);
      EXPECT_FALSE(self.done()) << "two callbacks";
      self.notified = true;
    };
    return sent;
  }

  Fabric& fabric_;
  std::vector<std::unique_ptr<Sent>> sent_;
  std::vector<std::unique_ptr<Pulled>> pulled_;
};

template <typename World>
class EveryFabric : public testing::Test {
 protected:
  static constexpr int kRanks = 3;

  void SetUp() override {
    if (!World::available()) GTEST_SKIP() << "the fabric's module is not there";
    world_ = std::make_unique<World>(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) ranks_.push_back(std::make_unique<Rank>(world_->at(rank)));
  }
  void TearDown() override {
    if (world_ != nullptr) close();
  }
  void close() {
    for (int rank = 0; rank < kRanks; ++rank) world_->close(rank, *ranks_[static_cast<std::size_t>(rank)]);
  }
  Rank& rank(int index) { return *ranks_[static_cast<std::size_t>(index)]; }

  /// Progresses all ranks (or one alone) until the condition is true; returns false after a time limit. The
  /// limit is long because under valgrind a message through shared memory has taken 20 s, mostly 2 s.
  template <typename Condition>
  bool until(Condition condition, Rank* alone = nullptr) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(3);
    for (int turn = 1; !condition(); ++turn) {
      for (auto& one : ranks_) {
        if (alone == nullptr || alone == one.get()) one->progress();
      }
      if (turn % 1000 == 0 && std::chrono::steady_clock::now() > end) return false;
    }
    return true;
  }
  void idle_turns(Rank& one) {
    for (int turn = 0; turn < 2000; ++turn) one.progress();
  }
  /// A message that stayed at the sender, pulled by the receiver.
  Rank::Message& large_message(int from, int to, std::uint32_t seed, Sent*& sent) {
    sent = &rank(from).send(to, {seed}, pattern(kLarge, seed));
    EXPECT_TRUE(
        until([&] { return !rank(to).messages.empty() && rank(to).messages.back().header[0] == seed; }));
    EXPECT_NE(rank(to).messages.back().remote, nullptr);
    return rank(to).messages.back();
  }

 private:
  std::unique_ptr<World> world_;  // outlives the ranks
  std::vector<std::unique_ptr<Rank>> ranks_;
};

class FabricNames {
 public:
  template <typename World>
  static std::string GetName(int) {
    if (std::is_same_v<World, test::NodeWorld>) return "Node";
    if (std::is_same_v<World, test::MemoryWorld>) return "Memory";
    if (std::is_same_v<World, test::ShuffledMemoryWorld>) return "ShuffledMemory";
    if (std::is_same_v<World, test::UcxThroughSharedMemory>) return "UcxThroughSharedMemory";
    if (std::is_same_v<World, test::UcxWithCrossMemory>) return "UcxWithCrossMemory";
    if (std::is_same_v<World, test::UcxOverTheNetwork>) return "UcxOverTheNetwork";
    if (std::is_same_v<World, test::UcxBesideRings>) return "UcxBesideRings";
    if (std::is_same_v<World, test::UcxAcrossNodesBesideRings>) return "UcxAcrossNodesBesideRings";
    return "UcxAcrossNodes";
  }
};
using Worlds = testing::Types<test::NodeWorld, test::MemoryWorld, test::ShuffledMemoryWorld,
                              test::UcxThroughSharedMemory, test::UcxWithCrossMemory, test::UcxOverTheNetwork,
                              test::UcxBesideRings, test::UcxAcrossNodesBesideRings, test::UcxAcrossNodes>;
TYPED_TEST_SUITE(EveryFabric, Worlds, FabricNames);

TYPED_TEST(EveryFabric, KnowsItsRanks) {
  for (int rank = 0; rank < this->kRanks; ++rank) {
    EXPECT_EQ(this->rank(rank).fabric().rank(), rank);
    EXPECT_EQ(this->rank(rank).fabric().ranks(), this->kRanks);
  }
}

TYPED_TEST(EveryFabric, CarriesPayloadsOfEverySizeAroundTheThresholds) {
  std::vector<std::size_t> sizes = {0};
  for (std::size_t power = 1; power <= kLarge; power *= 4) {
    for (const std::size_t size : {power - 1, power, power + 1}) sizes.push_back(size);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto seed = static_cast<std::uint32_t>(i);
    const Buffer data = pattern(sizes[i], seed);
    Sent& sent = this->rank(0).send(1, {seed, 7}, data);
    ASSERT_TRUE(this->until([&] { return this->rank(1).messages.size() == i + 1; })) << sizes[i];
    Rank::Message& got = this->rank(1).messages.back();
    EXPECT_EQ(got.header, (std::vector<std::uint32_t>{seed, 7}));
    ASSERT_EQ(got.size, sizes[i]);
    if (got.remote != nullptr) {
      Pulled& pulled = this->rank(1).pull(got);
      ASSERT_TRUE(this->until([&] { return pulled.done; }));
      got.payload = pulled.into;
    }
    EXPECT_TRUE(got.payload == data) << sizes[i];
    ASSERT_TRUE(this->until([&] { return sent.done(); })) << sizes[i];
  }
}

/// Makes pieces of growing size.
struct Steps final : PieceSource {
  std::size_t make(std::span<std::byte> room) override {
    const std::size_t size = std::min({room.size(), data.size() - at, std::size_t{1} + at / 2});
    std::copy_n(data.data() + at, size, room.data());
    at += size;
    return size;
  }
  Buffer data;
  std::size_t at = 0;
};

struct Collected final : PieceSink {
  void use(std::span<const std::byte> piece, bool is_last) override {
    EXPECT_FALSE(ended);
    data.insert(data.end(), piece.begin(), piece.end());
    ended = is_last;
  }
  Buffer data;
  bool ended = false;
};

/// Payloads in pieces, which the fabric of one node supports.
class InPieces : public EveryFabric<test::NodeWorld> {
 protected:
  void carry_payloads();
};

void InPieces::carry_payloads() {
  const Buffer data = pattern(3 * kLarge + 5, 1);
  ASSERT_TRUE(rank(0).fabric().has_pieces(1));
  for (const auto& [made, used] : {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
    SCOPED_TRACE(testing::Message() << "made in pieces: " << made << ", used in pieces: " << used);
    Steps source;
    source.data = data;
    Collected sink;
    Sent& sent =
        made ? rank(0).offer_pieces(1, {7}, source, data.size()) : rank(0).send(1, {7}, data, &Fabric::offer);
    ASSERT_TRUE(until([&] { return !rank(1).messages.empty(); }));
    Rank::Message& got = rank(1).messages.back();
    ASSERT_EQ(got.size, data.size());
    Pulled& pulled = rank(1).pull(got, used ? &sink : nullptr);
    ASSERT_TRUE(until([&] { return pulled.done && sent.done(); }));
    EXPECT_TRUE((used ? sink.data : pulled.into) == data);
    EXPECT_EQ(sink.ended, used);
    rank(1).messages.clear();
  }
}

TEST_F(InPieces, CarriesPayloads) {
  carry_payloads();
}

/// Refuses copies for this thread alone, as for a program that drops its privileges.
void refuse_copies_between_processes() {
  const sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{std::size(program), const_cast<sock_filter*>(program)};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
  char byte = 0;
  iovec own{&byte, 1};
  ASSERT_EQ(process_vm_readv(getpid(), &own, 1, &own, 1, 0), -1);
}

TEST_F(InPieces, CarriesPayloadsThatTheKernelDoesNotCopy) {
  std::thread([this] {
    refuse_copies_between_processes();
    carry_payloads();
  }).join();
}

TEST_F(InPieces, MayDropAPayload) {
  Steps source;
  Sent& sent = rank(0).offer_pieces(1, {7}, source, kLarge);
  ASSERT_TRUE(until([&] { return !rank(1).messages.empty(); }));
  rank(1).fabric().drop(rank(1).messages.back().remote);
  EXPECT_TRUE(until([&] { return sent.done(); }));
}

/// The transport chooses the sizes from which a message takes several fragments or stays at the sender.
TYPED_TEST(EveryFabric, CarriesPayloadsOfAllSizesInBetween) {
  const Buffer data = pattern(70'000, 3);
  std::uint32_t expected = 0;
  for (std::size_t size = 1; size<data.size(); size += size> 8'000 && size < 65'000 ? 61 : 7) {
    const Sent& sent = this->rank(0).send(
        1, {expected++}, Buffer(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size)));
    ASSERT_TRUE(this->until([&] { return this->rank(1).messages.size() == 1; })) << size;
    Rank::Message& got = this->rank(1).messages.back();
    ASSERT_EQ(got.size, size);
    if (got.remote != nullptr) {
      Pulled& pulled = this->rank(1).pull(got);
      ASSERT_TRUE(this->until([&] { return pulled.done; })) << size;
      got.payload = pulled.into;
    }
    ASSERT_TRUE(std::equal(got.payload.begin(), got.payload.end(), data.begin())) << size;
    ASSERT_TRUE(this->until([&] { return sent.done(); })) << size;
    this->rank(1).messages.clear();
  }
}

TYPED_TEST(EveryFabric, CarriesHeadersUpToTheLargest) {
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{80}, std::size_t{304}, Fabric::kMaxHeader}) {
    for (const std::size_t payload : {std::size_t{0}, kEager, kLarge}) {
      std::vector<std::uint32_t> header(bytes / 4);
      for (std::size_t i = 0; i < header.size(); ++i) header[i] = static_cast<std::uint32_t>(i * 77 + bytes);
      const std::size_t before = this->rank(1).messages.size();
      Sent& sent = this->rank(0).send(1, header, Buffer(payload));
      ASSERT_TRUE(this->until([&] { return this->rank(1).messages.size() > before; }));
      Rank::Message& message = this->rank(1).messages.back();
      EXPECT_EQ(message.header, header);
      const Pulled* pulled = message.remote != nullptr ? &this->rank(1).pull(message) : nullptr;
      ASSERT_TRUE(this->until([&] { return sent.done() && (pulled == nullptr || pulled->done); }));
    }
  }
}

TYPED_TEST(EveryFabric, KeepsTheOrderOfEachPair) {
  constexpr std::uint32_t kMessages = 400;
  std::mt19937 random(5);
  std::vector<Sent*> sent;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const std::size_t sizes[] = {0, 8, 1000, 9000, 20000, 70000};
    for (const int from : {0, 2})
      sent.push_back(
          &this->rank(from).send(1, {static_cast<std::uint32_t>(from), i}, pattern(sizes[random() % 6], i)));
    if (random() % 8 == 0) this->rank(1).progress();
  }
  auto& messages = this->rank(1).messages;
  ASSERT_TRUE(this->until([&] { return messages.size() == 2 * kMessages; }));
  std::map<std::uint32_t, std::uint32_t> next;
  for (const Rank::Message& message : messages) EXPECT_EQ(message.header[1], next[message.header[0]]++);
  // Payloads that stayed at the senders may be pulled in any order.
  std::vector<Rank::Message*> order;
  for (Rank::Message& message : messages) order.push_back(&message);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::pair<Pulled*, std::uint32_t>> pulled;
  for (Rank::Message* message : order) {
    if (message->remote == nullptr) {
      EXPECT_TRUE(message->payload == pattern(message->size, message->header[1]));
    } else {
      pulled.emplace_back(&this->rank(1).pull(*message), message->header[1]);
    }
  }
  for (const auto& [one, seed] : pulled) {
    ASSERT_TRUE(this->until([&, waited = one] { return waited->done; }));
    EXPECT_TRUE(one->into == pattern(one->into.size(), seed));
  }
  ASSERT_TRUE(this->until(
      [&] { return std::all_of(sent.begin(), sent.end(), [](const Sent* s) { return s->done(); }); }));
}

/// More messages than any queue has room for, before the receiver reads any: small ones, with larger ones in
/// between.
TYPED_TEST(EveryFabric, KeepsTheOrderOfMoreThanThereIsRoomFor) {
  constexpr std::uint32_t kMessages = 5000;
  std::vector<Sent*> sent;
  for (std::uint32_t i = 0; i < kMessages; ++i)
    sent.push_back(&this->rank(0).send(1, {i}, pattern(i % 500 == 499 ? 20000 : 100, i)));
  auto& messages = this->rank(1).messages;
  ASSERT_TRUE(this->until([&] { return messages.size() == kMessages; }));
  for (std::uint32_t i = 0; i < kMessages; ++i) ASSERT_EQ(messages[i].header[0], i);
  for (Rank::Message& message : messages) {
    if (message.remote == nullptr) {
      ASSERT_TRUE(message.payload == pattern(message.size, message.header[0]));
    } else {
      Pulled& pulled = this->rank(1).pull(message);
      ASSERT_TRUE(this->until([&] { return pulled.done; }));
      ASSERT_TRUE(pulled.into == pattern(message.size, message.header[0]));
    }
  }
  ASSERT_TRUE(this->until(
      [&] { return std::all_of(sent.begin(), sent.end(), [](const Sent* s) { return s->done(); }); }));
}

TYPED_TEST(EveryFabric, LetsSmallMessagesGoWithoutThePeer) {
  // UCX connects fully with the first message that does not fit into one element of a queue, which needs the
  // peer once.
  Sent& first = this->rank(0).send(1, {1}, Buffer(8000));
  ASSERT_TRUE(this->until([&] { return first.done() && this->rank(1).messages.size() == 1; }));
  for (int turn = 0; turn < 2000; ++turn) {
    this->rank(0).progress();
    this->rank(1).progress();
  }
  for (std::uint32_t i = 0; i < 10; ++i) {
    Sent& sent = this->rank(0).send(1, {i}, pattern(kEager, i));
    EXPECT_TRUE(this->until([&] { return sent.done(); }, &this->rank(0))) << i;
    std::fill(sent.payload.begin(), sent.payload.end(), std::byte{0});  // the sender may reuse the buffer
    std::fill(sent.header.begin(), sent.header.end(), 0xffffffffU);
  }
  ASSERT_TRUE(this->until([&] { return this->rank(1).messages.size() == 11; }));
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(this->rank(1).messages[i + 1].header[0], i);
    EXPECT_TRUE(this->rank(1).messages[i + 1].payload == pattern(kEager, i));
  }
}

TYPED_TEST(EveryFabric, KeepsLargePayloadsUntilTheyArePulled) {
  Sent* sent = nullptr;
  Rank::Message& message = this->large_message(0, 1, 9, sent);
  this->idle_turns(this->rank(0));
  this->idle_turns(this->rank(1));
  EXPECT_FALSE(sent->done());
  Pulled& pulled = this->rank(1).pull(message);
  ASSERT_TRUE(this->until([&] { return pulled.done && sent->done(); }));
  EXPECT_TRUE(pulled.into == sent->payload);
}

TYPED_TEST(EveryFabric, KeepsOfferedPayloadsOfAnySizeUntilTheyArePulledOrDropped) {
  for (const int to : {1, 0}) {
    for (const std::size_t size : {std::size_t{2049}, kEager, std::size_t{65536}, kLarge}) {
      Rank& receiver = this->rank(to);
      receiver.messages.clear();
      std::vector<Sent*> sent;
      for (std::uint32_t i = 0; i < 3; ++i)
        sent.push_back(
            &this->rank(0).send(to, {i}, pattern(size, i), i == 1 ? &Fabric::send : &Fabric::offer));
      ASSERT_TRUE(this->until([&] { return receiver.messages.size() == 3; }));
      for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(receiver.messages[i].header[0], i) << "in order";
      this->idle_turns(this->rank(0));
      EXPECT_FALSE(sent[0]->done() || sent[2]->done()) << size;
      ASSERT_NE(receiver.messages[0].remote, nullptr);
      ASSERT_NE(receiver.messages[2].remote, nullptr);
      if (receiver.messages[1].remote != nullptr)
        receiver.fabric().drop(std::exchange(receiver.messages[1].remote, nullptr));
      Pulled& pulled = receiver.pull(receiver.messages[2]);
      receiver.fabric().drop(std::exchange(receiver.messages[0].remote, nullptr));
      ASSERT_TRUE(this->until([&] { return pulled.done && sent[0]->done() && sent[2]->done(); }));
      EXPECT_TRUE(pulled.into == sent[2]->payload) << size;
    }
  }
}

TYPED_TEST(EveryFabric, NotifiesTheSenderOfADroppedPayload) {
  Sent* sent = nullptr;
  Rank::Message& message = this->large_message(0, 1, 9, sent);
  EXPECT_FALSE(sent->done());
  this->rank(1).fabric().drop(std::exchange(message.remote, nullptr));
  EXPECT_FALSE(sent->notified) << "the callback came from inside drop()";
  EXPECT_TRUE(this->until([&] { return sent->done(); }));
}

TYPED_TEST(EveryFabric, LetsTheReceiverPullOrDropFromInsideDeliver) {
  std::vector<Pulled*> pulled;
  this->rank(1).on_message = [&](Rank::Message& message) {
    if (message.remote == nullptr) return;
    if (message.header[0] % 2 == 0) {
      pulled.push_back(&this->rank(1).pull(message));
    } else {
      this->rank(1).fabric().drop(std::exchange(message.remote, nullptr));
    }
  };
  std::vector<Sent*> sent;
  for (std::uint32_t i = 0; i < 40; ++i)
    sent.push_back(&this->rank(0).send(1, {i}, pattern(i < 30 ? 100000 : kLarge, i)));
  ASSERT_TRUE(this->until(
      [&] { return std::all_of(sent.begin(), sent.end(), [](const Sent* s) { return s->done(); }); }));
  ASSERT_TRUE(this->until(
      [&] { return std::all_of(pulled.begin(), pulled.end(), [](const Pulled* p) { return p->done; }); }));
  for (std::size_t i = 0; i < pulled.size(); ++i)
    EXPECT_TRUE(pulled[i]->into == pattern(pulled[i]->into.size(), static_cast<std::uint32_t>(2 * i)));
}

TYPED_TEST(EveryFabric, LetsTheReceiverSendFromInsideDeliver) {
  constexpr std::uint32_t kHops = 300;
  std::uint32_t reached = 0;
  for (const int self : {0, 1}) {
    this->rank(self).on_message = [&, self](Rank::Message& message) {
      reached = message.header[0];
      if (message.remote != nullptr) this->rank(self).pull(message);
      if (reached == kHops) return;
      this->rank(self).send(1 - self, {reached + 1}, Buffer(reached % 10 == 0 ? 100000 : 16));
    };
  }
  this->rank(0).send(1, {1}, Buffer(16));
  EXPECT_TRUE(this->until([&] { return reached == kHops; }));
  bool idle = false;
  EXPECT_TRUE(this->until([&] { return std::exchange(idle, true); }));
}

TYPED_TEST(EveryFabric, CarriesMessagesToItself) {
  for (const std::size_t size : {std::size_t{0}, kEager, std::size_t{8192}, std::size_t{8193}, kLarge}) {
    for (const bool wanted : {true, false}) {
      const auto seed = static_cast<std::uint32_t>(size);
      Rank& self = this->rank(2);
      self.messages.clear();
      Sent& sent = self.send(2, {seed}, pattern(size, seed));
      ASSERT_TRUE(this->until([&] { return self.messages.size() == 1; }));
      Rank::Message& message = self.messages.back();
      if (message.remote == nullptr) {
        EXPECT_TRUE(message.payload == sent.payload);
      } else if (wanted) {
        EXPECT_FALSE(sent.done());
        Pulled& pulled = self.pull(message);
        EXPECT_FALSE(sent.notified) << "the callback came from inside pull()";
        ASSERT_TRUE(this->until([&] { return pulled.done; }));
        EXPECT_TRUE(pulled.into == sent.payload);
      } else {
        self.fabric().drop(std::exchange(message.remote, nullptr));
      }
      EXPECT_TRUE(this->until([&] { return sent.done(); }));
    }
  }
}

TYPED_TEST(EveryFabric, ClosesWhileAnUnwantedPayloadWaits) {
  Sent* sent = nullptr;
  Rank::Message& message = this->large_message(0, 1, 9, sent);
  Sent* unseen = &this->rank(2).send(1, {1}, Buffer(kLarge));
  this->close();
  EXPECT_FALSE(sent->notified);
  EXPECT_FALSE(unseen->notified);
  this->rank(1).fabric().drop(std::exchange(message.remote, nullptr));  // as an engine does at its end
}

TYPED_TEST(EveryFabric, ClosesAfterATrafficOfEveryPair) {
  for (int from = 0; from < this->kRanks; ++from) {
    for (int to = 0; to < this->kRanks; ++to) {
      for (std::uint32_t i = 0; i < 50; ++i) this->rank(from).send(to, {i}, Buffer(i * 40));
    }
  }
  ASSERT_TRUE(this->until([&] {
    std::size_t count = 0;
    for (int i = 0; i < this->kRanks; ++i) count += this->rank(i).messages.size();
    return count == 450;
  }));
}

}  // namespace
}  // namespace offramp
