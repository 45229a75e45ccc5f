// The rows of the validation table: the errors are at most those that the backend's page states.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "tests/dpu/support.hpp"

namespace offramp::dpu {
namespace {

bool begins(const ValidationRow& row, const std::string& text) {
  return row.quantity.rfind(text, 0) == 0;
}
bool contains(const ValidationRow& row, const std::string& text) {
  return row.quantity.find(text) != std::string::npos;
}

/// In percent.
double most_error(const ValidationRow& row) {
  if (contains(row, ": time")) return 6.0;
  if (contains(row, ": wait")) return contains(row, "bf2") ? 9.0 : 26.0;
  if (begins(row, "initiation")) return 18.0;
  if (contains(row, "with offload over without")) return 14.0;
  if (begins(row, "ialltoall")) return 12.0;
  if (begins(row, "messages of 8 B") || contains(row, "of messages of 1 KiB")) return 12.0;
  if (begins(row, "the same with the link of bf3")) return 42.0;
  if (begins(row, "bandwidth of messages of 4 MiB")) return 10.0;
  if (begins(row, "WRITEs")) return contains(row, "1024") ? 14.0 : 3.0;
  if (begins(row, "READ")) return 7.0;
  return 3.0;
}

TEST(DpuPublished, RowsAreAsNearAsThePageSays) {
  int rows = 0;
  int as_published = 0;  // rows with the published winner, of the twelve against the model's own host
  for (const ValidationRow& row : dpu_backend().validation()) {
    ++rows;
    std::printf("%-60s %10.2f %10.2f %s\n", row.quantity.c_str(), row.published, row.ours, row.bound.c_str());
    EXPECT_FALSE(row.source.empty()) << row.quantity;
    if (contains(row, "compared with the measured host")) {
      const double host = std::stod(row.bound.substr(row.bound.find(' ')));
      EXPECT_EQ(row.ours > host, row.bound.rfind("above", 0) == 0) << row.quantity;
    } else if (contains(row, "with offload over without")) {
      as_published += static_cast<int>((row.ours < 1) == (row.published < 1));
      EXPECT_LE(std::abs(row.ours / row.published - 1) * 100, most_error(row)) << row.quantity;
    } else if (begins(row, "its overlap")) {
      EXPECT_GT(row.ours, 92.0) << row.quantity;
    } else if (begins(row, "host to service process")) {
      EXPECT_NEAR(row.ours, 4.0, 0.4);
    } else if (contains(row, ": overlap")) {
      EXPECT_NEAR(row.ours, row.published, 8.5) << row.quantity;
    } else {
      ASSERT_GT(row.published, 0) << row.quantity;
      EXPECT_LE(std::abs(row.ours / row.published - 1) * 100, most_error(row)) << row.quantity;
    }
  }
  EXPECT_GT(rows, 100);
  EXPECT_GE(as_published, 9);
}

}  // namespace
}  // namespace offramp::dpu
