// What the algorithms are made of: trees, cuts of a vector, exchanges, steps around a ring.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/host/algorithms.hpp"
#include "offramp/kernel/frame_pool.hpp"

namespace offramp::host {

/// A rank's place in a tree.
class Tree {
 public:
  [[nodiscard]] bool is_top() const { return parent < 0; }
  int parent = -1;
  PooledVector<int> children;  // in the order in which they are served

  // Rooted at `root`; ranks count from there, around the circle.
  static Tree flat(int rank, int size, int root);
  static Tree chain(int rank, int size, int root);
  static Tree binary(int rank, int size, int root);
  /// The parent of relative rank r is r without its highest bit.
  static Tree binomial(int rank, int size, int root);
  /// The parent of relative rank r is r without its lowest bit: subtrees are contiguous.
  static Tree binomial_in_order(int rank, int size, int root);
  static Tree k_nomial(int rank, int size, int root, int radix);
  /// Rooted at the last rank. Every parent is the highest rank of its subtree, its first child the next one.
  static Tree binary_in_order(int rank, int size);
};

/// A run of parts or positions, without the last.
struct Window {
  int first;
  int last;
};

/// A vector cut into parts of whole elements.
class Cut {
 public:
  Cut() = default;
  /// Parts that differ by one element at most.
  static Cut even(std::size_t bytes, std::size_t element, int parts);
  /// Parts of one size, rounded up: the last ones may be shorter, or empty.
  static Cut rounded_up(std::size_t bytes, std::size_t element, int parts);
  /// `begins` has one entry more than there are parts.
  explicit Cut(std::vector<std::size_t> begins) : begins_(std::move(begins)) {}

  [[nodiscard]] std::size_t begin(int part) const {
    const auto index = static_cast<std::size_t>(part);
    if (!begins_.empty()) return begins_[index];
    return std::min(bytes_, index * part_ + std::min(index, longer_) * element_);
  }
  template <typename Span>
  [[nodiscard]] Span of(Span all, Window window) const {
    return all.subspan(begin(window.first), begin(window.last) - begin(window.first));
  }
  template <typename Span>
  [[nodiscard]] Span of(Span all, int part) const {
    return of(all, Window{part, part + 1});
  }

 private:
  std::size_t bytes_ = 0;
  std::size_t part_ = 0;
  std::size_t element_ = 0;
  std::size_t longer_ = 0;  // so many of the first parts have one element more
  std::vector<std::size_t> begins_;
};

/// The pieces of a long message, or of shorter ones beside it. Of zero bytes there is one.
class Segments {
 public:
  Segments(std::size_t bytes, std::size_t element, std::size_t segment)
      : bytes_(bytes),
        segment_(segment == 0 ? bytes : std::max(segment / element, std::size_t{1}) * element) {}
  [[nodiscard]] std::size_t count() const { return bytes_ == 0 ? 1 : (bytes_ + segment_ - 1) / segment_; }
  [[nodiscard]] std::size_t longest() const { return std::min(bytes_, segment_); }
  template <typename Span>
  [[nodiscard]] Span of(Span all, std::size_t index) const {
    const std::size_t begin = std::min(index * segment_, all.size());
    return all.subspan(begin, std::min(segment_, all.size() - begin));
  }

 private:
  std::size_t bytes_;
  std::size_t segment_;
};

/// A power of two of positions for any number of ranks: of the first ranks, each even one stands for itself
/// and for the odd one behind it.
class Positions {
 public:
  explicit Positions(int size);
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] bool is_paired(int rank) const { return rank < 2 * pairs_; }
  [[nodiscard]] bool is_folded(int rank) const { return is_paired(rank) && rank % 2 == 1; }
  [[nodiscard]] int of(int rank) const { return is_paired(rank) ? rank / 2 : rank - pairs_; }
  /// The first rank of a position; count(): one behind the last rank.
  [[nodiscard]] int rank(int position) const { return position < pairs_ ? 2 * position : position + pairs_; }

 private:
  int count_ = 1;
  int pairs_ = 0;
};

/// Sends to one rank while it receives from another.
Task<Outcome> exchange(Team& team, int to, Bytes outgoing, int from, MutableBytes incoming);

/// The ranks stand around a circle at their index; each has the part of its own index, and gets all others.
/// at(index): the part's memory.
template <typename At>
Task<Outcome> gather_around_ring(Team& team, At at, int index, int left, int right) {
  Outcome outcome = Outcome::kOk;
  for (int step = 0; step + 1 < team.size(); ++step) {
    const int sent = wrap(index - step, team.size());
    const MutableBytes incoming = at(wrap(sent - 1, team.size()));
    note(outcome, co_await exchange(team, right, at(sent), left, incoming));
  }
  co_return outcome;
}

/// Each rank ends with the combination of all ranks' part of its own index, in that part of `sum`; the other
/// parts are used up. Operands come in the order of the circle. Of each part only the given segment is
/// touched.
Task<Outcome> reduce_around_ring(Call call, MutableBytes sum, const Cut& cut, const Segments& segments,
                                 std::size_t segment);

/// Recursive halving over the positions: each step gives one half of the window away and combines the other.
struct Halving {
  bool near_first;  // the first partner is the neighbour: the last window is that of the mirrored position
  bool in_order;    // operands are combined in rank order; only if near_first
};
/// The windows of a position, before the first step and after each one.
std::vector<Window> windows_of(int position, const Positions& positions, bool near_first);
/// sum and incoming change places where the result is in the other one.
Task<Outcome> reduce_by_halves(Call call, const Positions& positions, Halving halving, const Cut& cut,
                               MutableBytes& sum, MutableBytes& incoming);
/// The half that the step to windows[step] has given away.
Window other_half(const std::vector<Window>& windows, std::size_t step);

/// The first part of Rabenseifner's algorithms, for operations that commute: puts the operands into `sum`,
/// folds ranks, and halves, near partners first.
Task<Outcome> begin_rabenseifner(Call call, const Positions& positions, const Cut& cut, MutableBytes& sum,
                                 MutableBytes& incoming);

}  // namespace offramp::host
