// Communication that takes no time, and a replay's figures of the program's computing.
#include "lib/answers/replay/free_communication.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "lib/answers/replay/replay.hpp"
#include "lib/base/registry/registry.hpp"
#include "lib/base/side_by_side.hpp"
#include "lib/programs/import/pattern.hpp"
#include "tests/replay/tape.hpp"

namespace offramp {
namespace {

TEST(FreeCommunication, TakesNoTime) {
  const Registry registry(built_in_backends());
  const BackendDescription& host = *registry.find("host");
  for (const auto& [name, ranks_per_node] :
       {std::pair("pattern:alltoall:16:64KiB", 1), std::pair("pattern:alltoall:16:64KiB", 8),
        std::pair("pattern:incast:16:1MiB", 1), std::pair("pattern:tree:16:1MiB", 4)}) {
    const WorldSetting free = free_communication(
        {host, Settings::defaults(host.parameters), {}, {.ranks_per_node = ranks_per_node}});
    EXPECT_EQ(free.machine.ranks_per_node, ranks_per_node);
    const Result<Pattern> pattern = parse_pattern(name);
    ASSERT_TRUE(pattern) << name;
    const ReplaySource source{pattern->ranks, [made = *pattern](int rank) { return made.read(rank); }};
    const Result<ReplayResult> result = replay(free, source, {});
    ASSERT_TRUE(result) << result.error();
    EXPECT_EQ(result->modelled_time, Time()) << name;
    EXPECT_FALSE(computing_of(*result).any());
    const WholeRun run = whole_run_of(*result);
    EXPECT_EQ(run.end, result->modelled_time);
    EXPECT_LE(run.in_calls, run.sum);
  }
}

constexpr int kPopRanks = 4;

/// One rank computes longer than the others: in turns, or always the same one. All wait for it.
std::vector<test::Tape> imbalance(bool by_turns, std::uint64_t brief, std::uint64_t longer) {
  Operation sum;
  sum.kind = OperationKind::kAllreduce;
  sum.element = ElementType::kFloat64;
  sum.function = ReduceFunction::kSum;
  sum.bytes = sizeof(double);
  sum.elements = 1;
  sum.ranks = kPopRanks;
  std::vector<test::Tape> tapes(kPopRanks);
  for (int step = 0; step < kPopRanks; ++step) {
    for (int rank = 0; rank < kPopRanks; ++rank) {
      test::Tape& tape = tapes[static_cast<std::size_t>(rank)];
      tape.compute(rank == (by_turns ? step : 0) ? longer : brief);
      tape.add(tape.collective(sum));
    }
  }
  return tapes;
}

/// Checks them against the definition of parallel efficiency: the computing over the ranks' time.
std::optional<Efficiencies> efficiencies_over_host(const std::vector<test::Tape>& tapes) {
  const Registry registry(built_in_backends());
  const BackendDescription& host = *registry.find("host");
  const WorldSetting setting{host, Settings::defaults(host.parameters), {}, {}};
  const ReplaySource source = test::source_of(tapes);
  const Result<ReplayResult> result = replay(setting, source, {});
  WholeRuns runs;
  const std::optional<WholeRun> run = runs.run_of(setting, source, {}, *result);
  if (!run) return std::nullopt;
  const Computing& computing = runs.program()->computing;
  const auto efficiencies = efficiencies_of(computing, *run, runs.program()->free);
  if (efficiencies) {
    EXPECT_NEAR(efficiencies->parallel(), computing.sum.seconds() / (kPopRanks * run->end.seconds()), 1e-9);
  }
  return efficiencies;
}

TEST(Efficiencies, CountARankThatAlwaysComputesLongerInTheLoadBalance) {
  const auto one = efficiencies_over_host(imbalance(false, 1'000'000, 3'000'000));
  ASSERT_TRUE(one);
  EXPECT_NEAR(one->load_balance, 0.5, 1e-9);  // (1 + 1 + 1 + 3) / 4 of 3
  EXPECT_NEAR(one->serialisation, 1, 1e-9);
  EXPECT_LT(one->transfer, 1);
  EXPECT_GT(one->transfer, 0.9);
}

TEST(Efficiencies, CountRanksThatComputeLongerByTurnsInTheSerialisation) {
  const auto one = efficiencies_over_host(imbalance(true, 1'000'000, 3'000'000));
  ASSERT_TRUE(one);
  EXPECT_NEAR(one->load_balance, 1, 1e-9);
  EXPECT_NEAR(one->serialisation, 0.5, 1e-9);  // 1 + 1 + 1 + 3 of 4 * 3
}

TEST(Efficiencies, CountLittleComputingInTheTransfer) {
  const auto one = efficiencies_over_host(imbalance(false, 1'000, 1'000));
  ASSERT_TRUE(one);
  EXPECT_LT(one->transfer, 0.5);
  EXPECT_FALSE(efficiencies_over_host(imbalance(false, 0, 0)));
}

TEST(Efficiencies, AreNotKnownWhereThreadsComputeTogether) {
  const WholeRun run{Time::ms(10), Time(), Time::ms(10)};
  EXPECT_FALSE(efficiencies_of({Time::ms(15), Time::ms(15), 1}, run, run));
  EXPECT_TRUE(efficiencies_of({Time::ms(10), Time::ms(10), 1}, run, run));
}

TEST(WorldsAtOnce, AreAsManyAsCoresAndMemoryAllow) {
  ReplaySource source{.ranks = 2, .read = {}, .is_concurrent = true};
  EXPECT_EQ(worlds_at_once(source), usable_cores());
  source.ranks = 1 << 20;
  EXPECT_EQ(worlds_at_once(source), 1U);
  EXPECT_EQ(worlds_at_once({.ranks = 2, .read = {}}), 1U) << "cannot read at once";
}

}  // namespace
}  // namespace offramp
