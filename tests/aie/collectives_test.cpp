// The backend's collectives: the results are MPI's, and the times in a world are those of the array in one
// process.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "backends/aie/aie.hpp"
#include "backends/aie/parameters.hpp"
#include "tests/aie/support.hpp"
#include "tests/aie/whole_array.hpp"
#include "tests/cluster.hpp"
#include "tests/engine/support.hpp"
#include "tests/timed_cluster.hpp"

namespace offramp::aie {
namespace {

using test::Buffer;
using test::pattern;
using Values = std::vector<std::pair<std::string, Settings::Value>>;

Settings settings_with(const Values& values) {
  Settings settings = Settings::defaults(aie_backend().parameters);
  for (const auto& [name, value] : values) settings.set(name, value);
  return settings;
}
Values tiles_only(Values more = {}) {
  more.emplace_back("data", Settings::Value{0, "tiles"});
  more.emplace_back("command", Settings::Value{0, {}});
  more.emplace_back("skew", Settings::Value{0, {}});
  return more;
}

/// Checks that the backend carried everything and declined nothing.
void expect_carried(Cluster& cluster) {
  for (int rank = 0; rank < cluster.ranks(); ++rank) {
    for (const auto& [what, count] : cluster.engine(rank).lane().counters.declines)
      ADD_FAILURE() << what.first << " declined on " << cluster.ranks() << " ranks: " << what.second;
  }
}

std::int32_t number_at(std::size_t i, int rank) {
  return static_cast<std::int32_t>(i * 7) + rank * 1000;
}
std::vector<std::int32_t> numbers(std::size_t count, int rank) {
  std::vector<std::int32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = number_at(i, rank);
  return values;
}
template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}
template <typename T>
MutableBytes bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}
std::int32_t sum_at(std::size_t i, int ranks) {
  return static_cast<std::int32_t>(i * 7) * ranks + 1000 * ranks * (ranks - 1) / 2;
}

Task<void> everything(ClusterRank& rank, std::size_t count, bool in_place) {
  const int ranks = rank.size();
  const auto all = static_cast<std::size_t>(ranks);
  const std::size_t bytes = count * sizeof(std::int32_t);
  const Elements ints{ElementType::kInt32, sizeof(std::int32_t)};
  Int32Sum sum;
  for (int root = 0; root < ranks; ++root) {
    const bool here = rank.rank() == root;
    std::vector<std::int32_t> own = numbers(count, rank.rank());
    std::vector<std::int32_t> result(count, -1);
    const bool same = in_place && here;
    EXPECT_EQ(co_await rank.reduce(bytes_of(own), same ? bytes_of(own) : bytes_of(result), root, sum),
              Outcome::kOk);
    for (std::size_t i = 0; here && i < count; ++i) {
      EXPECT_EQ((same ? own : result)[i], sum_at(i, ranks));
    }

    std::vector<std::int32_t> spread = numbers(count, here ? 77 : 0);
    EXPECT_EQ(co_await rank.bcast(bytes_of(spread), root, ints), Outcome::kOk);
    EXPECT_EQ(spread, numbers(count, 77));

    std::vector<std::int32_t> gathered(count * all, -1);
    own = numbers(count, rank.rank());
    Bytes block = bytes_of(std::as_const(own));
    if (same) {
      std::copy(own.begin(), own.end(), gathered.begin() + static_cast<std::ptrdiff_t>(count) * root);
      block = bytes_of(std::as_const(gathered)).subspan(bytes * static_cast<std::size_t>(root), bytes);
    }
    EXPECT_EQ(co_await rank.gather(block, bytes_of(gathered), root, ints), Outcome::kOk);
    for (std::size_t i = 0; here && i < gathered.size(); ++i)
      EXPECT_EQ(gathered[i], number_at(i % count, static_cast<int>(i / count)));

    std::vector<std::int32_t> blocks;
    for (int i = 0; i < ranks; ++i) {
      const std::vector<std::int32_t> one = numbers(count, i + root);
      blocks.insert(blocks.end(), one.begin(), one.end());
    }
    EXPECT_EQ(co_await rank.scatter(bytes_of(blocks), bytes_of(result), root, ints), Outcome::kOk);
    EXPECT_EQ(result, numbers(count, rank.rank() + root));
  }
  std::vector<std::int32_t> own = numbers(count, rank.rank());
  std::vector<std::int32_t> result(count, -1);
  EXPECT_EQ(co_await rank.allreduce(bytes_of(own), in_place ? bytes_of(own) : bytes_of(result), sum),
            Outcome::kOk);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ((in_place ? own : result)[i], sum_at(i, ranks));
  std::vector<std::int32_t> gathered(count * all, -1);
  own = numbers(count, rank.rank());
  EXPECT_EQ(co_await rank.allgather(bytes_of(own), bytes_of(gathered), ints), Outcome::kOk);
  for (std::size_t i = 0; i < gathered.size(); ++i)
    EXPECT_EQ(gathered[i], number_at(i % count, static_cast<int>(i / count)));
  std::vector<std::int32_t> sent;
  for (int to = 0; to < ranks; ++to) {
    const std::vector<std::int32_t> one = numbers(count, 10 * rank.rank() + to);
    sent.insert(sent.end(), one.begin(), one.end());
  }
  std::vector<std::int32_t> got(sent.size(), -1);
  EXPECT_EQ(co_await rank.alltoall(bytes_of(sent), bytes_of(got), ints), Outcome::kOk);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i], number_at(i % count, 10 * static_cast<int>(i / count) + rank.rank()));
  std::vector<std::int32_t> part(count, -1);
  EXPECT_EQ(co_await rank.reduce_scatter(bytes_of(sent), bytes_of(part), sum), Outcome::kOk);
  for (std::size_t i = 0; i < count; ++i)
    EXPECT_EQ(part[i], sum_at(i, ranks) + 9000 * ranks * (ranks - 1) / 2 + 1000 * ranks * rank.rank());
  EXPECT_EQ(co_await rank.barrier(), Outcome::kOk);
}

