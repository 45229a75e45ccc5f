// Work on several cores: each piece once, in order of their begin, and its exceptions.
#include "lib/base/side_by_side.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace offramp {
namespace {

TEST(SideBySide, DoesEachPieceOnce) {
  for (const std::size_t most : {1U, 2U, 5U, 100U}) {
    std::vector<std::atomic<int>> done(40);
    side_by_side(done.size(), most, [&](std::size_t i) { ++done[i]; });
    for (const std::atomic<int>& one : done) EXPECT_EQ(one, 1) << most;
  }
  side_by_side(0, 4, [](std::size_t) { FAIL(); });
}

TEST(SideBySide, UsesNoMoreThreadsThanAllowed) {
  const std::thread::id own = std::this_thread::get_id();
  side_by_side(10, 1, [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), own); });
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  side_by_side(200, 3, [&](std::size_t) {
    const int at_once = ++now;
    for (int known = most; known < at_once && !most.compare_exchange_weak(known, at_once);) {
    }
    std::this_thread::yield();
    --now;
  });
  EXPECT_LE(most, 3);
}

TEST(SideBySide, RethrowsTheFirstExceptionAndBeginsNothingAfterIt) {
  for (const std::size_t most : {1U, 3U}) {
    std::atomic<std::size_t> begun = 0;
    const auto work = [&](std::size_t i) {
      ++begun;
      if (i == 2) throw std::runtime_error("the third");
    };
    EXPECT_THROW(side_by_side(1000000, most, work), std::runtime_error);
    EXPECT_LT(begun, 1000000U) << most;
  }
}

}  // namespace
}  // namespace offramp
