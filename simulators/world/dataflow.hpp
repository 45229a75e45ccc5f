// Collectives as edges of a dataflow: whole payloads from rank to rank, and nothing that serves only modelled
// time. What a backend's algorithm does where a team has no hardware (Team::hardware()). The messages are
// tokens, so the same functions move the data of hardware whose times come from elsewhere.
#pragma once

#include <array>
#include <cstddef>

#include "offramp/kernel/frame_pool.hpp"
#include "offramp/model/backend.hpp"

namespace offramp {

/// One rank's place in the order in which a backend's hardware combines contributions: to its own one those
/// of its children, in this order, and the sum goes to the parent. Ranks are the team's.
class Fold {
 public:
  static constexpr int kNobody = -1;
  int parent = kNobody;  // of the top, which has the result

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
  static constexpr std::size_t kFew = 4;  // need no memory of their own
  std::size_t children_ = 0;
  std::array<int, kFew> few_{};
  PooledVector<int> more_;
};

/// Seen from the root, rank r has the children r + 1, r + 2, r + 4, ... up to the next rank that is not r's.
[[nodiscard]] Fold binomial_fold(const Team& team, int root);
/// Each rank adds its own contribution to what comes from the one before it; the first is the one behind the
/// root.
[[nodiscard]] Fold chain_fold(const Team& team, int root);
/// The rank that folds: the root has the result of a reduction, rank 0 that of the others on its way.
[[nodiscard]] inline int top_of(const Operation& operation) {
  return operation.kind == OperationKind::kReduce ? operation.root : 0;
}

/// Of a kind that supports() has declined: fails.
Task<Outcome> declined_collective();

/// Any collective that Backend::supports() knows, but prefix reductions. fold: towards top_of(operation), or
/// towards rank 0, from where the result of a reduction goes on to its root; only reductions have one.
Task<Outcome> move_data(const Operation& operation, Team& team, const CollectiveBuffers& buffers,
                        Fold&& fold = {});

}  // namespace offramp
