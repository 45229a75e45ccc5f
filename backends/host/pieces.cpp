// The trees follow coll_base_topo.c of [openmpi] in shape and in the order of children. reduce_by_halves()
// and begin_rabenseifner() are the recursive halving shared by reduce, allreduce, and reduce_scatter (sources
// in allreduce.cpp and reduce_scatter.cpp).
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

/// Converts ranks to relative ranks, which count from the root around the circle.
struct Circle {
  int size;
  int root;
  [[nodiscard]] int relative(int rank) const { return wrap(rank - root, size); }
  [[nodiscard]] int rank(int relative) const { return wrap(relative + root, size); }
  void add_child(Tree& tree, int relative) const {
    if (relative < size) tree.children.push_back(rank(relative));
  }
};

int highest_bit(int number) {
  int bit = 1;
  while (number >= 2 * bit) bit *= 2;
  return bit;
}

}  // namespace

// --- trees ---

Tree Tree::flat(int rank, int size, int root) {
  Tree tree;
  if (rank != root) {
    tree.parent = root;
    return tree;
  }
  for (int other = 0; other < size; ++other) {
    if (other != root) tree.children.push_back(other);
  }
  return tree;
}

Tree Tree::chain(int rank, int size, int root) {
  const Circle circle{size, root};
  const int own = circle.relative(rank);
  Tree tree;
  if (own > 0) tree.parent = circle.rank(own - 1);
  circle.add_child(tree, own + 1);
  return tree;
}

Tree Tree::binary(int rank, int size, int root) {
  // Level by level. A level of 2^n ranks is below the previous one, such that its odd relative ranks are
  // below the root's first child and its even ones below the second.
  const Circle circle{size, root};
  const int own = circle.relative(rank);
  const int level = highest_bit(own + 1);
  Tree tree;
  if (own > 0) {
    const int above = level / 2;
    tree.parent = circle.rank(own - above < level - 1 ? own - above : own - 2 * above);
  }
  circle.add_child(tree, own + level);
  circle.add_child(tree, own + 2 * level);
  return tree;
}

Tree Tree::binomial(int rank, int size, int root) {
  const Circle circle{size, root};
  const int own = circle.relative(rank);
  const int top = own > 0 ? highest_bit(own) : 0;
  Tree tree;
  if (own > 0) tree.parent = circle.rank(own - top);
  for (int mask = own > 0 ? 2 * top : 1; mask < size; mask *= 2) circle.add_child(tree, own + mask);
  return tree;
}

Tree Tree::binomial_in_order(int rank, int size, int root) {
  const Circle circle{size, root};
  const int own = circle.relative(rank);
  Tree tree;
  int mask = 1;
  for (; mask < size && (own & mask) == 0; mask *= 2) circle.add_child(tree, own + mask);
  if (own > 0) tree.parent = circle.rank(own - mask);
  return tree;
}

Tree Tree::k_nomial(int rank, int size, int root, int radix) {
  const Circle circle{size, root};
  const int own = circle.relative(rank);
  Tree tree;
  int mask = 1;
  while (mask < size && own % (radix * mask) == 0) mask *= radix;
  if (own > 0) tree.parent = circle.rank(own - own % (radix * mask));
  for (mask /= radix; mask > 0; mask /= radix) {
    for (int child = 1; child < radix; ++child) circle.add_child(tree, own + child * mask);
  }
  return tree;
}

Tree Tree::binary_in_order(int rank, int size) {
  // Ranks [first, last] are a subtree with `last` at its top. The first child is the next lower rank; the
  // second child is the top of the lower half of the rest.
  int first = 0;
  int last = size - 1;
  Tree tree;
  for (;;) {
    const int middle = first + (last - first + 1) / 2;  // lowest rank below the first child
    if (rank == last) {
      if (last > first) tree.children.push_back(last - 1);
      if (last - 1 >= middle && middle > first) tree.children.push_back(middle - 1);
      return tree;
    }
    tree.parent = last;
    if (rank >= middle) {
      first = middle;
      --last;
    } else {
      last = middle - 1;
    }
  }
}

// --- cuts ---

Cut Cut::even(std::size_t bytes, std::size_t element, int parts) {
  const std::size_t elements = bytes / element;
  const auto count = static_cast<std::size_t>(parts);
  Cut cut;
  cut.bytes_ = bytes;
  cut.part_ = elements / count * element;
  cut.element_ = element;
  cut.longer_ = elements % count;
  return cut;
}

Cut Cut::rounded_up(std::size_t bytes, std::size_t element, int parts) {
  const auto count = static_cast<std::size_t>(parts);
  Cut cut;
  cut.bytes_ = bytes;
  cut.part_ = (bytes / element + count - 1) / count * element;
  return cut;
}

