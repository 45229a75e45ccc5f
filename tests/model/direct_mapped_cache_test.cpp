#include "simulators/world/direct_mapped_cache.hpp"

#include <gtest/gtest.h>

#include <string>

namespace offramp {
namespace {

using Cache = DirectMappedCache<std::uint64_t, std::string, 7>;

TEST(ADirectMappedCache, ComputesAResultOnce) {
  Cache cache;
  int computed = 0;
  const auto get = [&](std::uint64_t key) {
    return cache.get(key, [&] { return ++computed, std::to_string(key); });
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(get(0), "0");
    EXPECT_EQ(get(8), "8");
  }
  EXPECT_EQ(computed, 2);
}

TEST(ADirectMappedCache, KeepsTheLatestResultOfASlot) {
  Cache cache;
  EXPECT_EQ(cache.find(3), nullptr);
  cache.store(3, "three");
  cache.store(10, "ten");
  EXPECT_EQ(cache.find(3), nullptr);
  ASSERT_NE(cache.find(10), nullptr);
  EXPECT_EQ(*cache.find(10), "ten");
}

}  // namespace
}  // namespace offramp
