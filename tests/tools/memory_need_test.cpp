#include "tools/memory_need.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace offramp::tool {
namespace {

using ::testing::HasSubstr;

constexpr double kGiB = 1024.0 * 1024 * 1024;

TEST(MemoryNeed, GrowsWithTheSquareWhereTrialsDo) {
  // 1000 bytes for each pair of ranks.
  const double first = 1000.0 * 512 * 512;
  EXPECT_EQ(memory_problem("alltoall", 4096, 512, first, 4 * first, 16 * kGiB), "");
  EXPECT_EQ(memory_problem("alltoall", 8192, 512, first, 4 * first, 16 * kGiB),
            "alltoall on 8192 ranks needs about 62.5 GiB of memory, and 16.0 GiB are available; about 4144 "
            "ranks would fit");
}

TEST(MemoryNeed, GrowsWithTheRanksWhereTrialsDo) {
  EXPECT_EQ(memory_problem("bcast", 1000000, 512, 512 * 4000.0, 1024 * 4000.0, 4 * kGiB), "");
  EXPECT_THAT(memory_problem("bcast", 2000000, 512, 512 * 4000.0, 1024 * 4000.0, 4 * kGiB),
              HasSubstr("about 1073741 ranks would fit"));
}

TEST(MemoryNeed, OfFewRanksIsNotTried) {
  bool tried = false;
  check_memory("bcast", 64, [&](int) { tried = true; });
  EXPECT_FALSE(tried);
}

TEST(MemoryNeed, OfManyRanksIsExtrapolatedFromTrials) {
  const auto keep_pairs = [](int ranks) {
    std::vector<char> pairs(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) * 64, 'x');
    asm volatile("" : : "r"(pairs.data()) : "memory");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // no longer trials follow
  };
  EXPECT_ANY_THROW(check_memory("alltoall", 1 << 30, keep_pairs));
}

}  // namespace
}  // namespace offramp::tool