Positions::Positions(int size) : count_(highest_bit(size)), pairs_(size - count_) {}

// --- steps ---

Task<Outcome> exchange(Team& team, int to, Bytes outgoing, int from, MutableBytes incoming) {
  Team::Pending receiving = team.receive(from, incoming);
  Team::Pending sending = team.send(to, outgoing);
  Outcome outcome = co_await receiving;
  note(outcome, co_await sending);
  co_return outcome;
}

Task<Outcome> reduce_around_ring(AlgorithmCall call, MutableBytes sum, const Cut& cut,
                                 const Segments& segments, std::size_t segment) {
  Team& team = call.team;
  const int size = team.size();
  const int right = wrap(team.rank() + 1, size);
  const int left = wrap(team.rank() - 1, size);
  const auto part = [&](int index) { return segments.slice(cut.slice(sum, wrap(index, size)), segment); };
  const MutableBytes room = team.scratch(segments.longest());
  Outcome outcome = Outcome::kOk;
  for (int step = 1; step < size; ++step) {
    const MutableBytes own = part(team.rank() - step - 1);
    const MutableBytes incoming = room.first(own.size());
    note(outcome, co_await exchange(team, right, part(team.rank() - step), left, incoming));
    local_combine(team, call.costs(), incoming, own);
  }
  co_return outcome;
}

std::vector<Window> windows_of(int position, const Positions& positions, bool near_first) {
  std::vector<Window> windows{{0, positions.count()}};
  for (int bit = 1; bit < positions.count(); bit *= 2) {
    const int mask = near_first ? bit : positions.count() / (2 * bit);
    const Window window = windows.back();
    const int middle = (window.first + window.last) / 2;
    windows.push_back((position & mask) == 0 ? Window{window.first, middle} : Window{middle, window.last});
  }
  return windows;
}

Window other_half(const std::vector<Window>& windows, std::size_t step) {
  const Window whole = windows[step - 1];
  const Window kept = windows[step];
  return kept.first == whole.first ? Window{kept.last, whole.last} : Window{whole.first, kept.first};
}

Task<Outcome> reduce_by_halves(AlgorithmCall call, const Positions& positions, Halving halving,
                               const Cut& cut, MutableBytes& sum, MutableBytes& incoming) {
  Team& team = call.team;
  const int own = positions.position_of(team.rank());
  const std::vector<Window> windows = windows_of(own, positions, halving.near_first);
  Outcome outcome = Outcome::kOk;
  std::size_t step = 0;
  for (int bit = 1; bit < positions.count(); bit *= 2, ++step) {
    const int partner = own ^ (halving.near_first ? bit : positions.count() / (2 * bit));
    const MutableBytes part = cut.slice(sum, windows[step + 1]);
    const MutableBytes other = cut.slice(incoming, windows[step + 1]);
    const int peer = positions.rank(partner);
    note(outcome, co_await exchange(team, peer, cut.slice(sum, other_half(windows, step + 1)), peer, other));
    if (halving.in_order && partner > own) {
      local_combine(team, call.costs(), part, other);
      std::swap(sum, incoming);
    } else {
      local_combine(team, call.costs(), other, part);
    }
  }
  co_return outcome;
}

Task<Outcome> begin_rabenseifner(AlgorithmCall call, const Positions& positions, const Cut& cut,
                                 MutableBytes& sum, MutableBytes& incoming) {
  // Both ranks of a position combine one half each; the odd rank sends its half of the result to the even
  // one.
  Team& team = call.team;
  const int rank = team.rank();
  Outcome outcome = Outcome::kOk;
  local_copy(team, call.costs(), call.buffers.send, sum);
  if (positions.is_paired(rank)) {
    const Cut halves = Cut::even(sum.size(), call.element(), 2);
    const int own = rank % 2;
    const int peer = own == 0 ? rank + 1 : rank - 1;
    const MutableBytes part = halves.slice(sum, own);
    const MutableBytes other = halves.slice(incoming, own);
    note(outcome, co_await exchange(team, peer, halves.slice(sum, 1 - own), peer, other));
    local_combine(team, call.costs(), other, part);
    if (own == 1) {
      note(outcome, co_await team.send(peer, part));
      co_return outcome;
    }
    note(outcome, co_await team.receive(peer, halves.slice(sum, 1)));
  }
  note(outcome, co_await reduce_by_halves(call, positions, {true, false}, cut, sum, incoming));
  co_return outcome;
}

}  // namespace offramp::host