Task<void> sums_of_doubles(ClusterRank& rank, std::size_t count) {
  std::vector<double> own(count);
  for (std::size_t i = 0; i < count; ++i) own[i] = static_cast<double>(i) + rank.rank();
  std::vector<double> result(count);
  DoubleSum sum;
  EXPECT_EQ(co_await rank.allreduce(bytes_of(own), bytes_of(result), sum), Outcome::kOk);
  const int ranks = rank.size();
  for (std::size_t i = 0; i < count; ++i)
    EXPECT_EQ(result[i], static_cast<double>(i) * ranks + ranks * (ranks - 1) / 2);
}

TEST(AieCollectives, GiveTheResultsOfMpi) {
  const std::vector<Values> variants = {
      {},
      tiles_only(),
      {{"gather", {0, "header"}}, {"kernels", {0, "vector"}}},
      {{"gather", {0, "header_in_turns"}}, {"window", {64, {}}}, {"copies", {0, "scalar"}}},
      {{"allreduce", {0, "butterfly"}}, {"arity", {3, {}}}, {"window", {256, {}}}},
      {{"arity", {13, {}}}, {"placement", {0, "refined"}}}};
  for (const Values& values : variants) {
    for (const int ranks : {1, 2, 3, 4, 7}) {
      for (const std::size_t count : {0U, 1U, 3U, 100U, 2500U}) {
        {
          // Where messages are in tiles, the root's tile needs room for all blocks of all ranks.
          if (&values == &variants[1] && count * 4 * static_cast<std::size_t>(ranks * ranks) > 30000)
            continue;
          if (&values == &variants[2] && count == 2500U) continue;
          if (&values == &variants[3] && count == 2500U) continue;
          ClusterOptions options;
          options.eager_limit = ranks % 2 == 0 ? 0 : 8192;
          Cluster cluster(ranks, aie_backend(), settings_with(values), options);
          ASSERT_EQ(cluster.run([=](ClusterRank& rank) { return everything(rank, count, count % 2 == 1); }),
                    "");
          expect_carried(cluster);
        }
      }
    }
  }
}

TEST(AieCollectives, AddNumbersOf64Bits) {
  for (const Values& values :
       {Values{}, Values{{"allreduce", {0, "butterfly"}}, {"kernels", {0, "vector"}}}}) {
    Cluster cluster(4, aie_backend(), settings_with(values));
    ASSERT_EQ(cluster.run([](ClusterRank& rank) { return sums_of_doubles(rank, 700); }), "");
    expect_carried(cluster);
  }
}

TEST(AieCollectives, StreamDataThatExceedsATile) {
  for (const int ranks : {2, 3, 7}) {
    Cluster cluster(ranks, aie_backend());
    ASSERT_EQ(cluster.run([](ClusterRank& rank) { return everything(rank, 60001, false); }), "");
    expect_carried(cluster);
  }
}

