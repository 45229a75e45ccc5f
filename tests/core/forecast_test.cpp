#include "lib/core/forecast.hpp"

#include <gtest/gtest.h>

#include <array>
#include <tuple>

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
  const auto program = [&](ClusterRank& rank) -> Task<void> {
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

/// What a program's message takes.
struct Carried {
  Time time;
  WireCounters wire;
};
Carried carried(const ForecastSetting& setting, const Operation& operation) {
  ClusterOptions options;
  options.faults = setting.faults;
  Cluster cluster(operation.ranks, {ClusterLane(setting.backend, setting.settings)}, options);
  const int to = (operation.root + 1) % operation.ranks;
  EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
    test::Buffer data(operation.bytes);
    if (rank.rank() == operation.root) co_await rank.send(to, data);
    if (rank.rank() == to) co_await rank.receive(operation.root, data);
  }),
            "");
  Carried result;
  for (const Time clock : cluster.clocks()) result.time = later(result.time, clock);
  result.wire = cluster.wire();
  return result;
}

void expect_as_carried(const ForecastSetting& setting, const Operation& operation) {
  SCOPED_TRACE(testing::Message() << setting.backend.name << ", root " << operation.root << ", "
                                  << operation.bytes << " bytes");
  Result<Forecast> predicted = forecast(setting, operation);
  ASSERT_TRUE(predicted) << predicted.error();
  ASSERT_EQ(predicted->declined, "");
  const Carried run = carried(setting, operation);
  EXPECT_EQ(predicted->time, run.time);
  EXPECT_EQ(predicted->wire.packets, run.wire.packets);
  EXPECT_EQ(predicted->wire.payload_bytes, run.wire.payload_bytes);
  EXPECT_EQ(predicted->wire.wire_bytes, run.wire.wire_bytes);
  EXPECT_EQ(predicted->wire.retransmissions, run.wire.retransmissions);
  EXPECT_EQ(predicted->wire.rerouted, run.wire.rerouted);
}

void expect_all_as_carried(const ForecastSetting& setting) {
  for (const int root : {0, 3, 7}) {
    for (const std::size_t bytes : {0U, 8U, 4096U, 200000U}) {
      Operation operation = operation_of(OperationKind::kSend, bytes);
      operation.root = root;
      expect_as_carried(setting, operation);
    }
  }
}

TEST(AForecast, OfASendIsTheRootsMessageToTheNextRank) {
  for (const BackendDescription* backend : built_in_backends())
    expect_all_as_carried({*backend, Settings::defaults(backend->parameters), {}});
}

TEST(AForecast, OfASendKnowsTheWiresFaults) {
  FaultRates faults;
  faults.loss = 0.3;
  for (const auto& [name, parameter, value] :
       {std::tuple{"dpu", "ranks_per_node", Settings::Value{1, {}}},
        std::tuple{"tinsel", "placement", Settings::Value{0, "apart"}}}) {
    ForecastSetting setting = setting_of(name);
    setting.settings.set(parameter, value);
    setting.faults = faults;
    expect_all_as_carried(setting);
  }
}

TEST(AForecast, OfASendGoesPastAFailedServiceProcess) {
  ForecastSetting setting = setting_of("dpu");
  setting.settings.set("failure", {0, "never"});
  expect_all_as_carried(setting);
}

}  // namespace
}  // namespace offramp
