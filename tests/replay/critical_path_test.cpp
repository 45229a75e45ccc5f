#include "lib/answers/replay/critical_path.hpp"

#include <gtest/gtest.h>

#include "lib/base/certificate.hpp"

namespace offramp {
namespace {

constexpr Time ns(std::int64_t count) {
  return Time::ns(count);
}

TEST(CriticalPath, FollowsTheLastMessageToItsSender) {
  std::vector<RankWaits> ranks(2);
  ranks[0].end = ns(60);
  ranks[1].waits = {{ns(10), ns(40), 8, 0}, {ns(30), ns(100), 64, 0}};
  ranks[1].end = ns(150);
  const auto path = critical_path(ranks);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->messages, 1U);
  EXPECT_EQ(path->in_messages, ns(70));
  EXPECT_EQ(path->on_ranks, ns(80));
  EXPECT_EQ(path->by_rank, (std::vector<Time>{ns(30), ns(50)}));
  ASSERT_EQ(path->longest.size(), 1U);
  EXPECT_EQ(path->longest[0].bytes, 64U);
}

TEST(CriticalPath, ReportsItsTimeOnSharedLinks) {
  std::vector<RankWaits> ranks(2);
  ranks[0].end = ns(60);
  // The second wait is longer than its message, whose receiver continued for another reason: the rest of the
  // wait does not count.
  ranks[1].waits = {{ns(10), ns(40), 8, 0, ns(20)}, {ns(60), ns(100), 64, 1, ns(70)}};
  ranks[1].end = ns(150);
  const auto path = critical_path(ranks);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->in_messages, ns(70));
  EXPECT_EQ(path->shared, ns(60));
  EXPECT_EQ(path->longest[0].shared, ns(40));
  EXPECT_EQ(path->longest[1].shared, ns(20));
}

TEST(CriticalPath, StaysOnTheRankWhereASendIsNotBeforeItsArrival) {
  std::vector<RankWaits> ranks(2);
  ranks[0].end = ns(95);
  ranks[1].waits = {{ns(90), ns(50), 8, 0}, {ns(10), ns(60), 8, 7}};  // the second from an invalid rank
  ranks[1].end = ns(100);
  const auto path = critical_path(ranks);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->messages, 0U);
  EXPECT_EQ(path->on_ranks, ns(100));
}

TEST(CriticalPath, IsUnknownWithoutRanks) {
  EXPECT_FALSE(critical_path({}));
}

TEST(CriticalPath, GoesToTheRankForWhichAMeetingWaited) {
  std::vector<RankWaits> ranks(2);
  ranks[0].end = ns(50);
  ranks[1].waits = {{ns(40), ns(40), 0, 0}};
  ranks[1].end = ns(100);
  const auto path = critical_path(ranks);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->messages, 0U);
  EXPECT_EQ(path->by_rank, (std::vector<Time>{ns(40), ns(60)}));
}

TEST(Certificate, DependsOnEveryWordAndOnTheirOrder) {
  const auto of = [](std::initializer_list<std::uint64_t> words) {
    Certificate certificate;
    certificate.note(words);
    certificate.note_time(ns(1));
    return certificate.of_run();
  };
  EXPECT_EQ(of({1, 2, 3}), of({1, 2, 3}));
  EXPECT_NE(of({1, 2, 3}), of({1, 3, 2}));
  EXPECT_NE(of({1, 2, 3}), of({1, 2}));
  EXPECT_NE(of({0}), of({0, 0}));
}

TEST(Certificate, DependsOnTimesForARunButNotForData) {
  Certificate fast;
  Certificate slow;
  const std::uint64_t zero[2] = {};
  fast.note_data(Certificate::digest(std::as_bytes(std::span(zero))));
  slow.note_data(Certificate::digest(std::as_bytes(std::span(zero))));
  fast.note_time(ns(1));
  slow.note_time(ns(2));
  EXPECT_EQ(fast.of_data(), slow.of_data());
  EXPECT_NE(fast.of_run(), slow.of_run());
  slow.note_data(0);
  EXPECT_NE(fast.of_data(), slow.of_data());
  EXPECT_NE(Certificate::digest(std::as_bytes(std::span(zero))),
            Certificate::digest(std::as_bytes(std::span(zero, 1))));
}

}  // namespace
}  // namespace offramp
