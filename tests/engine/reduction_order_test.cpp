// The order of combination that a backend describes is that of the data in a run, and that of the messages in
// a world. Orders are compared as words, such as "((0 + 1) + 2)". tests/cclo and tests/sharp compare it with
// the firmware and with the switches.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/cluster.hpp"
#include "tests/engine/support.hpp"
#include "tests/reduction_orders.hpp"
#include "tests/timed_cluster.hpp"

namespace offramp::reduction_order_test {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

/// A backend, and settings that select other orders. by_messages: in a world, each rank sends its partial sum
/// of a short reduce to its parent as one message.
struct Variant {
  std::string backend;
  Values values = {};
  bool by_messages = false;
};
const Variant kVariants[] = {
    {"cclo", {}, true},
    {"cclo", {{"profile", "gen2"}, {"transport", "tcp"}}, true},
    // Flat reductions add in the order of arrival.
    {"cclo", {{"profile", "gen2"}}},
    {"cclo", {{"profile", "gen2"}, {"reduce_flat_ranks", "0"}, {"reduce_flat_bytes", "0"}}, true},
    {"zrlmpi", {}, true},
    {"zrlmpi", {{"collectives", "linear"}}, true},
    {"aie", {}, true},
    {"aie", {{"allreduce", "butterfly"}}, true},
    {"dpu"},
    {"tinsel", {}, true},
    {"sharp"}};
constexpr int kRanks[] = {1, 2, 3, 4, 5, 8, 13};

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

Operation reduction(OperationKind kind, int ranks, std::size_t elements, int root) {
  Operation operation;
  operation.kind = kind;
  operation.element = ElementType::kInt32;
  operation.function = ReduceFunction::kSum;
  operation.elements = elements;
  operation.bytes = elements * sizeof(std::int32_t);
  operation.ranks = ranks;
  operation.root = root;
  return operation;
}

std::vector<std::int32_t> described(DataCarrier& carrier, const Operation& operation,
                                    Expressions& expressions) {
  return combined_in_order<std::int32_t>(
      carrier, operation, [](int rank, std::size_t) { return Expressions::contribution(rank); },
      [&](std::int32_t in, std::int32_t inout) { return expressions.sum(in, inout); });
}

/// The results of all ranks, by rank; empty where a rank has none.
std::vector<std::vector<std::int32_t>> combined_in_run(const Variant& variant, const Operation& operation,
                                                       Expressions& expressions) {
  Cluster cluster(operation.ranks, test::backend_named(variant.backend), settings_of(variant));
  std::vector<std::vector<std::int32_t>> results(static_cast<std::size_t>(operation.ranks));
  ExpressionReducer reducer(expressions);
  const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
    const bool has_blocks = operation.kind == OperationKind::kReduceScatter;
    const std::vector<std::int32_t> own(
        operation.elements * (has_blocks ? static_cast<std::size_t>(operation.ranks) : 1),
        Expressions::contribution(rank.rank()));
    std::vector<std::int32_t>& result = results[static_cast<std::size_t>(rank.rank())];
    if (operation.kind != OperationKind::kReduce || rank.rank() == operation.root)
      result.resize(operation.elements);
    const CollectiveBuffers buffers{std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(result)),
                                    operation.bytes};
    // More often than a communicator waits for slots of one hop.
    for (int repeats = 0; repeats < 5; ++repeats)
      EXPECT_EQ(co_await rank.collective(operation, buffers, &reducer), Outcome::kOk);
  });
  EXPECT_EQ(stuck, "");
  return results;
}

