#include "lib/answers/replay/forecast.hpp"

#include <gtest/gtest.h>

#include <array>
#include <tuple>

#include "tests/engine/support.hpp"
#include "tests/timed_cluster.hpp"

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

/// Where a value is that of a class of machines, the slowest and the fastest are tried; the user's own values
/// have no such range.
TEST(AForecast, HasTheRangeOfTheMachineClass) {
  ForecastSetting setting = setting_of("host");
  const BackendDescription& host = test::backend_named("host");
  EXPECT_FALSE(at_end_of_band(setting, host, 8, true)) << "no rank shares a node";
  setting.machine.ranks_per_node = 4;
  std::array<Time, 3> times;  // with the fastest, the usual and the slowest memory
  const std::array settings = {at_end_of_band(setting, host, 8, true), std::optional(setting),
                               at_end_of_band(setting, host, 8, false)};
  for (std::size_t i = 0; i < times.size(); ++i) {
    ASSERT_TRUE(settings.at(i));
    times.at(i) = forecast(*settings.at(i), operation_of(OperationKind::kAllgather, 8 << 20))->time;
  }
  EXPECT_LT(times[0], times[1]);
  EXPECT_LT(times[1], times[2]);
  setting.settings.set("memory_bandwidth", {300, {}});
  EXPECT_FALSE(at_end_of_band(setting, host, 8, true));
}

TEST(AForecast, ChoosesAsTheRecordedLibraryDoes) {
  const Registry registry{built_in_backends()};
  const auto chosen_for = [&](std::string_view library, const Configuration& configuration = {}) {
    const Configuration followed = configuration_for_library(configuration, registry, library);
    const Result<Settings> settings = followed.settings_for(registry.baseline());
    EXPECT_TRUE(settings) << settings.error();
    return settings->choice("collectives");
  };
  EXPECT_EQ(chosen_for("Open MPI v4.0.3"), "openmpi-4.0");
  EXPECT_EQ(chosen_for("Open MPI v3.1.6"), "openmpi-3.1");
  EXPECT_EQ(chosen_for("Open MPI v5.0.7"), "openmpi-5");
  EXPECT_EQ(chosen_for("Open MPI v6.0.0"), "openmpi-6");
  EXPECT_EQ(chosen_for("Open MPI v4.1.4"), "openmpi");
  EXPECT_EQ(chosen_for("MPICH 4.0.2"), "mpich");
  EXPECT_EQ(chosen_for(""), "openmpi");
  Configuration own;
  own.sections["host"]["collectives"] = {"best", RawValue::Type::kText, "the user"};
  EXPECT_EQ(chosen_for("MPICH 4.0.2", own), "best");
}

TEST(AForecast, RepeatsAnOperationAsALoopInAProgramDoes) {
  Result<Forecast> three = forecast(setting_of("host"), operation_of(OperationKind::kBcast, 100), 3);
  ASSERT_TRUE(three) << three.error();
  TimedCluster cluster(8, test::backend_named("host"));
  std::array<std::byte, 100> data{};
  const auto program = [&](TimedRank& rank) -> Task<void> {
    for (int i = 0; i < 3; ++i) co_await rank.bcast(data, 0);
  };
  ASSERT_EQ(cluster.run(program), "");
  Time last;
  for (const Time clock : cluster.clocks()) last = later(last, clock);
  EXPECT_EQ(three->time, last);
  EXPECT_EQ(three->wire.packets, 3 * 7U);
}

TEST(AForecast, GrowsByOneBarrierPerRepetition) {
  const Operation barrier = operation_of(OperationKind::kBarrier, 0);
  Result<Forecast> one = forecast(setting_of("host"), barrier);
  Result<Forecast> five = forecast(setting_of("host"), barrier, 5);
  ASSERT_TRUE(one && five);
  EXPECT_EQ(five->time.count(), 5 * one->time.count());
}

TEST(AForecast, CountsTheEnginesPartOfTheTimeInCycles) {
  ForecastSetting setting = setting_of("aie");
  setting.check = true;
  Operation reduction = operation_of(OperationKind::kReduce, 64);
  reduction.element = ElementType::kInt32;
  reduction.function = ReduceFunction::kSum;
  Result<Forecast> one = forecast(setting, reduction);
  Result<Forecast> two = forecast(setting, reduction, 2);
  ASSERT_TRUE(one && two);
  EXPECT_LT(one->engine, one->time);
  EXPECT_GT(two->engine, one->engine);
  EXPECT_GT(two->time, one->time);
  EXPECT_EQ(two->wire.packets, 2 * one->wire.packets);
}

