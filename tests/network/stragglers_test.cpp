// Noise and slow nodes: their costs, and the programs that they leave alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lib/answers/replay/replay.hpp"
#include "lib/base/configuration/straggler_text.hpp"
#include "lib/base/registry/registry.hpp"
#include "lib/programs/import/pattern.hpp"
#include "offramp/kernel/random.hpp"
#include "tests/built_in_names.hpp"

namespace offramp {
namespace {

using testing::HasSubstr;

std::shared_ptr<const Stragglers> stragglers_of(const StragglerOptions& options, int nodes,
                                                int ranks_per_node = 1) {
  std::vector<int> places;
  for (int node = 0; node < nodes; ++node) places.push_back(node);
  auto made = Stragglers::make(options, places, nodes, {.ranks_per_node = ranks_per_node});
  EXPECT_TRUE(made) << made.error();
  return *made;
}

StragglerOptions noise_of(const char* text, std::uint64_t seed = 1) {
  StragglerOptions options;
  options.noise = *parse_noise(text);
  options.seed = seed;
  return options;
}

struct SceneResult {
  std::vector<Time> clocks;
  Time end;
  std::vector<Time> straggler_delay;
};

/// Over a backend, with the host behind it.
SceneResult played(const char* backend, int ranks, const World::Program& program,
                   std::shared_ptr<const Stragglers> stragglers, std::uint64_t shuffle = 0) {
  static const Registry registry{built_in_backends()};
  const Configuration configuration;
  auto setting = world_setting(configuration, registry, *registry.find(backend), ranks);
  EXPECT_TRUE(setting) << setting.error();
  setting->check = true;
  WorldOptions options;
  options.ranks = ranks;
  options.shuffle_seed = shuffle;
  options.check = true;
  options.stragglers = std::move(stragglers);
  WorldBackend hardware(setting->backend, setting->settings);
  hardware.host = setting->host;
  hardware.host_settings = setting->host_settings;
  World world(options, hardware);
  EXPECT_EQ(world.run(program), "");
  EXPECT_THAT(world.violations(), testing::IsEmpty());
  SceneResult result;
  result.end = world.end();
  for (int rank = 0; rank < ranks; ++rank) {
    result.clocks.push_back(world.clock(rank));
    result.straggler_delay.push_back(world.straggler_delay(rank));
  }
  return result;
}

Task<void> everything(RankHandle& rank) {
  const int ranks = rank.size();
  for (int round = 0; round < 3; ++round) {
    rank.compute(Time::us(3));
    (void)co_await rank.bcast(100000, 0);
    (void)co_await rank.allreduce(65536);
    (void)co_await rank.alltoall(4096);
    RankRequest request = rank.irecv((rank.rank() + ranks - 1) % ranks, 300000);
    rank.compute(Time::us(20));
    (void)co_await rank.ssend((rank.rank() + 1) % ranks, 300000);
    (void)co_await rank.wait(request);
    (void)co_await rank.synchronize(rank.world_communicator());
    (void)co_await rank.barrier();
  }
}

class Straggling : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Over, Straggling, testing::ValuesIn(test::built_in_names("aie")),
                         [](const auto& backend) { return std::string(backend.param); });

TEST_P(Straggling, TakesNoTimeWhereStragglersTakeNone) {
  StragglerOptions none = noise_of("10us:0:1");
  none.slow = *parse_slow_nodes("0-7:1");
  const SceneResult without = played(GetParam(), 8, everything, nullptr);
  const SceneResult with = played(GetParam(), 8, everything, stragglers_of(none, 8));
  EXPECT_EQ(with.clocks, without.clocks);
  for (const Time straggler_delay : with.straggler_delay) EXPECT_EQ(straggler_delay, Time());
}

TEST_P(Straggling, DoesNotDependOnTheOrderOfEvents) {
  const auto stragglers = stragglers_of(noise_of("40us:2us:0.5"), 8);
  const SceneResult one = played(GetParam(), 8, everything, stragglers);
  EXPECT_EQ(played(GetParam(), 8, everything, stragglers, 7).clocks, one.clocks);
  EXPECT_NE(played(GetParam(), 8, everything, stragglers_of(noise_of("40us:2us:0.5", 2), 8)).clocks,
            one.clocks);
  EXPECT_NE(one.end, played(GetParam(), 8, everything, nullptr).end);
}

/// Work is the processor's time minus its detours.
TEST(Noise, TakesItsShareOfTheProcessor) {
  for (const char* const text : {"1ms:25us", "1ms:250us:1", "100us:99us:0.3", "1ms:1ns"}) {
    const StragglerOptions options = noise_of(text);
    const auto stragglers = stragglers_of(options, 4);
    const Time period = options.noise.period;
    const Time length = options.noise.length;
    for (int rank = 0; rank < 4; ++rank) {
      const Time begin = Time::ps(rank * 123'456'789);
      const Time work = period * 1000;
      const double taken = (stragglers->end_of(rank, begin, work) - begin).seconds();
      EXPECT_NEAR(taken, work.seconds() / (1 - length.seconds() / period.seconds()), 2 * period.seconds())
          << text;
    }
  }
}

TEST(Noise, DoesNotDependOnTheParts) {
  const auto stragglers = stragglers_of(noise_of("7us:1us:1"), 1);
  std::uint64_t state = 5;
  for (int round = 0; round < 200; ++round) {
    const Time begin = Time::ps(static_cast<std::int64_t>(splitmix(state) % 50'000'000));
    Time at = begin;
    Time sum;
    for (int part = 0; part < 20; ++part) {
      const Time work = Time::ps(1 + static_cast<std::int64_t>(splitmix(state) % 3'000'000));
      at = stragglers->end_of(0, at, work);
      sum += work;
    }
    EXPECT_EQ(at, stragglers->end_of(0, begin, sum));
  }
}

TEST(Noise, IsBoundedForTheLongestWork) {
  const auto stragglers = stragglers_of(noise_of("1us:0.99us:1"), 1);
  const Time longest = Time::ps(std::int64_t{1} << 61);
  EXPECT_EQ(stragglers->end_of(0, longest, longest), Time::ps(std::int64_t{1} << 62));
}

Task<void> steps(RankHandle& rank, int rounds, Time work) {
  for (int round = 0; round < rounds; ++round) {
    rank.compute(work);
    co_await rank.synchronize(rank.world_communicator());
  }
}

/// All ranks wait for the one that is disturbed: with N ranks, a step is late if any of them is. A detour
/// that begins while a rank works delays it by its whole length, one that began before by less.
TEST(Noise, OnOneRankDelaysAllRanksThatSynchronize) {
  constexpr int kRounds = 4000;
  const Time work = Time::us(100);
  for (const int ranks : {1, 4, 16, 64}) {
    const StragglerOptions options = noise_of("10ms:50us:1");
    const auto program = [&](RankHandle& rank) { return steps(rank, kRounds, work); };
    const Time end = played("host", ranks, program, stragglers_of(options, ranks)).end;
    const double late = (end - work * kRounds).seconds() / kRounds;
    const double length = options.noise.length.seconds();
    const auto any = [&](double window) {
      return 1 - std::pow(1 - window / options.noise.period.seconds(), ranks);
    };
    EXPECT_GT(late, length * any(work.seconds()) * 0.9) << ranks;
    EXPECT_LT(late, length * any(work.seconds() + length) * 1.1) << ranks;
  }
}

/// Petrini's remedy: simultaneous detours on all processors cost as much as those of one.
TEST(Noise, CostsOnlyItsShareIfItIsSimultaneous) {
  constexpr int kRounds = 4000;
  const Time work = Time::us(100);
  StragglerOptions options = noise_of("10ms:50us");
  options.noise.is_aligned = true;
  const auto program = [&](RankHandle& rank) { return steps(rank, kRounds, work); };
  const SceneResult together = played("host", 64, program, stragglers_of(options, 64));
  EXPECT_EQ(together.clocks, std::vector<Time>(64, together.end));
  EXPECT_NEAR((together.end - work * kRounds).seconds(), (work * kRounds).seconds() * 0.005 / 0.995, 60e-6);
}

/// A waiting rank is not delayed: its detours cost nothing.
TEST(Noise, IsAbsorbedByRanksThatWait) {
  const auto program = [](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) {
      rank.compute(Time::ms(5));
      (void)co_await rank.send(1, 8);
    } else {
      (void)co_await rank.receive(0, 8);
    }
  };
  const auto slow = stragglers_of(noise_of("100us:10us"), 2);
  const SceneResult without = played("host", 2, program, nullptr);
  const SceneResult with = played("host", 2, program, slow);
  EXPECT_GE(with.clocks[0], without.clocks[0] + Time::us(10) * 50);
  // At most one detour behind the last byte, and one during its receive.
  EXPECT_LE(with.clocks[1] - with.clocks[0], without.clocks[1] - without.clocks[0] + Time::us(20));
  EXPECT_LE(with.straggler_delay[1], Time::us(20));
}

