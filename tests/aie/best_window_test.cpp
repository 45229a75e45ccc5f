// The planner's windows: more ranks or more bytes are never faster, and no other window is much faster than
// the planner's.
#include "backends/aie/best_window.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <utility>

#include "tests/aie/support.hpp"

namespace offramp::aie {
namespace {

/// In microseconds.
double time_of(OperationKind kind, int ranks, std::size_t bytes, double window = 0) {
  Settings settings = Settings::defaults(aie_backend().parameters);
  settings.set("window", {window, {}});
  Operation operation;
  operation.kind = kind;
  operation.element = ElementType::kInt32;
  operation.function = ReduceFunction::kSum;
  operation.ranks = ranks;
  operation.bytes = bytes;
  operation.elements = bytes / 4;
  const Forecast forecast = forecast_of(operation, settings);
  EXPECT_EQ(forecast.declined, "");
  return forecast.time.seconds() * 1e6;
}

constexpr OperationKind kKinds[] = {OperationKind::kReduce, OperationKind::kBcast, OperationKind::kGather,
                                    OperationKind::kScatter};

TEST(BestWindow, TakesNoLessTimeForMoreRanksOrMoreBytes) {
  for (const OperationKind kind : kKinds) {
    std::map<std::size_t, double> fewer;
    for (const int ranks : {2, 3, 4, 7, 8, 12, 16, 17, 24}) {
      double smaller = 0;
      for (const std::size_t bytes : {16U, 256U, 4096U, 16384U, 30000U, 40000U, 100000U}) {
        const double time = time_of(kind, ranks, bytes);
        EXPECT_GE(time, smaller) << to_string(kind) << ' ' << ranks << ' ' << bytes;
        // Trees of other sizes have other layouts, which accounts for a few hundredths.
        EXPECT_GE(time, 0.96 * fewer[bytes]) << to_string(kind) << ' ' << ranks << ' ' << bytes;
        smaller = time;
        fewer[bytes] = time;
      }
    }
  }
}

TEST(BestWindow, IsHardlySlowerThanAnyOther) {
  for (const OperationKind kind : kKinds) {
    for (const int ranks : {2, 7, 16}) {
      for (const std::size_t bytes : {4096U, 40000U, 200000U}) {
        const double found = time_of(kind, ranks, bytes);
        for (const double window : {64, 128, 256, 512, 1024, 2048, 4096, 8192})
          EXPECT_LT(found, 1.08 * time_of(kind, ranks, bytes, window))
              << to_string(kind) << ' ' << ranks << ' ' << bytes << ", windows of " << window;
      }
    }
  }
}

/// Data streams as soon as that is faster, and short messages are cut like long ones.
TEST(BestWindow, HasNoStepsWhereDataBeginsToStreamOrAnotherWindowFits) {
  for (const OperationKind kind : {OperationKind::kReduce, OperationKind::kReduceScatter}) {
    for (const auto& [first, last] : {std::pair(64U, 160U), std::pair(20000U, 40000U)}) {
      if (kind == OperationKind::kReduceScatter && first > 64) continue;  // slow; same windows as reduce
      double smaller = 0;
      for (std::size_t bytes = first; bytes <= last; bytes += first / 16 / 4 * 4) {
        const double time = time_of(kind, 64, bytes);
        // Streaming becomes faster a little below the size that the closed form gives.
        EXPECT_GE(time, 0.92 * smaller) << to_string(kind) << ' ' << bytes;
        if (smaller > 0) {
          EXPECT_LT(time, 1.2 * smaller) << to_string(kind) << ' ' << bytes;
        }
        smaller = time;
      }
    }
  }
}

/// The memory behind the ports limits faster ports, and the planner's window accounts for it.
TEST(BestWindow, IsThatOfTheRatesInForce) {
  const auto send = [](double port, double window) {
    Settings settings = Settings::defaults(aie_backend().parameters);
    settings.set("gmio_port", {port, {}});
    settings.set("window", {window, {}});
    Operation operation;
    operation.kind = OperationKind::kSend;
    operation.ranks = 2;
    operation.bytes = 262144;
    return forecast_of(operation, settings).time.seconds() * 1e6;
  };
  double slower = 1e9;
  for (const double port : {2, 4, 5, 6, 8, 12}) {
    const double found = send(port, 0);
    std::printf("  %2.0f GB/s: %.1f us\n", port, found);
    EXPECT_LE(found, 1.001 * slower) << port;
    for (const double window : {256, 512, 1024, 2048, 4096, 8192})
      EXPECT_LT(found, 1.03 * send(port, window)) << port << ", windows of " << window;
    slower = found;
  }
}

}  // namespace
}  // namespace offramp::aie