// Two implementations of the same tokens (kernels, windows and DMA engines between ranks, and the array in
// one process) agree to the picosecond, whenever the ranks begin.
class BetweenRanks : public testing::TestWithParam<std::tuple<int, std::size_t>> {
 protected:
  int ranks() const { return std::get<0>(GetParam()); }
  std::size_t bytes() const { return std::get<1>(GetParam()); }
  static Time begin(int rank) { return Time::ps(rank * rank % 7 * 300'000); }

  std::vector<Time> clocks(const Values& values, const std::function<Task<void>(TimedRank&)>& program) {
    TimedCluster cluster(ranks(), aie_backend(), settings_with(tiles_only(values)));
    const auto late = [&program](TimedRank& rank) -> Task<void> {
      rank.compute(begin(rank.rank()));
      return program(rank);
    };
    EXPECT_EQ(cluster.run(late), "");
    return cluster.clocks();
  }
  /// Converts times of nodes into times of ranks (the root is rank 0), and back.
  static std::vector<Time> by_rank(const Tree& tree, const std::vector<Time>& ends) {
    std::vector<Time> result;
    for (const int node : tree.preorder()) result.push_back(ends[static_cast<std::size_t>(node)]);
    return result;
  }
  static std::vector<Time> begins(const Tree& tree) {
    std::vector<Time> result;
    for (int node = 0; node < tree.size(); ++node) result.push_back(begin(tree.place_in_preorder(node)));
    return result;
  }
  Plan plan(const Tree& tree, std::size_t window, std::size_t data) const {
    Plan planned =
        plan_of(tree, static_cast<int>(std::bit_ceil(window)), static_cast<int>(std::bit_ceil(data)));
    EXPECT_EQ(planned.limit, "");
    return planned;
  }
};

TEST_P(BetweenRanks, ReduceTakesTheTimeOfTheNetwork) {
  for (const std::size_t window : {std::size_t{64}, std::size_t{8192}}) {
    const std::vector<Time> clocks_seen =
        clocks({{"window", {static_cast<double>(window), {}}}}, [this](TimedRank& rank) -> Task<void> {
          std::vector<std::int32_t> own(bytes() / 4, 1);
          std::vector<std::int32_t> result(bytes() / 4);
          Int32Sum sum;
          co_await rank.reduce(bytes_of(own), bytes_of(result), 0, sum);
        });
    const Tree tree = Tree::filled(ranks(), 2);
    const std::size_t size = edge_window(bytes(), window);
    ReduceOptions options;
    options.begins = begins(tree);
    const auto run =
        run_reduce(published_timing(), tree, plan(tree, size, bytes()), {{bytes(), size}}, options);
    ASSERT_TRUE(run.ok);
    EXPECT_EQ(clocks_seen, by_rank(tree, run.ends)) << window;
  }
}

TEST_P(BetweenRanks, GatherAndScatterTakeTheTimeOfTheNetwork) {
  if (bytes() * static_cast<std::size_t>(ranks()) > 20000) GTEST_SKIP() << "more than a tile holds";
  const Tree tree = Tree::filled(ranks(), 2);
  const std::size_t whole = bytes() * static_cast<std::size_t>(ranks());
  for (const std::size_t window : {std::size_t{64}, std::size_t{8192}}) {
    const Settings::Value largest{static_cast<double>(window), {}};
    for (const auto& [name, design] : {std::pair{"packed", GatherDesign::kPacked},
                                       {"header", GatherDesign::kHeaderSerial},
                                       {"header_in_turns", GatherDesign::kHeaderInTurns}}) {
      const std::vector<Time> seen =
          clocks({{"gather", {0, name}}, {"window", largest}}, [this](TimedRank& rank) -> Task<void> {
            const Buffer own(bytes());
            Buffer all(bytes() * static_cast<std::size_t>(rank.size()));
            co_await rank.gather(own, all, 0);
          });
      const std::size_t size = edge_window(design == GatherDesign::kPacked ? whole : bytes(), window);
      const auto run = run_gather(published_timing(), tree, plan(tree, size, bytes()), bytes(), window,
                                  design, Code::kVector, begins(tree));
      ASSERT_TRUE(run.ok);
      EXPECT_EQ(seen, by_rank(tree, run.ends)) << name << ' ' << window;
    }
    const std::vector<Time> seen = clocks({{"window", largest}}, [this](TimedRank& rank) -> Task<void> {
      Buffer own(bytes());
      const Buffer all(bytes() * static_cast<std::size_t>(rank.size()));
      co_await rank.scatter(all, own, 0);
    });
    const Plan planned = plan(tree, edge_window(whole, window), bytes());
    const auto run =
        run_scatter(published_timing(), tree, planned, bytes(), window, Code::kVector, begins(tree));
    ASSERT_TRUE(run.ok);
    EXPECT_EQ(seen, by_rank(tree, run.ends)) << window;
  }
}

TEST_P(BetweenRanks, BcastTakesTheTimeOfTheNetwork) {
  const std::vector<Time> seen = clocks({{"window", {256, {}}}}, [this](TimedRank& rank) -> Task<void> {
    Buffer data(bytes());
    co_await rank.bcast(data, 0);
  });
  Graph graph;
  graph.kernels = ranks();
  graph.multicast = true;
  for (int kernel = 1; kernel < ranks(); ++kernel) graph.edges.push_back({0, kernel});
  const std::size_t size = edge_window(bytes(), 256);
  graph.window_bytes = static_cast<int>(std::bit_ceil(size));
  graph.data_bytes = static_cast<int>(std::bit_ceil(bytes()));
  std::vector<Time> starts;
  for (int rank = 0; rank < ranks(); ++rank) starts.push_back(begin(rank));
  const auto run = run_bcast(published_timing(), plan_on_snake(ArraySpec(), graph), {bytes(), size},
                             Code::kVector, starts);
  ASSERT_TRUE(run.ok);
  EXPECT_EQ(seen, run.ends);
}

TEST_P(BetweenRanks, ButterflyTakesTheTimeOfTheNetwork) {
  if (!std::has_single_bit(static_cast<unsigned>(ranks()))) GTEST_SKIP() << "not a power of two";
  const std::vector<Time> seen =
      clocks({{"allreduce", {0, "butterfly"}}, {"window", {256, {}}}}, [this](TimedRank& rank) -> Task<void> {
        std::vector<std::int32_t> own(bytes() / 4, 1);
        std::vector<std::int32_t> result(bytes() / 4);
        Int32Sum sum;
        co_await rank.allreduce(bytes_of(own), bytes_of(result), sum);
      });
  const auto rounds = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks()))) - 1;
  const std::size_t size = edge_window(bytes(), 256);
  const Graph graph = butterfly_graph(rounds, static_cast<int>(std::bit_ceil(size)),
                                      static_cast<int>(std::bit_ceil(bytes())));
  std::vector<Time> starts;
  for (int rank = 0; rank < ranks(); ++rank) starts.push_back(begin(rank));
  const Plan plan = plan_apart(ArraySpec(), graph);
  ASSERT_EQ(plan.limit, "");
  const auto run = run_butterfly(published_timing(), rounds, plan, {{bytes(), size}}, starts);
  ASSERT_TRUE(run.ok);
  EXPECT_EQ(seen, run.ends);
}

