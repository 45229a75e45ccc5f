// Orders of combination in words: "((0 + 1) + 2)" for the contributions of ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "offramp/model/backend.hpp"
#include "tests/element_reducer.hpp"

namespace offramp {

/// Elements are numbers of expressions. Number r + 1 is the contribution of rank r.
class Expressions {
 public:
  explicit Expressions(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) texts_.push_back(std::to_string(rank));
  }
  /// The element that a rank contributes.
  [[nodiscard]] static std::int32_t contribution(int rank) { return rank + 1; }
  /// The expression in words. "no expression" for a number that no sum returned.
  [[nodiscard]] std::string text(std::int32_t number) const {
    const auto index = static_cast<std::size_t>(number) - 1;
    return number >= 1 && index < texts_.size() ? texts_[index] : "no expression";
  }
  /// Returns the number of the expression (in + inout). Equal operands get equal numbers.
  std::int32_t sum(std::int32_t in, std::int32_t inout) {
    const auto [found, is_new] = sums_.emplace(std::pair(in, inout), 0);
    if (is_new) {
      texts_.push_back("(" + text(in) + " + " + text(inout) + ")");
      found->second = static_cast<std::int32_t>(texts_.size());
    }
    return found->second;
  }

 private:
  std::vector<std::string> texts_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> sums_;
};

/// Combines such elements, for ranks of one process.
class ExpressionReducer final : public ElementReducer {
 public:
  explicit ExpressionReducer(Expressions& expressions)
      : ElementReducer({ElementType::kInt32, sizeof(std::int32_t), ReduceFunction::kSum, true}),
        expressions_(expressions) {}
  void combine(Bytes in, MutableBytes inout) override {
    for (std::size_t at = 0; at < in.size(); at += sizeof(std::int32_t)) {
      std::int32_t operands[2];
      std::memcpy(&operands[0], in.data() + at, sizeof(std::int32_t));
      std::memcpy(&operands[1], inout.data() + at, sizeof(std::int32_t));
      const std::int32_t sum = expressions_.sum(operands[0], operands[1]);
      std::memcpy(inout.data() + at, &sum, sizeof sum);
    }
  }

 private:
  Expressions& expressions_;
};

/// The members of MPI_COMM_WORLD, as one of its ranks sees them.
class WorldMembers final : public TeamMembers {
 public:
  WorldMembers(int rank, int ranks) : TeamMembers(rank, ranks) {}
};

/// Evaluates the order that a carrier describes: the numbers of the sums, one per element of `operation` (of
/// all blocks for reduce_scatter), that contributions(rank) lead to. Sum: as Expressions::sum(). Returns an
/// empty list if the carrier's own algorithm combines.
template <typename Value>
std::vector<Value> combined_in_order(DataCarrier& carrier, const Operation& operation,
                                     const std::function<Value(int rank, std::size_t element)>& contribution,
                                     const std::function<Value(Value in, Value inout)>& sum) {
  const auto ranks = static_cast<std::size_t>(operation.ranks);
  const bool has_blocks = operation.kind == OperationKind::kReduceScatter;
  const std::size_t elements = operation.elements * (has_blocks ? ranks : 1);
  std::vector<ReductionOrder> orders;
  for (int rank = 0; rank < operation.ranks; ++rank) {
    std::optional<ReductionOrder> order = carrier.order(operation, WorldMembers(rank, operation.ranks));
    if (!order) return {};
    orders.push_back(std::move(*order));
  }
  std::vector<Value> sums;
  for (std::size_t element = 0; element < elements; ++element) {
    const auto own = [&](int rank) { return contribution(rank, element); };
    if (const Ring* const ring = std::get_if<Ring>(&orders[0])) {
      const std::size_t width = operation.bytes / operation.elements;
      const std::size_t pass = ring->pass == 0 ? elements : ring->pass / width;
      const std::size_t first = element / pass * pass;
      const std::size_t length = std::min(pass, elements - first);
      const std::size_t each = (length + ranks - 1) / ranks;
      const auto chunk = static_cast<int>((element - first) / each);
      const auto around = [&](int step) { return (chunk + step) % operation.ranks; };
      Value all = own(around(1));
      for (int step = 2; step <= operation.ranks; ++step) all = sum(own(around(step)), all);
      sums.push_back(all);
      continue;
    }
    const std::function<Value(int)> below = [&](int rank) {
      const Fold& fold = std::get<Fold>(orders[static_cast<std::size_t>(rank)]);
      Value all = own(rank);
      for (std::size_t child = 0; child < fold.children(); ++child) all = sum(all, below(fold.child(child)));
      return all;
    };
    const auto top = std::find_if(orders.begin(), orders.end(), [](const ReductionOrder& order) {
      return std::get<Fold>(order).parent == Fold::kNobody;
    });
    sums.push_back(below(static_cast<int>(top - orders.begin())));
  }
  return sums;
}

}  // namespace offramp
