// Collectives that move whole payloads from rank to rank as tokens, without modelling time.
//
// Backends run these where a team has no modelled hardware (Team::hardware()). They also move the data for
// hardware whose times are computed separately.
#pragma once

#include <array>
#include <cstddef>

#include "offramp/kernel/frame_pool.hpp"
#include "offramp/model/backend.hpp"

namespace offramp {

/// One rank's role in a reduction, in the order in which the backend's hardware combines contributions. A
/// rank combines its own contribution with those of its children, in order, and sends the sum to its parent.
/// Ranks are ranks of the team.
class Fold {
 public:
  static constexpr int kNobody = -1;
  int parent = kNobody;  // kNobody at the top, which has the result

  void add_child(int rank) {
    if (children_ < kFew) {
      few_[children_] = rank;
    } else {
      more_.push_back(rank);
    }
    ++children_;
  }
  [[nodiscard]] std::size_t children() const { return children_; }
  [[nodiscard]] int child(std::size_t index) const {
    return index < kFew ? few_[index] : more_[index - kFew];
  }

 private:
  static constexpr std::size_t kFew = 4;  // stored inline
  std::size_t children_ = 0;
  std::array<int, kFew> few_{};
  PooledVector<int> more_;
};

/// A binomial tree. Relative to the root, rank r has the children r + 1, r + 2, r + 4, ... of its subtree.
[[nodiscard]] Fold binomial_fold(const Team& team, int root);
/// A chain that begins behind the root: each rank adds its contribution to the partial sum of its
/// predecessor, and the root is last.
[[nodiscard]] Fold chain_fold(const Team& team, int root);
/// The rank at the top of the fold: the root of a reduction, otherwise rank 0.
[[nodiscard]] inline int top_of(const Operation& operation) {
  return operation.kind == OperationKind::kReduce ? operation.root : 0;
}

/// Returns a failure, for operations that supports() declines.
Task<Outcome> declined_collective();

/// Runs any collective that Backend::supports() accepts, except prefix reductions. Only reductions use
/// `fold`. It leads to top_of(operation) or to rank 0; from rank 0 the result is forwarded to the root.
Task<Outcome> move_data(const Operation& operation, Team& team, const CollectiveBuffers& buffers,
                        Fold&& fold = {});

}  // namespace offramp
