// Patterns: their notation, and the times of the simple ones.
#include "lib/programs/import/pattern.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

namespace offramp {
namespace {

using recording::Event;
using recording::EventKind;
using ::testing::HasSubstr;

class APattern : public ::testing::Test {
 protected:
  static Pattern parsed(const std::string& text) {
    Result<Pattern> pattern = parse_pattern(text);
    EXPECT_TRUE(pattern) << text << ": " << pattern.error();
    return *pattern;
  }
  static std::string with_number(const PatternKind& kind) {
    return fmt::format("pattern:{}{}", kind.name, kind.parameter.empty() ? "" : ":1");
  }
  ReplayResult replayed(const std::string& text) {
    const Pattern pattern = parsed(text);
    Result<WorldSetting> setting =
        world_setting(Configuration(), registry_, *registry_.find("host"), pattern.ranks);
    setting->check = true;
    const auto read = [&pattern](int rank) { return pattern.read(rank); };
    Result<ReplayResult> result = replay(*setting, {pattern.ranks, read});
    EXPECT_TRUE(result) << text << ": " << result.error();
    return std::move(*result);
  }
  double microseconds(const std::string& text) { return replayed(text).modelled_time.nanoseconds() / 1000; }

  Registry registry_{built_in_backends()};
  // us on a link of 100 Gb/s, with 82 bytes around each packet of 4096
  static constexpr double kMebibyte = 1048576 / 4096 * (4096 + 82) * 8 / 100e3;
  // us at most: a handshake, fetching the data, notifying the sender: 4 L + 4 o + 550 ns, and a packet over
  // PCIe
  static constexpr double kMessage = 6;
};

TEST_F(APattern, ComesToItsEndOnAnyNumberOfRanks) {
  for (const PatternKind& kind : pattern_kinds()) {
    for (int ranks = 2; ranks <= 13; ++ranks) {
      for (const char* bytes : {"0", "8", "1MiB"}) {
        const std::string text = fmt::format("{}:{}:{}:3", with_number(kind), ranks, bytes);
        const ReplayResult result = replayed(text);
        EXPECT_TRUE(result.unfinished.empty()) << text;
        if (!kind.has_collectives) {
          EXPECT_GT(result.messages, 0U) << text;
        }
      }
    }
  }
}

TEST_F(APattern, ReceivesEverySentMessage) {
  for (const PatternKind& kind : pattern_kinds()) {
    const Pattern pattern = parsed(with_number(kind) + ":12:4096:5");
    std::map<std::pair<int, int>, int> between;
    for (int rank = 0; rank < pattern.ranks; ++rank) {
      const std::unique_ptr<recording::Reader> reader = pattern.read(rank);
      for (Event event; reader->next(event);) {
        if (event.kind == EventKind::kSend) ++between[{rank, event.peer}];
        if (event.kind == EventKind::kReceive) --between[{event.peer, rank}];
      }
    }
    for (const auto& [pair, more] : between)
      EXPECT_EQ(more, 0) << kind.name << " " << pair.first << " to " << pair.second;
  }
}

TEST_F(APattern, TakesTheTimeOfAllMessagesToOneReceiver) {
  const double time = microseconds("pattern:incast:16:1MiB");
  EXPECT_GE(time, 15 * kMebibyte);
  EXPECT_LE(time, 15 * kMebibyte + kMessage);
}

TEST_F(APattern, TakesTheTimeOfOneMessageForDisjointPairs) {
  const double shift = microseconds("pattern:shift:1:16:1MiB");
  EXPECT_GE(shift, kMebibyte);
  EXPECT_LE(shift, kMebibyte + 2 * kMessage);
  for (int distance = 2; distance < 16; ++distance)
    EXPECT_EQ(microseconds(fmt::format("pattern:shift:{}:16:1MiB", distance)), shift);
  EXPECT_EQ(microseconds("pattern:bisection:16:1MiB"), shift);
}

TEST_F(APattern, GoesAroundOneAfterTheOther) {
  // Both have the same number of messages; at the end of each, the last sender is notified once.
  EXPECT_NEAR(microseconds("pattern:ring:16:1MiB"), microseconds("pattern:pingpong:16:1MiB:8"), 0.001);
  EXPECT_NEAR(microseconds("pattern:pingpong:2:8:1000"), 1000 * microseconds("pattern:pingpong:2:8"), 0.001);
}

TEST_F(APattern, WithAllIsBoundByEachLink) {
  const double time = microseconds("pattern:alltoall:16:1MiB");
  EXPECT_GE(time, 15 * kMebibyte);
  EXPECT_LE(time, 15 * kMebibyte + 2 * kMessage);
}

/// A ring that adds moves 2 (P - 1) / P of each bucket, and buckets share the link.
TEST_F(APattern, TakesTheTimeOfTheBytesInItsBuckets) {
  const double one = microseconds("pattern:data-parallel:1:8:16MiB");
  const double four = microseconds("pattern:data-parallel:4:8:16MiB");
  EXPECT_GE(one, 16 * kMebibyte * 2 * 7 / 8);
  EXPECT_GE(four, 4 * 16 * kMebibyte * 2 * 7 / 8);
  EXPECT_LE(four, 4 * one);
}

/// The last batch passes all stages forward, and then back.
TEST_F(APattern, FillsAndDrainsItsStages) {
  const double batch = microseconds("pattern:pipeline:1:8:1MiB");
  const double more = microseconds("pattern:pipeline:17:8:1MiB");
  EXPECT_GE(batch, 2 * 7 * kMebibyte);
  EXPECT_LE(batch, 2 * 7 * (kMebibyte + kMessage));
  // Once the pipeline is full, a batch leaves each stage in each direction right after the one before.
  EXPECT_GE(more - batch, 2 * 16 * kMebibyte);
  EXPECT_LE(more - batch, 2 * 16 * (kMebibyte + 2 * kMessage));
}

/// An expert sends back what it received, and each round has other destinations.
TEST(PatternOfExperts, SendsBackReceivedMessages) {
  const Pattern pattern = *parse_pattern("pattern:experts:5:6:1000:2");
  std::map<std::pair<int, int>, std::vector<std::uint64_t>> sent;
  std::map<std::pair<int, int>, std::vector<std::uint64_t>> received;
  std::uint64_t all = 0;
  for (int rank = 0; rank < pattern.ranks; ++rank) {
    const std::unique_ptr<recording::Reader> reader = pattern.read(rank);
    for (Event event; reader->next(event);) {
      const auto out = reader->list(event.list);
      const auto in = reader->list(event.second_list);
      ASSERT_EQ(out.size(), 6U);
      ASSERT_EQ(in.size(), 6U);
      for (int other = 0; other < pattern.ranks; ++other) {
        sent[{rank, other}].push_back(out[static_cast<std::size_t>(other)]);
        received[{other, rank}].push_back(in[static_cast<std::size_t>(other)]);
        all += out[static_cast<std::size_t>(other)];
      }
    }
  }
  EXPECT_EQ(sent, received);
  EXPECT_NE(sent.at({0, 1})[0], sent.at({0, 1})[2]);
  EXPECT_EQ(sent.at({0, 1})[0], sent.at({1, 0})[1]);
  EXPECT_NEAR(static_cast<double>(all) / (4 * 36), 1000, 150);
}

/// Every rank is in a row and a column of a grid of 3 by 4, whose members agree.
TEST(PatternOfPencils, CoversTheGrid) {
  const Pattern pattern = *parse_pattern("pattern:transpose3d:12:8:2");
  for (int rank = 0; rank < pattern.ranks; ++rank) {
    const std::unique_ptr<recording::Reader> reader = pattern.read(rank);
    std::vector<std::size_t> sizes;
    int collectives = 0;
    for (Event event; reader->next(event);) {
      if (event.kind == EventKind::kCollective) ++collectives;
      if (event.kind != EventKind::kCommunicator) continue;
      const auto members = reader->list(event.list);
      sizes.push_back(members.size());
      EXPECT_NE(std::find(members.begin(), members.end(), static_cast<std::uint64_t>(rank)), members.end());
    }
    EXPECT_THAT(sizes, ::testing::ElementsAre(3U, 4U));
    EXPECT_EQ(collectives, 4);
  }
}

TEST(PatternOfNeighbours, HasAsManyAsAreAskedFor) {
  const Pattern pattern = *parse_pattern("pattern:sparse:5:9:8");
  const std::unique_ptr<recording::Reader> reader = pattern.read(4);
  std::map<int, int> peers;
  for (Event event; reader->next(event);) {
    if (event.kind == EventKind::kSend) ++peers[event.peer];
  }
  EXPECT_EQ(peers.size(), 5U);
  EXPECT_EQ(peers.count(4), 0U);
}

TEST_F(APattern, IsDeterministicForASeed) {
  const double first = microseconds("pattern:random:1:16:1MiB:20");
  EXPECT_EQ(microseconds("pattern:random:1:16:1MiB:20"), first);
  EXPECT_NE(microseconds("pattern:random:2:16:1MiB:20"), first);
}

TEST(PatternText, TakesUnitsAndRounds) {
  const Result<Pattern> pattern = parse_pattern("pattern:shift:3:1024:64KiB:10");
  ASSERT_TRUE(pattern);
  EXPECT_EQ(pattern->kind->name, "shift");
  EXPECT_EQ(pattern->parameter, 3U);
  EXPECT_EQ(pattern->ranks, 1024);
  EXPECT_EQ(pattern->bytes, 65536U);
  EXPECT_EQ(pattern->rounds, 10);
}

TEST(PatternText, NamesTheError) {
  const std::pair<const char*, const char*> cases[] = {
      {"pattern:", "unknown pattern"},
      {"pattern:incst:4:8", "did you mean \"incast\""},
      {"pattern:incast", "incast:RANKS:BYTES[:ROUNDS]"},
      {"pattern:incast:4", "incast:RANKS:BYTES[:ROUNDS]"},
      {"pattern:incast:4:8:1:1", "incast:RANKS:BYTES[:ROUNDS]"},
      {"pattern:shift:4:8", "shift:DISTANCE:RANKS:BYTES[:ROUNDS]"},
      {"pattern:incast:1:8", "\"1\" is not a valid number of ranks"},
      {"pattern:incast:-4:8", "\"-4\" is not a valid number of ranks"},
      {"pattern:incast:2000000:8", "\"2000000\" is not a valid number of ranks"},
      {"pattern:incast:4:x", "\"x\" is not a valid number of bytes"},
      {"pattern:incast:4:0.5", "\"0.5\" is not a valid number of bytes"},
      {"pattern:incast:4:8:0", "\"0\" is not a valid number of rounds"},
      {"pattern:shift::4:8", "\"\" is not a valid DISTANCE"},
      {"pattern:data-parallel:65537:4:8", "\"65537\" is not a valid BUCKETS"},
      {"pattern:sparse:4:4:8", "4 neighbours, but there are only 3 other ranks"}};
  for (const auto& [text, reason] : cases) {
    const Result<Pattern> pattern = parse_pattern(text);
    ASSERT_FALSE(pattern) << text;
    EXPECT_THAT(pattern.error(), HasSubstr(reason));
  }
}

}  // namespace
}  // namespace offramp
