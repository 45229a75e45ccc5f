// Programs are compared call by call with their loops unrolled, because two shapes that fold differently may
// still begin with the same calls. The search ends after kMostCompared calls.
#include "lib/programs/scale/law_text.hpp"

#include <fmt/format.h>

namespace offramp::scale {
namespace {

/// Iterates over the calls of a rank.
class SymbolIterator {
 public:
  explicit SymbolIterator(std::span<const Node> nodes) { open(nodes, 1); }
  // Null at the end.
  const Node* next() {
    while (!open_.empty()) {
      Open& inner = open_.back();
      if (inner.at == inner.nodes.size()) {
        inner.at = 0;
        if (--inner.turns == 0) open_.pop_back();
        continue;
      }
      const Node& node = inner.nodes[inner.at++];
      if (!node.is_loop()) return &node;
      open(node.body, node.count);
    }
    return nullptr;
  }

 private:
  // A loop that has begun: its body, the turns that remain, and the next node.
  struct Open {
    std::span<const Node> nodes;
    std::uint64_t turns = 0;
    std::size_t at = 0;
  };
  void open(std::span<const Node> nodes, std::uint64_t turns) {
    if (!nodes.empty()) open_.push_back({nodes, turns, 0});
  }
  std::vector<Open> open_;
};

// The number of calls within which a difference is searched.
constexpr std::uint64_t kMostCompared = 10'000'000;

}  // namespace

std::string some_values(const FieldSamples& samples) {
  std::string text;
  std::size_t shown = 0;
  for (const Sample& sample : samples.values) {
    text += fmt::format("{}{}", shown == 0 ? "" : ", ", sample.value);
    // Enough to recognise a series.
    if (++shown == 8) break;
  }
  return samples.values.size() > shown ? text + ", ..." : text;
}

std::string rank_text(const EvaluationPoint& place) {
  return fmt::format("rank {} of {}", place.rank, place.ranks);
}

bool calls_before(std::span<const Node> nodes, const Node* node, std::uint64_t& calls) {
  for (const Node& one : nodes) {
    if (&one == node) return true;
    if (!one.is_loop()) {
      ++calls;
      continue;
    }
    // The calls of one turn. If the node is in this loop, its first turn counts.
    std::uint64_t inside = 0;
    if (calls_before(one.body, node, inside)) {
      calls += inside;
      return true;
    }
    calls += inside * one.count;
  }
  return false;
}

std::string difference_text(const FoldedRank& a, const FoldedRank& b, const Pool& pool) {
  SymbolIterator one(a.body);
  SymbolIterator other(b.body);
  for (std::uint64_t number = 1; number < kMostCompared; ++number) {
    const Node* const left = one.next();
    const Node* const right = other.next();
    if (left == nullptr && right == nullptr) break;
    if (left != nullptr && right != nullptr && left->symbol == right->symbol) continue;
    const auto name = [&pool](const Node* node) {
      return node == nullptr ? std::string("the end") : pool.call_of(node->symbol);
    };
    return fmt::format("from call {} on ({} and {})", number, name(left), name(right));
  }
  // All calls compared are equal; only loops differ.
  return "in the number of repetitions";
}

}  // namespace offramp::scale
