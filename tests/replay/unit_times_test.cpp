#include "lib/answers/replay/unit_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace offramp {
namespace {

TEST(BusyTime, CountsOverlapsOnce) {
  BusyTime busy;
  EXPECT_EQ(busy.total(), Time());
  busy.add(Time::ps(10), Time::ps(20));
  busy.add(Time::ps(15), Time::ps(30));
  busy.add(Time::ps(40), Time::ps(50));
  busy.add(Time::ps(5), Time::ps(12));
  busy.add(Time::ps(41), Time::ps(41));
  busy.add(Time::ps(48), Time::ps(42));
  EXPECT_EQ(busy.total(), Time::ps(35));
  EXPECT_EQ(busy.total(), Time::ps(35)) << "asking changes nothing";
}

TEST(BusyTime, ManyIntervalsNearlyInOrder) {
  std::mt19937 random(1);
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (std::int64_t i = 0; i < 100'000; ++i)
    all.emplace_back(i * 10, i * 10 + 1 + static_cast<std::int64_t>(random() % 14));
  for (std::size_t i = 0; i + 1'000 < all.size(); i += 1'000)
    std::shuffle(all.begin() + static_cast<std::ptrdiff_t>(i),
                 all.begin() + static_cast<std::ptrdiff_t>(i) + 1'000, random);
  BusyTime busy;
  for (const auto& [begin, end] : all) busy.add(Time::ps(begin), Time::ps(end));
  std::sort(all.begin(), all.end());
  std::int64_t expected = 0;
  std::int64_t reached = 0;
  for (const auto& [begin, end] : all) {
    expected += std::max<std::int64_t>(0, end - std::max(begin, reached));
    reached = std::max(reached, end);
  }
  EXPECT_EQ(busy.total(), Time::ps(expected));
}

TEST(BusyTime, CountsVeryLateIntervalsFromTheEndOfOthers) {
  BusyTime busy;
  for (std::int64_t i = 0; i < 50'000; ++i) busy.add(Time::ps(100 + i * 10), Time::ps(105 + i * 10));
  const Time before = busy.total();
  EXPECT_EQ(before, Time::ps(250'000));
  busy.add(Time::ps(0), Time::ps(50));
  EXPECT_EQ(busy.total(), before);
}

}  // namespace
}  // namespace offramp
