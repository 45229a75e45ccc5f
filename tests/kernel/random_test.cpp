#include "offramp/kernel/random.hpp"

#include <gtest/gtest.h>

namespace offramp {
namespace {

TEST(RandomNumbers, AreThoseOfThePublishedGenerators) {
  std::uint64_t state = 1;
  EXPECT_EQ(xorshift(state), 1082269761U);
  EXPECT_EQ(xorshift(state), 1152992998833853505U);
  state = 1234567;
  EXPECT_EQ(splitmix(state), 6457827717110365317U);
  EXPECT_EQ(splitmix(state), 3203168211198807973U);
}

}  // namespace
}  // namespace offramp
