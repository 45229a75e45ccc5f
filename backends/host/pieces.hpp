// Building blocks of the algorithms: trees, partitions of a vector, exchanges, steps around a ring.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/host/algorithms.hpp"
#include "offramp/kernel/frame_pool.hpp"

namespace offramp::host {

/// A rank's position in a tree.
class Tree {
 public:
  [[nodiscard]] bool is_top() const { return parent < 0; }
  int parent = -1;
  PooledVector<int> children;  // in the order in which they are served

  // Rooted at `root`; relative ranks count from the root, around the circle.
  static Tree flat(int rank, int size, int root);
  static Tree chain(int rank, int size, int root);
  static Tree binary(int rank, int size, int root);
  /// The parent of relative rank r is r without its highest bit.
  static Tree binomial(int rank, int size, int root);
  /// The parent of relative rank r is r without its lowest bit: subtrees are contiguous.
  static Tree binomial_in_order(int rank, int size, int root);
  static Tree k_nomial(int rank, int size, int root, int radix);
  /// Rooted at the last rank. Every parent is the highest rank of its subtree; its first child is the next
  /// lower rank.
  static Tree binary_in_order(int rank, int size);
};

/// A range of parts or positions: [first, last).
struct Window {
  int first;
  int last;
};

/// A vector, partitioned at element boundaries.
class Cut {
 public:
  Cut() = default;
  /// Parts that differ by at most one element.
  static Cut even(std::size_t bytes, std::size_t element, int parts);
  /// Parts of one size, rounded up: the last parts may be shorter or empty.
  static Cut rounded_up(std::size_t bytes, std::size_t element, int parts);
  /// `begins` has one entry more than there are parts.
  explicit Cut(std::vector<std::size_t> begins) : begins_(std::move(begins)) {}

  [[nodiscard]] std::size_t begin(int part) const {
    const auto index = static_cast<std::size_t>(part);
    if (!begins_.empty()) return begins_[index];
    return std::min(bytes_, index * part_ + std::min(index, longer_) * element_);
  }
  template <typename Span>
  [[nodiscard]] Span slice(Span all, Window window) const {
    return all.subspan(begin(window.first), begin(window.last) - begin(window.first));
  }
  template <typename Span>
  [[nodiscard]] Span slice(Span all, int part) const {
    return slice(all, Window{part, part + 1});
  }

 private:
  std::size_t bytes_ = 0;
  std::size_t part_ = 0;
  std::size_t element_ = 0;
  std::size_t longer_ = 0;  // number of leading parts with one more element
  std::vector<std::size_t> begins_;
};

/// The segments of a message of `bytes`, or of a shorter one. Zero bytes make one segment.
class Segments {
 public:
  Segments(std::size_t bytes, std::size_t element, std::size_t segment)
      : bytes_(bytes),
        segment_(segment == 0 ? bytes : std::max(segment / element, std::size_t{1}) * element) {}
  [[nodiscard]] std::size_t count() const { return bytes_ == 0 ? 1 : (bytes_ + segment_ - 1) / segment_; }
  [[nodiscard]] std::size_t longest() const { return std::min(bytes_, segment_); }
  template <typename Span>
  [[nodiscard]] Span slice(Span all, std::size_t index) const {
    const std::size_t begin = std::min(index * segment_, all.size());
    return all.subspan(begin, std::min(segment_, all.size() - begin));
  }

 private:
  std::size_t bytes_;
  std::size_t segment_;
};

/// A power of two of positions for any number of ranks: the first ranks form pairs that share a position, and
/// the odd rank of a pair is folded into the even one.
class Positions {
 public:
  explicit Positions(int size);
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] bool is_paired(int rank) const { return rank < 2 * pairs_; }
  [[nodiscard]] bool is_folded(int rank) const { return is_paired(rank) && rank % 2 == 1; }
  [[nodiscard]] int position_of(int rank) const { return is_paired(rank) ? rank / 2 : rank - pairs_; }
  /// The first rank of a position; rank(count()) is the number of ranks.
  [[nodiscard]] int rank(int position) const { return position < pairs_ ? 2 * position : position + pairs_; }

 private:
  int count_ = 1;
  int pairs_ = 0;
};

/// Sends to one rank while receiving from another.
Task<Outcome> exchange(Team& team, int to, Bytes outgoing, int from, MutableBytes incoming);

/// Allgather around a ring: each rank starts with the part of its index and receives all others. at(index):
/// memory of a part.
Task<Outcome> gather_around_ring(Team& team, auto at, int index, int left, int right) {
  Outcome outcome = Outcome::kOk;
  for (int step = 0; step + 1 < team.size(); ++step) {
    const int sent = wrap(index - step, team.size());
    const MutableBytes incoming = at(wrap(sent - 1, team.size()));
    note(outcome, co_await exchange(team, right, at(sent), left, incoming));
  }
  co_return outcome;
}

/// Reduce-scatter around a ring, for one segment of each part: each rank ends with the sum of all ranks' part
/// of its index, in that part of `sum`; the other parts are overwritten. Operands are in the order of the
/// circle.
Task<Outcome> reduce_around_ring(AlgorithmCall call, MutableBytes sum, const Cut& cut,
                                 const Segments& segments, std::size_t segment);

/// Recursive halving over the positions: each step sends one half of the window and combines the other half.
struct Halving {
  bool near_first;  // the first partner is the neighbour: the last window is that of the mirrored position
  bool in_order;    // combine operands in rank order; requires near_first
};
/// The windows of a position, initially and after each step.
std::vector<Window> windows_of(int position, const Positions& positions, bool near_first);
/// Swaps sum and incoming if the result is in `incoming`.
Task<Outcome> reduce_by_halves(AlgorithmCall call, const Positions& positions, Halving halving,
                               const Cut& cut, MutableBytes& sum, MutableBytes& incoming);
/// The half that was sent in the step to windows[step].
Window other_half(const std::vector<Window>& windows, std::size_t step);

/// The first phase of Rabenseifner's algorithms, for commutative operations: copies the operands to `sum`,
/// folds ranks, and halves, near partners first.
Task<Outcome> begin_rabenseifner(AlgorithmCall call, const Positions& positions, const Cut& cut,
                                 MutableBytes& sum, MutableBytes& incoming);

}  // namespace offramp::host
