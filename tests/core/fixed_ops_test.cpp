// The fixed list of operations, whose figures are compared with those under mpirun elsewhere.
#include "tests/core/fixed_ops.hpp"

#include <gtest/gtest.h>

#include <map>

namespace offramp {
namespace {

using Figures = std::map<std::pair<std::string, int>, Time>;

Figures figures(const BackendDescription& backend, const ClusterOptions& options) {
  Cluster cluster(test::kFixedOpsRanks, backend, options);
  Figures all;
  EXPECT_EQ(test::run_fixed_ops(cluster,
                                [&](const std::string& step, int rank, Time clock) {
                                  EXPECT_TRUE(all.emplace(std::pair(step, rank), clock).second)
                                      << step << " twice";
                                }),
            "");
  return all;
}

TEST(TheFixedList, TakesTheSameTimeInEveryOrderOnEveryBackend) {
  for (const BackendDescription* backend : built_in_backends()) {
    const Figures expected = figures(*backend, {});
    EXPECT_EQ(expected.size(), 58U * test::kFixedOpsRanks);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      ClusterOptions options;
      options.shuffle_seed = seed;
      options.eager_limit = seed % 2 == 0 ? 0 : 1000000;
      EXPECT_EQ(figures(*backend, options), expected) << backend->name;
    }
  }
}

TEST(TheFixedList, StartsWithAMessageOfLogGPTimeOnTheHost) {
  const Figures all = figures(test::backend_named("host"), {});
  // The last rank of the ring gets the message after two hops: o + L + o each.
  EXPECT_EQ(all.at({"send/0", 0}), Time::ns(3 * 1500));
}

}  // namespace
}  // namespace offramp