INSTANTIATE_TEST_SUITE_P(Of, BetweenRanks,
                         testing::Combine(testing::Values(2, 3, 7, 8, 11, 15),
                                          testing::Values(4U, 16U, 1000U, 6000U)));

TEST(AieForecast, CountsTheTreeTimeOfAReduction) {
  const Settings settings = settings_with({{"data", {0, "tiles"}}, {"window", {8192, {}}}});
  Operation operation;
  operation.kind = OperationKind::kReduce;
  operation.element = ElementType::kInt32;
  operation.function = ReduceFunction::kSum;
  struct Row {
    int ranks;
    std::size_t bytes;
    double cycles;
  };
  for (const Row row :
       {Row{7, 16, 1248.5}, {15, 16, 1782.5}, {63, 16, 2783.5}, {7, 32, 1939}, {63, 4096, 448525.5}}) {
    operation.ranks = row.ranks;
    operation.bytes = row.bytes;
    for (const int root : {0, row.ranks - 1}) {
      operation.root = root;
      const Forecast forecast = forecast_of(operation, settings);
      EXPECT_EQ(published_timing().in_cycles(forecast.engine), row.cycles) << row.ranks << ' ' << row.bytes;
      EXPECT_GT(forecast.time, forecast.engine);
    }
  }
}

TEST(AieForecast, DeclinesMoreRanksThanTheArrayHolds) {
  const Settings settings = Settings::defaults(aie_backend().parameters);
  for (const OperationKind kind : {OperationKind::kReduce, OperationKind::kGather, OperationKind::kBcast}) {
    Operation operation;
    operation.kind = kind;
    operation.element = ElementType::kInt32;
    operation.function = ReduceFunction::kSum;
    operation.bytes = 16;
    for (const int ranks : {127, 255, 400, 401}) {
      operation.ranks = ranks;
      const Forecast forecast = forecast_of(operation, settings);
      std::printf("%s %d: %.1f cycles %s\n", std::string(to_string(kind)).c_str(), ranks,
                  published_timing().in_cycles(forecast.engine), forecast.declined.c_str());
      EXPECT_EQ(forecast.declined.empty(), ranks <= 400);
    }
  }
}

}  // namespace
}  // namespace offramp::aie
