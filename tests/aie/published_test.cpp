// The model against the measurements of the original document: tables 3.1, 4.1 and 4.2.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/aie/support.hpp"

namespace offramp::aie {
namespace {

struct Row {
  int levels;
  int window;
  double tree_time;   // cycles, median of 10 first calls
  double level_time;  // cycles, median of the other 1023
};
constexpr Row kRows[] = {{3, 16, 1246.5, 729},       {4, 16, 1783.5, 729},       {5, 16, 2247.5, 729},
                         {6, 16, 2780, 729},         {3, 8192, 379373, 170384},  {4, 8192, 551618.5, 170384},
                         {3, 4096, 189946.5, 85391}, {4, 4096, 276165.5, 85404}, {5, 4096, 362667.5, 85392},
                         {6, 4096, 449123, 85391},   {3, 2048, 94189, 42895},    {3, 1024, 47343, 21647},
                         {3, 512, 23907, 11023},     {3, 256, 12208, 5709},      {3, 128, 6344, 3053},
                         {3, 64, 3408, 1725},        {3, 32, 1949, 1061}};

struct Times {
  double tree;
  double level;
};
Times modelled(const Row& row) {
  const Timing& timing = published_timing();
  const Tree tree = Tree::filled((1 << row.levels) - 1, 2);
  const Plan plan = plan_of(tree, row.window, row.window);
  EXPECT_EQ(plan.limit, "");
  const auto window = static_cast<std::size_t>(row.window);
  ReduceOptions options;
  options.calls = 4;
  options.begins.assign(static_cast<std::size_t>(tree.size()), Time());
  options.begins[0] = timing.cycles(timing.costs().skew);
  const Run run = run_reduce(timing, tree, plan, {{window, window}}, options);
  EXPECT_TRUE(run.ok);
  std::vector<Time> later(run.calls.begin() + 1, run.calls.end());
  std::sort(later.begin(), later.end());
  return {timing.in_cycles(run.calls.front()), timing.in_cycles(later[later.size() / 2])};
}

double error(double model, double measured) {
  return 100 * (measured - model) / measured;
}

TEST(PublishedTreeTimes, AreMetWithinOnePercent) {
  double sum = 0;
  double worst = 0;
  for (const Row& row : kRows) {
    const Times times = modelled(row);
    const double tree = error(times.tree, row.tree_time);
    const double level = error(times.level, row.level_time);
    std::printf("%d %5d  %9.1f %9.1f %6.2f %%  %7.0f %7.0f %6.2f %%\n", row.levels, row.window, row.tree_time,
                times.tree, tree, row.level_time, times.level, level);
    EXPECT_LT(std::abs(tree), 0.55) << row.levels << " levels, " << row.window << " B";
    EXPECT_LT(std::abs(level), 0.02) << row.levels << " levels, " << row.window << " B";
    worst = std::max(worst, std::abs(tree));
    sum += std::abs(tree);
  }
  EXPECT_LT(sum / static_cast<double>(std::size(kRows)), 0.13);
  std::printf("worst %.2f %%, mean %.3f %%\n", worst, sum / static_cast<double>(std::size(kRows)));
}

TEST(PublishedLatencies, AreMetWithinOnePercent) {
  struct Latency {
    int distance;
    double cycles;
  };
  for (const Latency row :
       {Latency{1, 98.5}, {10, 164}, {19, 200}, {28, 236}, {37, 272}, {46, 308}, {56, 346}}) {
    Connection connection;
    connection.shared = row.distance == 1;
    if (!connection.shared) connection.route.assign(static_cast<std::size_t>(row.distance), Direction::kEast);
    const double model = published_timing().in_cycles(ping_pong(published_timing(), connection));
    std::printf("%2d  %6.1f %6.1f %6.2f %%\n", row.distance, row.cycles, model, error(model, row.cycles));
    EXPECT_LT(std::abs(error(model, row.cycles)), 0.6) << row.distance;
  }
}

}  // namespace
}  // namespace offramp::aie
