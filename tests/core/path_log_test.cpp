#include "lib/core/path_log.hpp"

#include <gtest/gtest.h>

#include "lib/core/certificate.hpp"

namespace offramp {
namespace {

constexpr Time ns(std::int64_t count) {
  return Time::ns(count);
}

TEST(CriticalPath, FollowsTheLastMessageToItsSender) {
  PathLog sender;
  PathLog receiver;
  sender.issued(1, ns(10));
  receiver.waited({ns(40), 8, 0, 1});
  sender.issued(2, ns(30));
  receiver.waited({ns(100), 64, 0, 2});
  const std::vector<std::string> logs = {sender.packed(ns(60)), receiver.packed(ns(150))};
  const auto path = critical_path(logs);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->messages, 1U);
  EXPECT_EQ(path->in_messages, ns(70));
  EXPECT_EQ(path->on_ranks, ns(80));
  EXPECT_EQ(path->by_rank, (std::vector<Time>{ns(30), ns(50)}));
  ASSERT_EQ(path->longest.size(), 1U);
  EXPECT_EQ(path->longest[0].bytes, 64U);
}

TEST(CriticalPath, StaysOnTheRankWhereASendIsNotBeforeItsArrival) {
  PathLog late;
  PathLog waiting;
  late.issued(1, ns(90));
  waiting.waited({ns(50), 8, 0, 1});
  waiting.waited({ns(60), 8, 7, 1});  // from a rank that is none
  const std::vector<std::string> logs = {late.packed(ns(95)), waiting.packed(ns(100))};
  const auto path = critical_path(logs);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->messages, 0U);
  EXPECT_EQ(path->on_ranks, ns(100));
}

TEST(CriticalPath, IsUnknownWhenALogIsNotCompleteOrNone) {
  PathLog full;
  full.issued(PathLog::kMost, ns(1));
  EXPECT_FALSE(full.complete());
  PathLog good;
  good.issued(1, ns(1));
  const std::string text = good.packed(ns(2));
  EXPECT_TRUE(critical_path(std::vector<std::string>{text}));
  EXPECT_FALSE(critical_path(std::vector<std::string>{text, full.packed(ns(1))}));
  EXPECT_FALSE(critical_path(std::vector<std::string>{text.substr(1)}));
  EXPECT_FALSE(critical_path(std::vector<std::string>{std::string(64, '\xff')}));
  EXPECT_FALSE(critical_path({}));
}

TEST(Certificate, DependsOnEveryWordAndOnTheirOrder) {
  const auto of = [](std::initializer_list<std::uint64_t> words) {
    Certificate certificate;
    certificate.note(words);
    certificate.note_time(0, ns(1));
    return certificate.of_lane(0);
  };
  EXPECT_EQ(of({1, 2, 3}), of({1, 2, 3}));
  EXPECT_NE(of({1, 2, 3}), of({1, 3, 2}));
  EXPECT_NE(of({1, 2, 3}), of({1, 2}));
  EXPECT_NE(of({0}), of({0, 0}));
}

TEST(Certificate, OfALaneDependsOnItsTimesAndThatOfDataDoesNot) {
  Certificate fast;
  Certificate slow;
  const std::uint64_t zero[2] = {};
  fast.note_data(Certificate::digest(std::as_bytes(std::span(zero))));
  slow.note_data(Certificate::digest(std::as_bytes(std::span(zero))));
  fast.note_time(1, ns(1));
  slow.note_time(1, ns(2));
  EXPECT_EQ(fast.of_data(), slow.of_data());
  EXPECT_EQ(fast.of_lane(0), slow.of_lane(0));
  EXPECT_NE(fast.of_lane(1), slow.of_lane(1));
  EXPECT_NE(Certificate::digest(std::as_bytes(std::span(zero))),
            Certificate::digest(std::as_bytes(std::span(zero, 1))));
}

}  // namespace
}  // namespace offramp