/// The host's algorithms run on the ranks' processors, those of an offload engine do not.
TEST(Noise, DisturbsTheHostMoreThanHardwareThatCarriesACollective) {
  const auto program = [](RankHandle& rank) -> Task<void> {
    for (int round = 0; round < 200; ++round) (void)co_await rank.allreduce(4096);
  };
  const auto noise = stragglers_of(noise_of("50us:10us:1"), 16);
  const auto cost = [&](const char* backend) {
    const SceneResult without = played(backend, 16, program, nullptr);
    return played(backend, 16, program, noise).end.seconds() / without.end.seconds();
  };
  const double host = cost("host");
  EXPECT_GT(host, 1.5);
  EXPECT_LT(cost("cclo"), 1 + (host - 1) / 2);
}

TEST(SlowNodes, AreSlowerOnlyInComputing) {
  StragglerOptions options;
  options.slow = *parse_slow_nodes("1:1.25");
  const auto program = [](RankHandle& rank) -> Task<void> {
    rank.compute(Time::us(800));
    co_return;
  };
  const SceneResult alone = played("host", 4, program, stragglers_of(options, 2, 2));
  EXPECT_EQ(alone.clocks, (std::vector<Time>{Time::us(800), Time::us(800), Time::us(1000), Time::us(1000)}));
  EXPECT_EQ(alone.straggler_delay, (std::vector<Time>{Time(), Time(), Time::us(200), Time::us(200)}));
  const auto met = [](RankHandle& rank) -> Task<void> {
    rank.compute(Time::us(800));
    co_await rank.synchronize(rank.world_communicator());
    (void)co_await rank.allreduce(65536);
  };
  EXPECT_EQ(played("host", 4, met, stragglers_of(options, 2, 2)).end,
            played("host", 4, met, nullptr).end + Time::us(200));
}

