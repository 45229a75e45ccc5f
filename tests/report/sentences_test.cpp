#include "lib/answers/report/sentences.hpp"

#include <gtest/gtest.h>

#include "lib/base/format.hpp"

namespace offramp {
namespace {

TEST(Percent, IsZeroOrHundredOnlyIfExact) {
  EXPECT_EQ(percent_text(4548, 4550), "99.9 %");
  EXPECT_EQ(percent_text(4550, 4550), "100.0 %");
  EXPECT_EQ(percent_text(1, 1e9), "0.1 %");
  EXPECT_EQ(percent_text(1e9 - 1, 1e9), "99.9 %");
  EXPECT_EQ(percent_text(0, 1e9), "0.0 %");
  EXPECT_EQ(percent_text(0, 0), "0.0 %");
  EXPECT_EQ(percent_text(1, 3), "33.3 %");
  EXPECT_EQ(percent_text(0.996, 1, 0), "99 %");
  EXPECT_EQ(percent_text(0.004, 1, 0), "1 %");
  EXPECT_EQ(percent_text(3, 2), "150.0 %");  // several at once
}

TEST(Places, NameTheirCommunicatorWhereTheyHaveOne) {
  EXPECT_EQ(place_text(1800, "MPI_Irecv", "MPI_COMM_WORLD", "wildcards+0x2365"),
            "1800 x MPI_Irecv on MPI_COMM_WORLD at wildcards+0x2365");
  EXPECT_EQ(place_text(1, "MPI_Waitany", "", "main+0x1"), "1 x MPI_Waitany at main+0x1");
}

}  // namespace
}  // namespace offramp
