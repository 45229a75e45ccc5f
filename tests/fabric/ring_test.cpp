// The rings beside UCX: one ring by itself, and the rings of a node.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "lib/run/fabric/node_rings.hpp"
#include "tests/pattern.hpp"

namespace offramp {
namespace {

using State = RingReader::State;
using Bytes = test::Buffer;
using test::pattern;

/// Memory of exactly the size of a ring, so that a sanitizer sees what goes beyond it.
struct Ring {
  explicit Ring(std::size_t bytes) : words(new std::uint64_t[bytes / 8]()) {
    memory = {reinterpret_cast<std::byte*>(words.get()), bytes, &consumed};
  }
  std::unique_ptr<std::uint64_t[]> words;
  std::uint64_t consumed = 0;
  RingMemory memory;
};

bool equal(std::span<const std::byte> a, const Bytes& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

struct Sizes {
  explicit Sizes(std::size_t largest) : largest_payload(largest - RingWord::kBytes - Fabric::kMaxHeader) {}
  std::size_t largest_payload;
  std::size_t header(std::mt19937& random) const { return random() % (Fabric::kMaxHeader + 1); }
  std::size_t payload(std::mt19937& random) const {
    return random() % 4 == 0 ? random() % (largest_payload + 1) : random() % 64;
  }
};

TEST(SharedRing, IsEmptyAtFirst) {
  Ring ring(4096);
  RingReader reader(ring.memory);
  RingReader::RingMessage message;
  EXPECT_EQ(reader.look(message), State::kEmpty);
}

TEST(SharedRing, KeepsAMessageUntilItIsDone) {
  Ring ring(4096);
  RingWriter writer(ring.memory);
  RingReader reader(ring.memory);
  ASSERT_TRUE(writer.write(pattern(80, 1), pattern(13, 2), 7));
  RingReader::RingMessage message;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(reader.look(message), State::kMessage);
    EXPECT_TRUE(equal(message.header, pattern(80, 1)));
    EXPECT_TRUE(equal(message.payload, pattern(13, 2)));
    EXPECT_EQ(message.after, 7U);
  }
  reader.done(message);
  EXPECT_EQ(reader.look(message), State::kEmpty);
}

TEST(SharedRing, RefusesMessagesWhileItIsFull) {
  Ring ring(4096);
  RingWriter writer(ring.memory);
  RingReader reader(ring.memory);
  std::uint32_t written = 0;
  while (writer.write(pattern(80, written), pattern(100, written), written)) ++written;
  EXPECT_GE(written, 4096U / 192 - 1);
  RingReader::RingMessage message;
  for (std::uint32_t i = 0; i < written; ++i) {
    ASSERT_EQ(reader.look(message), State::kMessage);
    EXPECT_TRUE(equal(message.payload, pattern(100, i)));
    reader.done(message);
  }
  EXPECT_TRUE(writer.write({}, {}, 0));
}

TEST(SharedRing, HasRoomForTheLargestWhereverItIsInTheRing) {
  for (std::size_t before = 0; before < 4096; before += 8) {
    Ring ring(4096);
    RingWriter writer(ring.memory);
    RingReader reader(ring.memory);
    RingReader::RingMessage message;
    for (std::size_t at = 0; at < before; at += 8) {
      ASSERT_TRUE(writer.write({}, {}, 0));
      ASSERT_EQ(reader.look(message), State::kMessage);
      reader.done(message);
    }
    const Bytes largest = pattern(writer.largest() - RingWord::kBytes, 3);
    ASSERT_TRUE(writer.write({}, largest, 0)) << before;
    ASSERT_EQ(reader.look(message), State::kMessage);
    EXPECT_TRUE(equal(message.payload, largest));
  }
}

TEST(SharedRing, CarriesHeadersOfAllSizesThatDifferInAnyWords) {
  Ring ring(16384);
  RingWriter writer(ring.memory);
  RingReader reader(ring.memory);
  std::mt19937 random(9);
  Bytes header(Fabric::kMaxHeader);
  for (int i = 0; i < 5000; ++i) {
    for (std::size_t changes = random() % 6; changes > 0; --changes)
      header[random() % header.size()] = static_cast<std::byte>(random());
    const Bytes sent(header.begin(),
                     header.begin() + static_cast<std::ptrdiff_t>(random() % (header.size() + 1)));
    ASSERT_TRUE(writer.write(sent, pattern(3, 1), 0));
    RingReader::RingMessage message;
    ASSERT_EQ(reader.look(message), State::kMessage);
    ASSERT_TRUE(equal(message.header, sent)) << sent.size();
    ASSERT_TRUE(equal(message.payload, pattern(3, 1)));
    reader.done(message);
  }
}

TEST(SharedRing, TakesOneLineForAFewBytesWhoseHeaderChangesLittle) {
  Ring ring(4096);
  RingWriter writer(ring.memory);
  Bytes header = pattern(80, 1);
  ASSERT_TRUE(writer.write(header, pattern(8, 0), 0));
  std::uint32_t written = 1;
  for (; writer.write(header, pattern(8, 0), 0); ++written) {
    for (const std::size_t word : {1, 5, 12, 14, 18}) header[4 * word] ^= std::byte{0xff};
  }
  EXPECT_GE(written, 4096U / 64 - 4);  // the first message has only new words
}

TEST(SharedRing, CarriesMessagesOfAllSizesBetweenTwoThreads) {
  constexpr std::uint32_t kMessages = 20'000;
  Ring ring(16384);
  const Sizes sizes(RingWriter(ring.memory).largest());
  std::thread writing([&] {
    RingWriter writer(ring.memory);
    std::mt19937 random(1);
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      const Bytes header = pattern(sizes.header(random), i);
      const Bytes payload = pattern(sizes.payload(random), i + 1);
      while (!writer.write(header, payload, i)) std::this_thread::yield();
    }
  });
  RingReader reader(ring.memory);
  std::mt19937 random(1);
  std::uint32_t wrong = 0;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    RingReader::RingMessage message;
    while (reader.look(message) == State::kEmpty) std::this_thread::yield();
    const Bytes header = pattern(sizes.header(random), i);
    const Bytes payload = pattern(sizes.payload(random), i + 1);
    wrong += message.after == i && equal(message.header, header) && equal(message.payload, payload) ? 0 : 1;
    reader.done(message);
  }
  writing.join();
  EXPECT_EQ(wrong, 0U);
}