TEST(SlowNodes, AreDrawnBySeed) {
  StragglerOptions options;
  options.slow = *parse_slow_nodes("random:3:2");
  const auto slow = [&](std::uint64_t seed) {
    options.seed = seed;
    std::vector<int> nodes;
    const auto stragglers = stragglers_of(options, 16);
    for (int rank = 0; rank < 16; ++rank) {
      if (stragglers->computed(rank, Time::us(1)) == Time::us(2)) nodes.push_back(rank);
    }
    EXPECT_EQ(nodes.size(), 3U);
    return nodes;
  };
  EXPECT_EQ(slow(1), slow(1));
  EXPECT_NE(slow(1), slow(2));
}

/// The random numbers belong to the machine.
TEST(SlowNodes, AreWhereTheMachineHasThem) {
  StragglerOptions options;
  options.slow = *parse_slow_nodes("6:2");
  const auto made = Stragglers::make(options, {2, 6}, 8, {});
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ((*made)->computed(0, Time::us(1)), Time::us(1));
  EXPECT_EQ((*made)->computed(1, Time::us(1)), Time::us(2));
  EXPECT_EQ(Stragglers::make(options, {0, 1}, 4, {}).error(),
            "node 6 does not exist: the machine has nodes 0 to 3");
  options.slow = *parse_slow_nodes("random:3:2");
  EXPECT_THAT(Stragglers::make(options, {0, 1}, 4, {}).error(), HasSubstr("3 slow nodes are requested"));
}

TEST(AReplay, ReportsTheCostOfStragglers) {
  static const Registry registry{built_in_backends()};
  Configuration configuration;
  configuration.stragglers = noise_of("20us:5us");
  const Pattern pattern = *parse_pattern("pattern:alltoall:8:65536:4");
  const ReplaySource source{pattern.ranks, [pattern](int rank) { return pattern.read(rank); }};
  const auto replayed = [&] {
    auto setting = world_setting(configuration, registry, *registry.find("host"), source.ranks);
    auto result = replay(*setting, source);
    EXPECT_TRUE(result) << result.error();
    return std::move(*result);
  };
  const ReplayResult with = replayed();
  configuration.stragglers = {};
  const ReplayResult without = replayed();
  EXPECT_FALSE(without.disturbance());
  ASSERT_TRUE(with.disturbance());
  EXPECT_EQ(with.disturbance()->undisturbed, without.modelled_time);
  EXPECT_GT(with.modelled_time, without.modelled_time);
  EXPECT_GT(with.disturbance()->longest, Time());
}

TEST(StragglerTexts, AreRefusedOutOfBounds) {
  EXPECT_EQ(parse_noise("1000:25")->period, Time::ms(1));
  EXPECT_EQ(parse_noise("1ms:25us:0.5")->jitter, 0.5);
  EXPECT_FALSE(parse_noise("none")->any());
  for (const char* const text : {"", "1ms", "1ms:", ":1us", "1ms:1ms", "1us:2us", "1ms:-1us", "0:0",
                                 "1ms:1us:2", "1ms:1us:0:0", "1ms:1GiB", "2000s:1us", "fast:slow"})
    EXPECT_FALSE(parse_noise(text)) << text;
  EXPECT_EQ(parse_slow_nodes("3,8-10:1.5")->nodes, (std::vector<int>{3, 8, 9, 10}));
  for (const char* const text :
       {"", "3", "3:0.5", "3:1001", ":2", "a:2", "9-8:2", "random:2", "random:0:2", "random:x:2", "3:1.5:2"})
    EXPECT_FALSE(parse_slow_nodes(text)) << text;
}

}  // namespace
}  // namespace offramp
