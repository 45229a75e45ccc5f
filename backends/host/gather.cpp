// Gather and scatter, with blocks of equal and of different sizes. Any number of ranks, any root.
//
// The algorithms follow coll_base_gather.c and coll_base_scatter.c of [openmpi] (ompi/mca/coll/base),
// functions ompi_coll_base_gather_intra_* and ompi_coll_base_scatter_intra_*. Each entry lists the name in
// the catalogue, the function, and a description. Blocks of different sizes move linearly, as in its
// component coll/basic.
//
//   basic_linear  basic_linear: the root receives or sends one block after the other, in rank order. No
//                 memory.
//   linear_nb     linear_nb, of scatter: the root sends all blocks at once. No memory.
//   linear_sync   linear_sync, of gather: the root requests each rank's block in turn, by an empty message.
//                 No memory. (Open MPI splits blocks in two and requests the next rank's during the second
//                 part.)
//   binomial      binomial: along a binomial tree with contiguous subtrees around the circle, so that a rank
//                 moves its subtree's blocks in one message (class BlockTree). Memory: the blocks of the
//                 subtree, none at a leaf of a gather; all blocks at a root other than rank 0, which rotates
//                 them between relative and rank order.
//   han           in han.cpp.
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

/// A rank's position in a binomial tree with contiguous subtrees around the circle. Blocks are in the order
/// of relative ranks, starting with the rank's own.
class BlockTree {
 public:
  explicit BlockTree(const AlgorithmCall& call)
      : rank_(call.rank()),
        size_(call.size()),
        root_(call.operation.root),
        block_(call.buffers.block),
        tree_(Tree::binomial_in_order(rank_, size_, root_)) {}

  [[nodiscard]] const Tree& tree() const { return tree_; }
  /// Bytes of the blocks of this rank's subtree.
  [[nodiscard]] std::size_t bytes() const { return block_ * extent(wrap(rank_ - root_, size_)); }
  /// True if this rank has all blocks in the program's order, because relative ranks equal ranks.
  [[nodiscard]] bool is_in_order() const { return tree_.is_top() && root_ == 0; }
  /// The blocks of a child's subtree within this rank's blocks.
  template <typename Span>
  [[nodiscard]] Span of_child(Span blocks, int child) const {
    const int distance = wrap(child - rank_, size_);
    return blocks.subspan(block_ * static_cast<std::size_t>(distance),
                          block_ * extent(wrap(child - root_, size_)));
  }
  /// At the top: bytes of the first blocks, which belong to the root and the ranks after it.
  [[nodiscard]] std::size_t tail() const { return block_ * static_cast<std::size_t>(size_ - root_); }

 private:
  /// The subtree of relative rank r is [r, r + extent).
  [[nodiscard]] std::size_t extent(int relative) const {
    int count = 1;
    while (relative % (2 * count) == 0 && count < size_) count *= 2;
    return static_cast<std::size_t>(std::min(count, size_ - relative));
  }

  int rank_;
  int size_;
  int root_;
  std::size_t block_;
  Tree tree_;
};

Task<Outcome> gather_binomial(AlgorithmCall call) {
  // The root finally rotates the blocks into rank order.
  Team& team = call.team;
  const CollectiveBuffers& buffers = call.buffers;
  const BlockTree place(call);
  const Tree& tree = place.tree();
  if (tree.children.empty() && !tree.is_top()) co_return co_await team.send(tree.parent, buffers.send);
  const bool in_place = place.is_in_order();
  const MutableBytes gathered = in_place ? buffers.receive : team.scratch(place.bytes());
  Outcome outcome = Outcome::kOk;
  local_copy(team, call.costs(), buffers.send, gathered.first(buffers.block));
  for (const int child : tree.children)
    note(outcome, co_await team.receive(child, place.of_child(gathered, child)));
  if (!tree.is_top()) {
    note(outcome, co_await team.send(tree.parent, gathered));
  } else if (!in_place) {
    const std::size_t tail = place.tail();
    local_copy(team, call.costs(), gathered.first(tail), buffers.receive.last(tail));
    local_copy(team, call.costs(), gathered.subspan(tail), buffers.receive.first(gathered.size() - tail));
  }
  co_return outcome;
}

