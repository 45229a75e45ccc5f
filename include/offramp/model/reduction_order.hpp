// The order in which hardware combines the contributions to a reduction: the result of DataCarrier::order().
// It decides the bits of floating-point results.
#pragma once

#include <array>
#include <cstddef>
#include <variant>

#include "offramp/kernel/frame_pool.hpp"
#include "offramp/model/operation.hpp"
#include "offramp/model/team.hpp"

namespace offramp {

/// The rank that has the complete result first: the root of a reduction if its function commutes, otherwise
/// rank 0, so that contributions can be combined in the order of ranks.
[[nodiscard]] inline int top_of(const Operation& operation) {
  return operation.kind == OperationKind::kReduce && operation.commutative ? operation.root : 0;
}

/// One rank's part in a tree. A rank combines its own contribution with those of its children, in order, and
/// sends the sum to its parent. The operand so far is the left one. Ranks are ranks of the team.
class Fold {
 public:
  static constexpr int kNobody = -1;
  int parent = kNobody;  // kNobody at the top: top_of(operation), or rank 0

  /// Appends a child: children are combined in the order of these calls. Allocates from the fifth child on.
  void add_child(int rank) {
    if (children_ < kFew) {
      few_[children_] = rank;
    } else {
      more_.push_back(rank);
    }
    ++children_;
  }
  /// The number of children, and each of them by its place in the order.
  [[nodiscard]] std::size_t children() const { return children_; }
  [[nodiscard]] int child(std::size_t index) const {
    return index < kFew ? few_[index] : more_[index - kFew];
  }

  /// A binomial tree: relative to the top, rank r has the children r + 1, r + 2, r + 4, ... of its subtree.
  [[nodiscard]] static Fold binomial(const TeamMembers& team, int top) {
    const int relative = (team.rank() - top + team.size()) % team.size();
    Fold fold;
    for (int mask = 1; mask < team.size(); mask *= 2) {
      if ((relative & mask) != 0) {
        fold.parent = (relative - mask + top) % team.size();
        break;
      }
      if (relative + mask < team.size()) fold.add_child((relative + mask + top) % team.size());
    }
    return fold;
  }
  /// A chain that begins behind the top: each rank adds its contribution to the partial sum of the rank
  /// before it.
  [[nodiscard]] static Fold chain(const TeamMembers& team, int top) {
    const int size = team.size();
    const int relative = (team.rank() - top + size) % size;
    Fold fold;
    if (relative != 0) fold.parent = (team.rank() + 1) % size;
    if (relative != 1 && size > 1) fold.add_child((team.rank() + size - 1) % size);
    return fold;
  }

 private:
  static constexpr std::size_t kFew = 4;  // stored inline
  std::size_t children_ = 0;
  std::array<int, kFew> few_{};
  PooledVector<int> more_;
};

/// Sums that travel around all ranks, for allreduce and reduce_scatter. A pass of the vector is divided into
/// one chunk per rank, of equal numbers of elements, rounded up; the last chunks may be shorter or empty.
/// Chunk c starts with the contribution of rank c + 1, adds those of the ranks behind it in turn, and ends
/// with that of rank c.
struct Ring {
  std::size_t pass = 0;  // bytes of a pass: whole elements for each rank; 0: everything at once
};

using ReductionOrder = std::variant<Fold, Ring>;

}  // namespace offramp