/// Time and packets of a message in a program.
struct Carried {
  Time time;
  WireCounters wire;
};
Carried carried(const ForecastSetting& setting, const Operation& operation) {
  WorldOptions options;
  options.faults = setting.faults;
  TimedCluster cluster(operation.ranks, setting.backend, setting.settings, options);
  const int to = (operation.root + 1) % operation.ranks;
  EXPECT_EQ(cluster.run([&](TimedRank& rank) -> Task<void> {
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

TEST(AForecast, TreatsASendAsTheRootsMessageToTheNextRank) {
  for (const BackendDescription* backend : built_in_backends()) {
    const Settings defaults = Settings::defaults(backend->parameters);
    const auto asked = backend->create({0, 8, defaults, {}});
    if (asked->supports(operation_of(OperationKind::kSend, 8)).yes())
      expect_all_as_carried({*backend, defaults, {}});
  }
}

TEST(AForecast, IncludesWireFaultsInASend) {
  FaultRates faults;
  faults.loss = 0.3;
  for (const auto& [name, parameter, value] :
       {std::tuple{"dpu", "service_processes", Settings::Value{1, {}}},
        std::tuple{"tinsel", "placement", Settings::Value{0, "apart"}}}) {
    ForecastSetting setting = setting_of(name);
    setting.settings.set(parameter, value);
    setting.faults = faults;
    expect_all_as_carried(setting);
  }
}

TEST(AForecast, RoutesASendAroundAFailedServiceProcess) {
  ForecastSetting setting = setting_of("dpu");
  setting.settings.set("failure", {0, "never"});
  expect_all_as_carried(setting);
}

/// Hardware with two memories, where a rank needs a slot in each. Messages and times are the host's.
class Slots final : public Backend {
 public:
  static std::unique_ptr<Backend> create(const BackendContext& context) {
    return std::make_unique<Slots>(context);
  }
  explicit Slots(const BackendContext& context)
      : host_(test::backend_named("host").create({context.rank, context.ranks, defaults(), {}})),
        inner_(context.settings.real("inner")),
        outer_(context.settings.real("outer")) {}

  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    const Verdict verdict = Verdict::accept(operation, kRegularOperations);
    need_inner_ = {"inner", static_cast<double>(operation.ranks), "with more inside"};
    need_outer_ = {"outer", static_cast<double>(operation.ranks), "with more outside"};
    if (inner_ < operation.ranks) return verdict.unless("full inside", &need_inner_);
    if (outer_ < operation.ranks) return verdict.unless("full outside", &need_outer_);
    return verdict.unless(operation.root == 0 ? "" : "only from the first");
  }
  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return host_->resources(); }
  [[nodiscard]] bool waits_for_receiver(const Transfer& transfer) const override {
    return host_->waits_for_receiver(transfer);
  }
  void issue(const Transfer& transfer, Passage& passage) override { host_->issue(transfer, passage); }
  void depart(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    host_->depart(transfer, passage, sender);
  }
  void grant(const Transfer& transfer, Passage& passage) override { host_->grant(transfer, passage); }
  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) override {
    host_->transmit(transfer, passage, sender);
  }
  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) override {
    host_->arrive(transfer, passage, receiver);
  }
  Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) override {
    return host_->receive(transfer, passage, at, matched);
  }
  [[nodiscard]] Time copy_time(std::size_t bytes) const override { return host_->copy_time(bytes); }
  [[nodiscard]] Time post_receive_cost() const override { return host_->post_receive_cost(); }
  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) override {
    return host_->collective(operation, team, buffers);
  }
  [[nodiscard]] WireCounters wire() const override { return host_->wire(); }

 private:
  static const Settings& defaults() {
    static const Settings settings = Settings::defaults(test::backend_named("host").parameters);
    return settings;
  }
  std::unique_ptr<Backend> host_;
  double inner_;
  double outer_;
  mutable Remedy need_inner_;
  mutable Remedy need_outer_;
};

const Parameter kSlots[] = {{"inner", ParameterKind::kInteger, "1", 4, 1, 16, {}, {}, "invented", "slots"},
                            {"outer", ParameterKind::kInteger, "1", 8, 1, 32, {}, {}, "invented", "slots"}};
const BackendDescription kSlotsBackend{
    .name = "slots", .description = "two memories", .parameters = kSlots, .create = Slots::create};

struct WhatIf {
  Forecast without;
  Forecast with;
  bool could_be;
};
WhatIf what_if(int ranks, int root = 0) {
  const ForecastSetting setting{kSlotsBackend, Settings::defaults(kSlots), {}};
  Operation operation = operation_of(OperationKind::kBcast, 100);
  operation.ranks = ranks;
  operation.root = root;
  Result<Forecast> without = forecast(setting, operation);
  Result<Forecast> with = forecast(setting, operation, 1, true);
  EXPECT_TRUE(without && with);
  return {*without, *with, could_be_larger(setting, operation)};
}

TEST(AForecast, EnlargesFullMemoriesAsTheirDeclinesDemand) {
  const WhatIf fits = what_if(4);
  EXPECT_EQ(fits.without.declined, "");
  EXPECT_FALSE(fits.with.what_if || fits.could_be);
  const WhatIf one = what_if(8);
  EXPECT_EQ(one.without.declined, "full inside");
  EXPECT_EQ(one.with.declined, "");
  EXPECT_EQ(one.with.note, "what if: full inside: with more inside");
  EXPECT_TRUE(one.with.what_if && one.could_be && one.with.time > Time());
  const WhatIf both = what_if(16);
  EXPECT_EQ(both.with.note, "what if: full inside: with more inside, with more outside");
  EXPECT_TRUE(both.with.what_if && both.could_be);
}

TEST(AForecast, NamesObstaclesBesidesAFullMemory) {
  const WhatIf beyond = what_if(17);  // of the first parameter's range
  EXPECT_EQ(beyond.with.declined, "full inside");
  EXPECT_FALSE(beyond.with.what_if || beyond.could_be);
  const WhatIf rooted = what_if(8, 1);
  EXPECT_EQ(rooted.without.declined, "full inside");
  EXPECT_EQ(rooted.with.declined, "only from the first");
  EXPECT_FALSE(rooted.with.what_if || rooted.could_be);
}

}  // namespace
}  // namespace offramp
