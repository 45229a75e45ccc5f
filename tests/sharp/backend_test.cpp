// Verdicts, and the bits of results: sums follow the order of the switches.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>

#include "tests/cluster.hpp"
#include "tests/sharp/support.hpp"

namespace offramp::sharp {
namespace {

using test::operation_of;
using testing::HasSubstr;
using testing::IsEmpty;

std::string reason(const Operation& operation, const test::Values& values = {}) {
  const Settings settings = test::settings_with(values);
  return std::string(sharp_backend().create({0, operation.ranks, settings, {}})->supports(operation).reason);
}

Operation reduction(ElementType element, ReduceFunction function, std::size_t bytes = 8) {
  Operation operation = operation_of(OperationKind::kAllreduce, 4, bytes);
  operation.element = element;
  operation.function = function;
  return operation;
}

TEST(SharpVerdict, ByKind) {
  for (const OperationKind kind :
       {OperationKind::kAllreduce, OperationKind::kReduce, OperationKind::kBcast, OperationKind::kBarrier})
    EXPECT_EQ(reason(operation_of(kind, 4, 8)), "") << to_string(kind);
  for (const OperationKind kind : {OperationKind::kReduceScatter, OperationKind::kAllgather}) {
    EXPECT_THAT(reason(operation_of(kind, 4, 8)), HasSubstr("too short"));
    EXPECT_EQ(reason(operation_of(kind, 4, 4096)), "");
    EXPECT_THAT(reason(operation_of(kind, 4, 4096), {{"streaming", {0, {}}}}), HasSubstr("too short"));
  }
  EXPECT_THAT(reason(operation_of(OperationKind::kSend, 2, 8)), HasSubstr("carry no messages"));
  for (const OperationKind kind : {OperationKind::kGather, OperationKind::kScatter, OperationKind::kAlltoall,
                                   OperationKind::kScan, OperationKind::kAllgatherv})
    EXPECT_EQ(reason(operation_of(kind, 4, 8)), "the hardware has no such collective") << to_string(kind);
  EXPECT_THAT(reason(operation_of(OperationKind::kBarrier, 3, 0), {{"least_ranks", {4, {}}}}),
              HasSubstr("host"));
}

TEST(SharpVerdict, ByElementAndFunction) {
  const std::vector<ElementType> integers = {ElementType::kInt8,   ElementType::kInt16, ElementType::kInt32,
                                             ElementType::kInt64,  ElementType::kUint8, ElementType::kUint16,
                                             ElementType::kUint32, ElementType::kUint64};
  for (const ElementType element : integers) {
    for (const ReduceFunction function :
         {ReduceFunction::kSum, ReduceFunction::kMinimum, ReduceFunction::kMaximum, ReduceFunction::kBitAnd,
          ReduceFunction::kBitOr, ReduceFunction::kBitXor, ReduceFunction::kLogicalAnd})
      EXPECT_EQ(reason(reduction(element, function)), "");
    EXPECT_THAT(reason(reduction(element, ReduceFunction::kProduct)), HasSubstr("sums"));
  }
  for (const ElementType element : {ElementType::kFloat32, ElementType::kFloat64}) {
    EXPECT_EQ(reason(reduction(element, ReduceFunction::kSum)), "");
    EXPECT_THAT(reason(reduction(element, ReduceFunction::kBitOr)), HasSubstr("integers only"));
  }
  for (const ElementType element :
       {ElementType::kFloatExtended, ElementType::kComplex, ElementType::kPair, ElementType::kMixed})
    EXPECT_NE(reason(reduction(element, ReduceFunction::kSum)), "");
  EXPECT_NE(reason(reduction(ElementType::kPair, ReduceFunction::kMaximumLocation)), "");
  Operation ordered = reduction(ElementType::kInt32, ReduceFunction::kSum);
  ordered.commutative = false;
  EXPECT_EQ(reason(ordered), "the switches combine in their own order");
  EXPECT_THAT(reason(reduction(ElementType::kInt16, ReduceFunction::kSum), {{"preset", {0, "switch_ib2"}}}),
              HasSubstr("32 and 64 bits"));
}

TEST(SharpVerdict, FollowsTheLimitsOfSlingshot) {
  const test::Values slingshot = {{"preset", {0, "slingshot"}}};
  EXPECT_EQ(reason(reduction(ElementType::kFloat64, ReduceFunction::kSum, 32), slingshot), "");
  EXPECT_EQ(reason(reduction(ElementType::kInt64, ReduceFunction::kMinimum, 32), slingshot), "");
  EXPECT_EQ(reason(reduction(ElementType::kUint8, ReduceFunction::kBitXor, 32), slingshot), "");
  EXPECT_THAT(reason(reduction(ElementType::kFloat64, ReduceFunction::kSum, 40), slingshot),
              HasSubstr("low_latency_limit"));
  EXPECT_THAT(reason(reduction(ElementType::kFloat32, ReduceFunction::kSum), slingshot),
              HasSubstr("int64 and double"));
  EXPECT_THAT(reason(reduction(ElementType::kInt32, ReduceFunction::kBitAnd), slingshot),
              HasSubstr("unsigned"));
  EXPECT_THAT(reason(operation_of(OperationKind::kAllgather, 4, 1 << 20), slingshot), HasSubstr("blocks"));
  test::Values exact = slingshot;
  exact.push_back({"reproducible", {1, {}}});
  EXPECT_EQ(reason(reduction(ElementType::kFloat64, ReduceFunction::kSum, 8), exact), "");
  EXPECT_THAT(reason(reduction(ElementType::kFloat64, ReduceFunction::kSum, 16), exact),
              HasSubstr("one double"));
  EXPECT_EQ(reason(reduction(ElementType::kFloat64, ReduceFunction::kMaximum, 16), exact), "");
}

TEST(SharpVerdict, BySize) {
  EXPECT_EQ(reason(operation_of(OperationKind::kAllreduce, 4, 8192)), "");
  EXPECT_THAT(reason(operation_of(OperationKind::kAllreduce, 4, 8200)), HasSubstr("too short for a stream"));
  EXPECT_EQ(reason(operation_of(OperationKind::kAllreduce, 4, 16384)), "");
  EXPECT_EQ(reason(operation_of(OperationKind::kAllreduce, 4, (1U << 30) - 32)), "");
  EXPECT_THAT(reason(operation_of(OperationKind::kAllreduce, 4, (1U << 30) - 24)), HasSubstr("1 GiB"));
  EXPECT_THAT(reason(operation_of(OperationKind::kAllgather, 4, std::size_t{1} << 62)), HasSubstr("1 GiB"));
  const test::Values old = {{"preset", {0, "switch_ib2"}}};
  EXPECT_EQ(reason(operation_of(OperationKind::kAllreduce, 4, 4096), old), "");
  EXPECT_THAT(reason(operation_of(OperationKind::kAllreduce, 4, 4104), old), HasSubstr("low_latency_limit"));
}

/// Addends whose sum depends on their order.
double addend(int rank) {
  return (rank % 3 == 0 ? 1e16 : 1.0) / (1 + rank * 7 % 11) * (rank % 2 == 0 ? 1 : -1);
}

struct Shape {
  int ranks;
  int ranks_per_node;
  std::string topology;
  std::string placement;
};

/// The order of addition, from a description of the tree that is independent of the backend's: ranks of a
/// node by a tree of four, nodes of a switch, switches of a spine, each in the order of the lowest rank.
double sum_of_switches(const Shape& shape, const SwitchMap* map) {
  const std::function<double(int, int)> of_node = [&](int first, int ranks) {
    int size = 1;
    while (size * 4 < ranks) size *= 4;
    if (ranks <= 1) return addend(first);
    double sum = of_node(first, std::min(size, ranks));
    for (int at = size; at < ranks; at += size) sum += of_node(first + at, std::min(size, ranks - at));
    return sum;
  };
  std::vector<std::pair<int, double>> switches;  // in the order of the lowest rank
  for (int first = 0; first < shape.ranks; first += shape.ranks_per_node) {
    const double sum = of_node(first, std::min(shape.ranks_per_node, shape.ranks - first));
    const int number = map == nullptr ? 0 : map->switch_of(first / shape.ranks_per_node);
    auto found =
        std::find_if(switches.begin(), switches.end(), [&](const auto& s) { return s.first == number; });
    if (found == switches.end()) {
      switches.emplace_back(number, sum);
    } else {
      found->second += sum;
    }
  }
  double all = switches.front().second;
  for (std::size_t i = 1; i < switches.size(); ++i) all += switches[i].second;
  return all;
}

TEST(SharpBits, AreThoseOfTheSwitchesOrder) {
  std::map<double, int> different;
  for (const Shape& shape : {Shape{7, 1, "star", "order"}, Shape{16, 1, "fat-tree:4", "order"},
                             Shape{16, 1, "fat-tree:4", "scattered"}, Shape{12, 1, "fat-tree:4", "random:9"},
                             Shape{21, 6, "star", "order"}, Shape{40, 5, "fat-tree:2", "scattered"}}) {
    ClusterOptions options;
    options.machine.ranks_per_node = shape.ranks_per_node;
    test::Scene setup;
    setup.topology = shape.topology;
    setup.placement = shape.placement;
    options.machine.switches = switches_of(test::network_of(setup), shape.ranks, options.machine);
    const double expected = sum_of_switches(shape, options.machine.switches.get());
    Cluster cluster(shape.ranks, sharp_backend(), test::settings_with({}), options);
    std::vector<double> got(static_cast<std::size_t>(shape.ranks));
    double at_root = 0;
    const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
      const double own = addend(rank.rank());
      double& all = got[static_cast<std::size_t>(rank.rank())];
      DoubleSum sum;
      co_await rank.allreduce(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(&all, 1)),
                              sum);
      double one = 0;
      DoubleSum again;
      const int root = rank.size() - 1;
      co_await rank.reduce(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(&one, 1)),
                           root, again);
      if (rank.rank() == root) at_root = one;
    });
    EXPECT_EQ(stuck, "");
    for (const double each : got) EXPECT_EQ(each, expected) << shape.topology << " " << shape.placement;
    EXPECT_EQ(at_root, expected);
    if (shape.ranks == 16) ++different[expected];
  }
  EXPECT_EQ(different.size(), 2U);  // the placement of nodes changes the bits
}

TEST(SharpDescription, SettingsThatHaveNoEffectAreNamed) {
  const auto without = without_effect(test::settings_with({{"preset", {0, "switch_ib2"}}}));
  EXPECT_EQ(without.size(), 4U);
  EXPECT_THAT(without_effect(test::settings_with({})), IsEmpty());
}

}  // namespace
}  // namespace offramp::sharp
