// Placement, windows in modules, and routes keep all limits; tests/aie/checker.hpp checks them independently.
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "tests/aie/checker.hpp"
#include "tests/aie/support.hpp"

namespace offramp::aie {
namespace {

// Seconds of processor time. Instrumented code takes ten times as long, and longer if two programs share a
// core.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kLimit = 60;
#else
constexpr double kLimit = 1;
#endif

struct Planned {
  Plan plan;
  double seconds;
  int shared;
};
Planned checked(const Tree& tree, int window, int data, Placement placement) {
  const ArraySpec array;
  Graph graph = graph_of(tree, window, data);
  graph.to_host.push_back(0);
  const std::clock_t begin = std::clock();  // processor time, because other programs may run on the machine
  Planned planned{plan_tree(array, tree, graph, placement), 0, 0};
  planned.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (planned.plan.ok()) {
    EXPECT_EQ(check_plan(graph, planned.plan), "");
    for (const Connection& c : planned.plan.connections) planned.shared += c.shared ? 1 : 0;
  }
  return planned;
}

TEST(Plans, PlaceTreesThatTheOriginalToolsCouldNotPlace) {
  for (const int kernels : {127, 255}) {
    for (const Placement placement : {Placement::kAuto, Placement::kSnake, Placement::kRefined}) {
      const Planned planned = checked(Tree::filled(kernels, 2), 16, 16, placement);
      EXPECT_EQ(planned.plan.limit, "");
      EXPECT_LT(planned.seconds, kLimit);
      std::printf("%d kernels, placement %d: %.3f s, %d shared\n", kernels, static_cast<int>(placement),
                  planned.seconds, planned.shared);
    }
  }
}

TEST(Plans, PlaceNAryTreesThatFillTheArray) {
  for (int arity = 2; arity <= 13; ++arity) {
    const Planned planned = checked(Tree::filled(400, arity), 16, 16, Placement::kAuto);
    std::printf("%d-ary, 400 kernels: %.3f s, %d shared %s\n", arity, planned.seconds, planned.shared,
                planned.plan.limit.c_str());
    EXPECT_LT(planned.seconds, kLimit);
    if (arity <= 10) {
      EXPECT_EQ(planned.plan.limit, "") << arity;
    }
  }
}

TEST(Plans, WithLargeWindows) {
  for (const auto& [kernels, window, data] : {std::tuple{127, 4096, 4096},
                                              {255, 4096, 4096},
                                              {127, 8192, 8192},
                                              {255, 8192, 8192},
                                              {255, 2048, 24576},
                                              {63, 8192, 8192}}) {
    const Planned planned = checked(Tree::filled(kernels, 2), window, data, Placement::kAuto);
    std::printf("%d kernels, %d B windows, %d B data: %.3f s, %d shared %s\n", kernels, window, data,
                planned.seconds, planned.shared, planned.plan.limit.c_str());
    EXPECT_LT(planned.seconds, kLimit);
  }
}

TEST(Plans, LeaveTheMemoryOfTheProgramsKernelsAlone) {
  ArraySpec array;
  array.user_bytes = 20480;
  const Tree tree = Tree::filled(127, 2);
  for (const int window : {16, 512, 1024, 2048}) {
    Graph graph = graph_of(tree, window, 4096);
    graph.to_host.push_back(0);
    const Plan plan = plan_tree(array, tree, graph, Placement::kAuto);
    EXPECT_EQ(plan.limit, "") << window;
    EXPECT_EQ(check_plan(graph, plan, array.user_bytes), "") << window;
  }
  const Graph large = graph_of(tree, 16, 10209);
  EXPECT_EQ(
      plan_tree(array, tree, large, Placement::kAuto).limit,
      "10209 B of local data with 2080 B of stack, heap and synchronisation and 20480 B of the program's "
      "kernels take 32769 B of a module's 32768 B");
}

// One kernel in one module: its data and its output share a double bank, or have one each.
TEST(Plans, CountTheAccessesThatMeetInADoubleBank) {
  ArraySpec array;
  array.rows = array.columns = 1;
  const Tree tree = Tree::filled(1, 2);
  Graph graph = graph_of(tree, 1024, 1024);
  graph.to_host.push_back(0);
  const auto meeting = [&](int banks, int data) {
    array.banks = banks;
    graph.data_bytes = data;
    return plan_tree(array, tree, graph, Placement::kSnake).meeting;
  };
  EXPECT_EQ(meeting(8, 1024), std::vector{1});
  EXPECT_EQ(meeting(2, 1024), std::vector{2});
  EXPECT_EQ(meeting(4, 1024), std::vector{1});
  graph.from_host.push_back(0);
  EXPECT_EQ(meeting(4, 1024), std::vector{2}) << "three in two double banks";
  EXPECT_EQ(meeting(4, 0), std::vector{1}) << "streamed";
}

TEST(VectorCode, TakesACycleForEachAccessThatMeetsOthers) {
  const Timing& timing = published_timing();
  EXPECT_EQ(timing.reduce(Code::kVector, 2, 256, 1024, 1, 2), timing.cycles(2 * 32 + 35));
  EXPECT_EQ(timing.reduce(Code::kVector, 2, 256, 1024, 1, 4), timing.cycles(4 * 32 + 35));
  EXPECT_EQ(timing.reduce(Code::kScalar, 2, 256, 1024, 1, 4), timing.cycles(83 * 256));
}

TEST(Plans, AreDeterministic) {
  const Tree tree = Tree::filled(100, 6);
  const Plan first = plan_of(tree, 64, 64, Placement::kRefined);
  const Plan second = plan_of(tree, 64, 64, Placement::kRefined);
  EXPECT_EQ(first.tiles, second.tiles);
  for (std::size_t i = 0; i < first.connections.size(); ++i)
    EXPECT_EQ(first.connections[i].route, second.connections[i].route);
}

TEST(Plans, KeepEveryLimitWithAThousandRandomTrees) {
  std::mt19937 random(7);
  const ArraySpec array;
  int placed = 0;
  int declined = 0;
  for (int i = 0; i < 1000; ++i) {
    const int kernels = 1 + static_cast<int>(random() % (i % 10 == 0 ? 400 : 120));
    const int most = 1 + static_cast<int>(random() % 13);
    std::vector<int> parents = {-1};
    std::vector<int> children = {0};
    while (static_cast<int>(parents.size()) < kernels) {
      const std::size_t parent = random() % parents.size();
      if (children[parent] == most) continue;
      ++children[parent];
      parents.push_back(static_cast<int>(parent));
      children.push_back(0);
    }
    const int window = 16 << (random() % 9);
    const int data = static_cast<int>(random() % 20000);
    const Tree tree((std::vector<int>(parents)));
    Graph graph = graph_of(tree, window, data);
    if (most < 13) graph.to_host.push_back(0);
    const Placement placement = random() % 20 == 0 ? Placement::kRefined : Placement::kSnake;
    const Plan plan = plan_tree(array, tree, graph, placement);
    plan.ok() ? ++placed : ++declined;
    if (plan.ok()) {
      ASSERT_EQ(check_plan(graph, plan), "") << "tree " << i;
    }
  }
  std::printf("%d placed, %d declined\n", placed, declined);
  EXPECT_GT(placed, 500);
}

}  // namespace
}  // namespace offramp::aie