/// The root requests one block after the other.
Task<Outcome> gather_linear_sync(AlgorithmCall call) {
  Team& team = call.team;
  Outcome outcome = Outcome::kOk;
  if (!call.is_root()) {
    note(outcome, co_await team.receive(call.operation.root, {}));
    note(outcome, co_await team.send(call.operation.root, call.buffers.send));
    co_return outcome;
  }
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank()) continue;
    Team::Pending incoming = team.receive(rank, call.receive_block(rank));
    note(outcome, co_await team.send(rank, {}));
    note(outcome, co_await incoming);
  }
  local_copy(team, call.costs(), call.buffers.send, call.receive_block(call.rank()));
  co_return outcome;
}

Task<Outcome> scatter_binomial(AlgorithmCall call) {
  Team& team = call.team;
  const CollectiveBuffers& buffers = call.buffers;
  const BlockTree place(call);
  const Tree& tree = place.tree();
  Bytes held = buffers.send;
  Outcome outcome = Outcome::kOk;
  if (!place.is_in_order()) {
    const MutableBytes blocks = team.scratch(place.bytes());
    if (tree.is_top()) {
      const std::size_t tail = place.tail();
      local_copy(team, call.costs(), buffers.send.last(tail), blocks.first(tail));
      local_copy(team, call.costs(), buffers.send.first(blocks.size() - tail), blocks.subspan(tail));
    } else {
      note(outcome, co_await team.receive(tree.parent, blocks));
    }
    held = blocks;
  }
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
    note(outcome, co_await team.send(*child, place.of_child(held, *child)));
  if (!buffers.receive.empty()) local_copy(team, call.costs(), held.first(buffers.block), buffers.receive);
  co_return outcome;
}

/// window: maximum number of concurrent sends; 0: unlimited.
Task<Outcome> scatter_from_root(AlgorithmCall call, std::size_t window) {
  Team& team = call.team;
  if (!call.is_root()) co_return co_await team.receive(call.operation.root, call.buffers.receive);
  Outcome outcome = Outcome::kOk;
  std::vector<Team::Pending> outgoing;
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank()) continue;
    outgoing.push_back(team.send(rank, call.send_block(rank)));
    if (outgoing.size() != window) continue;
    for (const Team::Pending& one : outgoing) note(outcome, co_await one);
    outgoing.clear();
  }
  if (!call.buffers.receive.empty())
    local_copy(team, call.costs(), call.send_block(call.rank()), call.buffers.receive);
  for (const Team::Pending& one : outgoing) note(outcome, co_await one);
  co_return outcome;
}
Task<Outcome> scatter_linear(AlgorithmCall call) {
  return scatter_from_root(call, 1);
}
Task<Outcome> scatter_linear_nonblocking(AlgorithmCall call) {
  return scatter_from_root(call, 0);
}

constexpr Algorithm kGather[] = {
    {"basic_linear", gather_linear},
    {"binomial", gather_binomial},
    {"linear_sync", gather_linear_sync},
    {"han", gather_han, kByOpenMpi, false, Ranks::kAny, Elements::kAny, Nodes::kEqual}};
constexpr Algorithm kGatherv[] = {{"basic_linear", gather_linear}};
constexpr Algorithm kScatter[] = {
    {"basic_linear", scatter_linear},
    {"binomial", scatter_binomial},
    {"linear_nb", scatter_linear_nonblocking},
    {"han", scatter_han, kByOpenMpi, false, Ranks::kAny, Elements::kAny, Nodes::kEqual}};
constexpr Algorithm kScatterv[] = {{"basic_linear", scatter_linear}};

}  // namespace

/// The root receives one block after the other.
Task<Outcome> gather_linear(AlgorithmCall call) {
  Team& team = call.team;
  if (!call.is_root()) co_return co_await team.send(call.operation.root, call.buffers.send);
  Outcome outcome = Outcome::kOk;
  for (int rank = 0; rank < call.size(); ++rank) {
    const MutableBytes block = call.receive_block(rank);
    if (rank == call.rank()) {
      local_copy(team, call.costs(), call.buffers.send, block);
    } else {
      note(outcome, co_await team.receive(rank, block));
    }
  }
  co_return outcome;
}

constinit const std::span<const Algorithm> kGatherCatalogue = kGather;
constinit const std::span<const Algorithm> kGathervCatalogue = kGatherv;
constinit const std::span<const Algorithm> kScatterCatalogue = kScatter;
constinit const std::span<const Algorithm> kScattervCatalogue = kScatterv;

}  // namespace offramp::host