TEST(SharedRing, IsNotReadBeyondItsEndWhateverIsInIt) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    Ring ring(4096);
    for (std::size_t i = 0; i < 512; ++i) {
      // Words that look right more often than random ones would.
      const RingWord likely(random() % 600, random() % 5000, static_cast<std::uint32_t>(random()));
      ring.words[i] = random() % 4 == 0   ? random()
                      : random() % 8 == 0 ? RingWord::wrap().bits()
                                          : likely.bits();
    }
    RingReader reader(ring.memory);
    for (int i = 0; i < 1000; ++i) {
      RingReader::RingMessage message;
      if (reader.look(message) != State::kMessage) break;
      ASSERT_LE(message.header.size(), Fabric::kMaxHeader);
      ASSERT_GE(message.payload.data(), ring.memory.data);
      ASSERT_LE(message.payload.data() + message.payload.size(), ring.memory.data + ring.memory.bytes);
      reader.done(message);
    }
  }
}

/// The rings of several ranks, set up as in separate processes: all ranks do each step.
class Node {
  static constexpr double kRoom = 1 << 20;

 public:
  Node(const std::vector<std::vector<int>>& nodes, std::size_t ranks, std::vector<bool> blind = {})
      : rings_(ranks) {
    std::vector<std::string> segments(ranks);
    std::vector<std::string> verdicts(ranks);
    std::vector<std::thread> threads;
    std::mutex mutex;
    std::condition_variable met;
    std::size_t arrived = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      rings_[rank] = std::make_unique<NodeRings>();
      threads.emplace_back([&, rank] {
        std::size_t step = 0;
        const auto exchange = [&](const std::string& own) {
          std::vector<std::string>& all = step++ == 0 ? segments : verdicts;
          std::unique_lock lock(mutex);
          all[rank] = own;
          ++arrived;
          met.notify_all();
          met.wait(lock, [&] { return arrived >= step * ranks; });
          std::vector<std::string> seen = all;
          if (!blind.empty() && blind[rank]) seen[0] = "/offramp-there-is-none 65536";
          return seen;
        };
        rings_[rank]->open(nodes[rank], static_cast<int>(rank), kRoom, exchange);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  NodeRings& at(std::size_t rank) { return *rings_[rank]; }

 private:
  std::vector<std::unique_ptr<NodeRings>> rings_;
};

/// Counts messages without a header, by which a ring reports damage.
struct Refusals final : Fabric::Sink {
  void deliver(const Fabric::Inbound& message) override { count += message.header.empty() ? 1 : 0; }
  int count = 0;
};

std::vector<std::size_t> senders(NodeRings& rings) {
  std::vector<std::size_t> found;
  rings.for_each_sender([&](std::size_t index) { found.push_back(index); });
  return found;
}

TEST(NodeRings, LeadFromEachRankToEachOther) {
  Node node({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, 3);
  for (std::size_t from = 0; from < 3; ++from) {
    EXPECT_TRUE(node.at(from).join_all());
    EXPECT_EQ(node.at(from).self(), from);
    EXPECT_EQ(node.at(from).towards(from), nullptr);
    for (std::size_t to = 0; to < 3; ++to) {
      if (to == from) continue;
      RingWriter* const ring = node.at(from).towards(to);
      ASSERT_NE(ring, nullptr);
      ASSERT_TRUE(ring->write(pattern(8, static_cast<std::uint32_t>(10 * from + to)), {}, 0));
    }
  }
  for (std::size_t to = 0; to < 3; ++to) {
    EXPECT_EQ(senders(node.at(to)).size(), 2U);
    node.at(to).for_each_sender([&](std::size_t from) {
      Refusals refusals;
      EXPECT_TRUE(node.at(to).read(from, refusals, [&](const RingReader::RingMessage& message) {
        EXPECT_TRUE(equal(message.header, pattern(8, static_cast<std::uint32_t>(10 * from + to))));
        return NodeRings::Taken::kYes;
      }));
      EXPECT_EQ(refusals.count, 0);
    });
  }
}

TEST(NodeRings, ReadAMessageUntilItIsTakenAndStopAtDamage) {
  Node node({{0, 1}, {0, 1}}, 2);
  RingWriter* const ring = node.at(0).towards(1);
  ASSERT_NE(ring, nullptr);
  for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(ring->write(pattern(8, i), {}, i));
  Refusals refusals;
  std::vector<std::uint32_t> seen;
  const auto read = [&](NodeRings::Taken answer) {
    return node.at(1).read(0, refusals, [&](const RingReader::RingMessage& message) {
      seen.push_back(message.after);
      return answer;
    });
  };
  EXPECT_FALSE(read(NodeRings::Taken::kNotYet));
  EXPECT_TRUE(read(NodeRings::Taken::kYes));
  EXPECT_EQ(refusals.count, 0);
  EXPECT_FALSE(read(NodeRings::Taken::kDamaged));
  EXPECT_FALSE(read(NodeRings::Taken::kYes));
  EXPECT_EQ(refusals.count, 1);
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 0, 1}));
}

TEST(NodeRings, NameOnlyThoseSendersThatHaveWritten) {
  Node node({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, 3);
  EXPECT_TRUE(senders(node.at(0)).empty());
  ASSERT_NE(node.at(2).towards(0), nullptr);
  EXPECT_EQ(senders(node.at(0)), std::vector<std::size_t>{2});
}

TEST(NodeRings, CountAnnouncementsToEachRank) {
  Node node({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, 3);
  node.at(0).announce(1);
  node.at(2).announce(1);
  node.at(1).announce(0);
  EXPECT_EQ(node.at(0).announced(), 1U);
  EXPECT_EQ(node.at(1).announced(), 2U);
  EXPECT_EQ(node.at(2).announced(), 0U);
}

TEST(NodeRings, LeadNowhereFromARankThatIsAloneOnItsNode) {
  Node node({{0}, {1, 2}, {1, 2}}, 3);
  EXPECT_FALSE(node.at(0).join_all());
  EXPECT_FALSE(node.at(0).join(0));
  EXPECT_TRUE(node.at(1).join(1));
  EXPECT_TRUE(node.at(2).join(0));
}

TEST(NodeRings, LeaveOutARankThatCannotSeeTheMemory) {
  Node node({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, 3, {false, true, false});
  EXPECT_FALSE(node.at(1).join(0));
  EXPECT_FALSE(node.at(0).join(1));
  EXPECT_FALSE(node.at(0).join_all());
  EXPECT_TRUE(node.at(0).join(2));
  EXPECT_TRUE(node.at(2).join(0));
}

}  // namespace
}  // namespace offramp
