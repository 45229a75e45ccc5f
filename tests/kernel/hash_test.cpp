#include "offramp/kernel/hash.hpp"

#include <gtest/gtest.h>

namespace offramp {
namespace {

TEST(Fnv1a, GivesThePublishedHashes) {
  EXPECT_EQ(fnv1a_64({}), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a_64(bytes_of("foobar")), 0x85944171f73967e8U);
}

TEST(Fnv1a, GoesOnWhereAPartEnded) {
  EXPECT_EQ(fnv1a_64(bytes_of("bar"), fnv1a_64(bytes_of("foo"))), fnv1a_64(bytes_of("foobar")));
}

}  // namespace
}  // namespace offramp
