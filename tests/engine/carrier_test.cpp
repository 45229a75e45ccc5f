// The messages of a run: barriers keep ranks together, sends wait for their receivers where the stages of the
// hardware say so, and messages have the fates of the world.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "tests/cluster.hpp"
#include "tests/engine/support.hpp"
#include "tests/message_stages.hpp"
#include "tests/timed_cluster.hpp"

namespace offramp::carrier_test {
namespace {

using test::Buffer;
using Values = std::vector<std::pair<std::string, std::string>>;

/// A backend, and settings that select other algorithms.
struct Variant {
  std::string backend;
  Values values = {};
};
const Variant kVariants[] = {{"host"},
                             {"cclo"},
                             {"cclo", {{"profile", "gen2"}, {"transport", "tcp"}}},
                             {"cclo", {{"profile", "gen2"}}},
                             {"zrlmpi"},
                             {"aie"},
                             {"dpu"},
                             {"tinsel"},
                             {"sharp"}};

std::string name_of(const Variant& variant) {
  std::string name = variant.backend;
  for (const auto& [key, value] : variant.values) name += " " + key + "=" + value;
  return name;
}

Settings settings_of(const Variant& variant) {
  Settings settings = Settings::defaults(test::backend_named(variant.backend).parameters);
  // Values are numbers or choices.
  for (const auto& [key, value] : variant.values) settings.set(key, {std::atof(value.c_str()), value});
  return settings;
}

/// All ranks stay in a barrier until the last one has come, for each choice of the last one.
TEST(ACarrier, KeepsRanksTogetherInABarrier) {
  for (const Variant& variant : kVariants) {
    for (const int ranks : {2, 3, 6}) {
      for (int late = 0; late < ranks; ++late) {
        Cluster cluster(ranks, test::backend_named(variant.backend), settings_of(variant));
        int left = 0;
        const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
          if (rank.rank() == late) co_return;
          EXPECT_EQ(co_await rank.barrier(), Outcome::kOk);
          ++left;
        });
        EXPECT_NE(stuck, "") << name_of(variant);
        EXPECT_EQ(left, 0) << name_of(variant) << ", " << ranks << " ranks without " << late;
      }
    }
  }
}

TEST(ACarrier, WaitsForReceiversAsTheStagesSay) {
  for (const Variant& variant : kVariants) {
    const Settings settings = settings_of(variant);
    const std::unique_ptr<Backend> backend =
        test::backend_named(variant.backend).create({0, 4, settings, {}, nullptr, nullptr, 2});
    MessageStages messages(*backend);
    for (const int destination : {1, 3}) {
      for (std::size_t bytes = 0; bytes <= std::size_t{4} << 20; bytes = bytes == 0 ? 1 : bytes * 2) {
        for (const std::size_t more : {0, 1}) {
          Transfer transfer;
          transfer.destination = destination;
          transfer.bytes = bytes + more;
          Units units(messages.units());
          EXPECT_EQ(backend->waits_for_receiver(transfer), messages.depart(transfer, {}, units).handshake)
              << name_of(variant) << ", " << transfer.bytes << " bytes to rank " << destination;
        }
      }
    }
  }
}

TEST(ACarrier, HoldsBackLongSendsOnly) {
  for (const bool is_long : {false, true}) {
    Cluster cluster(2, test::backend_named("host"));
    const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
      const Buffer data(is_long ? 1 << 20 : 8);
      if (rank.rank() == 0) co_await rank.send(1, data);
    });
    EXPECT_EQ(stuck.empty(), !is_long);
  }
}

/// Messages from rank 0 to rank 1, with barriers in between; returns what each rank learns about them.
template <typename Rank>
Task<void> exchange(Rank& rank, std::vector<Outcome>& seen) {
  for (std::size_t i = 0; i < 60; ++i) {
    Buffer data(i % 3 * 5000);
    Outcome outcome = Outcome::kOk;
    if (rank.rank() == 0) {
      outcome = co_await rank.send(1, data);
    } else {
      const Received received = co_await rank.receive(0, data);
      outcome = received.outcome;
    }
    seen.push_back(outcome);
    if (i % 7 == 0) (void)co_await rank.barrier();
  }
}

TEST(ACarrier, HasTheFatesOfTheWorld) {
  FaultRates faults;
  faults.seed = 5;
  faults.loss = 0.2;
  for (const Variant& variant : {Variant{"host", {{"retries", "0"}}}, Variant{"dpu", {{"retries", "0"}}},
                                 Variant{"cclo", {{"transport", "udp"}}}}) {
    const BackendDescription& backend = test::backend_named(variant.backend);
    ClusterOptions run_options;
    run_options.faults = faults;
    Cluster run(2, backend, settings_of(variant), run_options);
    WorldOptions world_options;
    world_options.faults = faults;
    TimedCluster world(2, backend, settings_of(variant), world_options);
    std::array<std::vector<Outcome>, 2> in_run;
    std::array<std::vector<Outcome>, 2> in_world;
    const auto place = [](const auto& rank) { return static_cast<std::size_t>(rank.rank()); };
    EXPECT_EQ(run.run([&](ClusterRank& rank) { return exchange(rank, in_run[place(rank)]); }), "");
    EXPECT_EQ(world.run([&](TimedRank& rank) { return exchange(rank, in_world[place(rank)]); }), "");
    EXPECT_EQ(in_run, in_world) << name_of(variant);
    EXPECT_EQ(in_run[0], in_run[1]) << name_of(variant);
    const auto failed = std::count(in_run[0].begin(), in_run[0].end(), Outcome::kFault);
    EXPECT_TRUE(failed > 5 && failed < 55) << name_of(variant) << ": " << failed;
  }
}

}  // namespace
}  // namespace offramp::carrier_test
