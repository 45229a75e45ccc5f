#include "offramp/kernel/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace offramp {
namespace {

using Queue = EventQueue<int>;

std::vector<int> drained(Queue& queue) {
  std::vector<int> events;
  while (!queue.empty()) events.push_back(queue.pop().event);
  return events;
}

TEST(EventQueue, GivesTheEarliestFirst) {
  Queue queue;
  queue.push(Time::ps(30), 0, 3);
  queue.push(Time::ps(10), 0, 1);
  queue.push(Time::ps(20), 0, 2);
  EXPECT_EQ(queue.next()->at, Time::ps(10));
  EXPECT_EQ(drained(queue), (std::vector{1, 2, 3}));
  EXPECT_EQ(queue.next(), nullptr);
}

TEST(EventQueue, OrdersSimultaneousEventsByRankAndThenByInsertion) {
  Queue queue;
  for (const auto& [rank, event] : {std::pair{2u, 5}, {1u, 3}, {0u, 1}, {1u, 4}, {0u, 2}})
    queue.push(Time::ps(7), rank, event);
  EXPECT_EQ(drained(queue), (std::vector{1, 2, 3, 4, 5}));
}

TEST(EventQueue, IsEmptyAfterClearAndOrdersAsANewOne) {
  Queue queue;
  for (int i = 0; i < 1000; ++i) queue.push(Time::ps(i * 1000), 0, i);
  queue.pop();
  queue.clear();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next(), nullptr);
  queue.push(Time::ps(2), 0, 2);
  queue.push(Time::ps(1), 0, 1);
  EXPECT_EQ(drained(queue), (std::vector{1, 2}));
}

TEST(EventQueue, TakesTheLatestTime) {
  Queue queue;
  const Time latest = Time::ps((std::int64_t{1} << 62) - 1);
  for (int i = 0; i < 200; ++i) queue.push(i % 2 == 0 ? latest : Time::ps(i), 0, i);
  for (int i = 0; i < 100; ++i) EXPECT_LT(queue.pop().at, latest);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(queue.pop().at, latest);
}

TEST(EventQueue, ShowsUpcomingEventsInOrder) {
  Queue queue;
  constexpr int kEvents = 1000;
  for (int i = 0; i < kEvents; ++i)
    queue.push(Time::ps((i * 7919 % kEvents) * 1000 + 1), 0, i * 7919 % kEvents);
  std::size_t most = 0;
  for (int due = 0; due < kEvents; ++due) {
    ASSERT_NE(queue.next(), nullptr);
    std::size_t seen = 0;
    for (; queue.upcoming(seen) != nullptr; ++seen)
      EXPECT_EQ(queue.upcoming(seen)->event, due + static_cast<int>(seen));
    most = std::max(most, seen);
    EXPECT_EQ(queue.pop().event, due);
  }
  EXPECT_GE(most, 8U);
  EXPECT_EQ(queue.upcoming(0), nullptr);
}

TEST(EventQueue, OrdersEventsPushedAmongTheNextOnes) {
  Queue queue;
  for (int i = 0; i < 100; ++i) queue.push(Time::ps(i * 10), 0, i * 10);
  EXPECT_EQ(queue.pop().event, 0);
  for (const int event : {15, 5, 8, 995}) queue.push(Time::ps(event), 0, event);
  EXPECT_EQ(queue.next()->event, 5);
  std::vector<int> events = drained(queue);
  EXPECT_TRUE(std::is_sorted(events.begin(), events.end()));
  EXPECT_EQ(events.size(), 103U);
}

/// The distance of a simulation's next event, in ps.
struct Shape {
  const char* name;
  std::int64_t (*ahead)(std::mt19937_64&);
};

class EventQueueBesideASet : public testing::TestWithParam<Shape> {};

/// The usage by a simulation: each event creates others, from its own time on.
TEST_P(EventQueueBesideASet, HasTheOrderOfTheSet) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    Queue queue;
    std::set<std::tuple<std::int64_t, std::uint32_t, int>> set;
    int number = 0;
    std::int64_t now = 0;
    const auto push = [&] {
      const std::int64_t at = now + GetParam().ahead(random);
      const auto rank = static_cast<std::uint32_t>(random() % 5);
      queue.push(Time::ps(at), rank, number);
      set.emplace(at, rank, number++);
    };
    const int pending = 1 << (seed % 13);
    for (int i = 0; i < pending; ++i) push();
    for (int turn = 0; turn < 20000 && !set.empty(); ++turn) {
      ASSERT_EQ(queue.size(), set.size());
      const auto entry = queue.pop();
      ASSERT_EQ(std::tuple(entry.at.count(), entry.rank(), entry.event), *set.begin());
      set.erase(set.begin());
      now = entry.at.count();
      for (std::uint64_t i = random() % 3; i > 0; --i) push();
      if (set.empty()) push();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, EventQueueBesideASet,
    testing::Values(
        Shape{"simultaneous", [](std::mt19937_64&) { return std::int64_t{0}; }},
        Shape{"near", [](std::mt19937_64& r) { return static_cast<std::int64_t>(r() % 100); }},
        Shape{"spread", [](std::mt19937_64& r) { return static_cast<std::int64_t>(r() % 1'000'000'000); }},
        Shape{"few_times", [](std::mt19937_64& r) { return static_cast<std::int64_t>(r() % 3) * 1000; }},
        Shape{"mixed",
              [](std::mt19937_64& r) {
                return static_cast<std::int64_t>(r() % 8 == 0 ? r() % (1ULL << 50) : r() % 64);
              }}),
    [](const auto& shape) { return shape.param.name; });

}  // namespace
}  // namespace offramp
