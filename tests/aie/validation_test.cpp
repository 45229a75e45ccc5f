// The rows of the validation table: the errors against published figures do not grow.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "backends/aie/aie.hpp"

namespace offramp::aie {
namespace {

/// In percent.
double allowed(std::string_view quantity) {
  const auto is = [&](std::string_view what) { return quantity.substr(0, what.size()) == what; };
  if (is("tree time")) return 0.55;
  if (is("the same, placement")) return 1.85;
  if (is("level time")) return 0.02;
  if (is("latency of neighbours")) return 7.9;
  if (is("latency")) return 0.6;
  if (is("tile memory")) return 1.5;
  if (is("DMA")) return 13.7;
  if (is("GMIO")) return 4.7;
  return 0;
}

TEST(AieValidation, HoldsEachRow) {
  int rows = 0;
  for (const ValidationRow& row : validation()) {
    ++rows;
    EXPECT_FALSE(row.source.empty()) << row.quantity;
    if (!row.bound.empty()) {  // all bytes on the root's port, and a tenth for everything else
      EXPECT_GT(row.ours, 524.2) << row.quantity;
      EXPECT_LT(row.ours, row.quantity.starts_with("gather") ? (524.3 + 121) * 1.1 : 524.3 * 1.1)
          << row.quantity;
      continue;
    }
    const double error = 100 * (row.ours / row.published - 1);
    std::printf("%-50s %10.1f %10.1f %+6.2f %%\n", row.quantity.c_str(), row.published, row.ours, error);
    EXPECT_LE(std::abs(error), allowed(row.quantity)) << row.quantity;
  }
  EXPECT_EQ(rows, 17 + 7 + 17 + 8 + 5 + 6 + 2);
}

}  // namespace
}  // namespace offramp::aie
