#include "lib/run/engine/recent_ids.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace offramp {
namespace {

TEST(RecentIds, KnowsTheLastOnesAndForgetsTheOldest) {
  RecentIds ids(100);
  for (std::uint64_t id = 0; id < 250; ++id) {
    ids.add(id << 40U);
    EXPECT_TRUE(ids.contains(id << 40U));
    EXPECT_EQ(ids.size(), std::min<std::size_t>(id + 1, 100));
  }
  for (std::uint64_t id = 0; id < 250; ++id) EXPECT_EQ(ids.contains(id << 40U), id >= 150) << id;
  EXPECT_FALSE(ids.contains(7));
}

}  // namespace
}  // namespace offramp
