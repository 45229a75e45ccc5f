// Communication that takes no time, and a replay's figures of the program's computing.
#include "lib/answers/replay/free_communication.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "lib/answers/replay/replay.hpp"
#include "lib/base/registry/registry.hpp"
#include "lib/programs/import/pattern.hpp"

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

}  // namespace
}  // namespace offramp
