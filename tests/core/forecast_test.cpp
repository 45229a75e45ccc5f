#include "lib/core/forecast.hpp"

#include <gtest/gtest.h>

#include <array>

#include "lib/core/cluster.hpp"
#include "tests/core/support.hpp"

namespace offramp {
namespace {

ForecastSetting setting_of(const char* name) {
  const BackendDescription& backend = test::backend_named(name);
  return {backend, Settings::defaults(backend.parameters), {}};
}

Operation operation_of(OperationKind kind, std::size_t bytes) {
  Operation operation;
  operation.kind = kind;
  operation.bytes = operation.elements = bytes;
  operation.ranks = 8;
  return operation;
}

TEST(AForecast, RepeatsAnOperationAsALoopInAProgramDoes) {
  Result<Forecast> three = forecast(setting_of("host"), operation_of(OperationKind::kBcast, 100), 3);
  ASSERT_TRUE(three) << three.error();
  Cluster cluster(8, test::backend_named("host"));
  std::array<std::byte, 100> data{};
  const auto program = [&](RankHandle& rank) -> Task<void> {
    for (int i = 0; i < 3; ++i) co_await rank.bcast(data, 0);
  };
  ASSERT_EQ(cluster.run(program), "");
  Time last;
  for (const Time clock : cluster.clocks()) last = later(last, clock);
  EXPECT_EQ(three->time, last);
  EXPECT_EQ(three->wire.packets, 3 * 7U);
}

TEST(AForecast, OfBarriersGrowsByABarrierEachTime) {
  const Operation barrier = operation_of(OperationKind::kBarrier, 0);
  Result<Forecast> one = forecast(setting_of("host"), barrier);
  Result<Forecast> five = forecast(setting_of("host"), barrier, 5);
  ASSERT_TRUE(one && five);
  EXPECT_EQ(five->time.count(), 5 * one->time.count());
}

TEST(AForecast, OfAllTheHardwareCannotBeRepeated) {
  Result<Forecast> two = forecast(setting_of("tinsel"), operation_of(OperationKind::kBcast, 64), 2);
  ASSERT_FALSE(two);
  EXPECT_NE(two.error().find("cannot repeat"), std::string::npos) << two.error();
}

}  // namespace
}  // namespace offramp
