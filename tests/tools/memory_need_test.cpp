#include "tools/command_line/memory_need.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <vector>

namespace offramp::tool {
namespace {

using ::testing::HasSubstr;

constexpr double kGiB = 1024.0 * 1024 * 1024;

TEST(MemoryNeed, GrowsWithTheSquareWhereTrialsDo) {
  // 1000 bytes for each pair of ranks.
  const double first = 1000.0 * 512 * 512;
  EXPECT_EQ(memory_text("alltoall", 4096, 512, first, 4 * first, 16 * kGiB), "");
  EXPECT_EQ(memory_text("alltoall", 8192, 512, first, 4 * first, 16 * kGiB),
            "alltoall on 8192 ranks needs about 62.5 GiB of memory, but only 16 GiB is available; about 4144 "
            "ranks would fit");
}

TEST(MemoryNeed, GrowsWithTheRanksWhereTrialsDo) {
  EXPECT_EQ(memory_text("bcast", 1000000, 512, 512 * 4000.0, 1024 * 4000.0, 4 * kGiB), "");
  EXPECT_THAT(memory_text("bcast", 2000000, 512, 512 * 4000.0, 1024 * 4000.0, 4 * kGiB),
              HasSubstr("about 1073741 ranks would fit"));
}

TEST(MemoryNeed, FollowsTheLargerOfTwoTrialsWithDifferentAlgorithms) {
  EXPECT_EQ(memory_text("alltoall", 4096, 512, 28e6, 1000.0 * 1024 * 1024, 17e9), "");
}

TEST(MemoryNeed, IsNotTriedForFewRanks) {
  bool tried = false;
  EXPECT_EQ(memory_problem("bcast", 64, [&](int) { tried = true; }), "");
  EXPECT_FALSE(tried);
}

/// Uses memory, and enough processor time to prevent larger trials.
void keep(std::size_t bytes) {
  const std::vector<char> kept(bytes, 'x');
  asm volatile("" : : "r"(kept.data()) : "memory");
  const std::clock_t begin = std::clock();
  while (std::clock() - begin < CLOCKS_PER_SEC / 3) continue;
}

TEST(MemoryNeed, IsExtrapolatedFromTrialsForManyRanks) {
  const auto pairs = [](int ranks) {
    keep(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks));
  };
  EXPECT_THAT(memory_problem("alltoall", 1 << 30, pairs),
              HasSubstr("alltoall on 1073741824 ranks needs about"));
}

TEST(MemoryNeed, IsNoProblemIfManyRanksTakeAnAlgorithmThatFits) {
  const auto pairs = [](int ranks) {
    if (ranks < (1 << 30)) keep(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks));
  };
  EXPECT_EQ(memory_problem("alltoall", 1 << 30, pairs), "");
}

}  // namespace
}  // namespace offramp::tool