TEST(ReductionOrder, IsThatOfTheDataInARun) {
  for (const Variant& variant : kVariants) {
    const std::unique_ptr<Settings> settings = std::make_unique<Settings>(settings_of(variant));
    int compared = 0;
    for (const int ranks : kRanks) {
      const std::unique_ptr<Backend> carrier =
          test::backend_named(variant.backend).create({0, ranks, *settings, {}, nullptr});
      for (const OperationKind kind :
           {OperationKind::kReduce, OperationKind::kAllreduce, OperationKind::kReduceScatter}) {
        for (const std::size_t elements : {1, 5, 300, 3000}) {
          for (int root = 0; root < ranks; root += kind == OperationKind::kReduce ? 2 : ranks) {
            const Operation operation = reduction(kind, ranks, elements, root);
            if (!carrier->supports(operation).yes()) continue;
            Expressions expressions(ranks);
            const std::vector<std::int32_t> expected = described(*carrier, operation, expressions);
            const std::vector<std::vector<std::int32_t>> found =
                combined_in_run(variant, operation, expressions);
            for (std::size_t rank = 0; rank < found.size(); ++rank) {
              const std::size_t begin = kind == OperationKind::kReduceScatter ? rank * elements : 0;
              for (std::size_t i = 0; i < found[rank].size(); ++i) {
                ASSERT_EQ(expressions.text(found[rank][i]), expressions.text(expected[begin + i]))
                    << name_of(variant) << ": " << to_string(kind) << " of " << elements << " on " << ranks
                    << " ranks, root " << root << ", rank " << rank << ", element " << i;
              }
              ++compared;
            }
          }
        }
      }
    }
    EXPECT_GT(compared, 100) << name_of(variant);
  }
}

/// Notes the messages with data of a world, for each receiver in the order of its receives.
class MessageOrder final : public WorldLog {
 public:
  void used(int, std::uint64_t) override {}
  void began(std::uint64_t operation, const OperationFacts& facts) override {
    if (facts.kind == OperationKind::kSend && facts.bytes > 0) receivers_[operation] = facts.peer;
  }
  void add_part(int rank, std::uint64_t message, std::uint64_t) override {
    const auto receiver = receivers_.find(message);
    if (receiver == receivers_.end()) {
      senders_[message] = rank;  // the sender comes first, before began()
    } else if (receiver->second == rank) {
      children[rank].push_back(senders_[message]);
    }
  }
  void host(int, std::uint64_t, std::string_view, Time, Time) override {}
  void waited(int, const MessageWait&) override {}
  void carried(const Network&, std::size_t, Time, Time, Bandwidth) override {}

  std::map<int, std::vector<int>> children;  // by receiver

 private:
  std::map<std::uint64_t, int> receivers_;
  std::map<std::uint64_t, int> senders_;
};

TEST(ReductionOrder, IsThatOfTheMessagesInAWorld) {
  for (const Variant& variant : kVariants) {
    if (!variant.by_messages) continue;
    const Settings settings = settings_of(variant);
    for (const int ranks : kRanks) {
      const std::unique_ptr<Backend> carrier =
          test::backend_named(variant.backend).create({0, ranks, settings, {}, nullptr});
      for (int root = 0; root < ranks; ++root) {
        const Operation operation = reduction(OperationKind::kReduce, ranks, 4, root);
        ASSERT_TRUE(carrier->supports(operation).yes()) << name_of(variant);
        MessageOrder messages;
        WorldOptions options;
        options.log = &messages;
        TimedCluster world(ranks, test::backend_named(variant.backend), settings, options);
        EXPECT_EQ(world.run([&](TimedRank& rank) -> Task<void> {
          EXPECT_EQ(co_await rank.collective(operation), Outcome::kOk);
        }),
                  "");
        Expressions expressions(ranks);
        const std::function<std::int32_t(int)> below = [&](int rank) {
          std::int32_t all = Expressions::contribution(rank);
          for (const int child : messages.children[rank]) all = expressions.sum(all, below(child));
          return all;
        };
        const std::vector<std::int32_t> expected = described(*carrier, operation, expressions);
        EXPECT_EQ(expressions.text(below(root)), expressions.text(expected[0]))
            << name_of(variant) << " on " << ranks << " ranks, root " << root;
      }
    }
  }
}

}  // namespace
}  // namespace offramp::reduction_order_test
