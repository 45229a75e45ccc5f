// The algorithms, over the tree of two levels or, in linear order, of one level (class Tree). Sends and
// receives block and follow each other, as in roles. Any number of ranks that the shell supports. With P
// ranks the root has (P - 1) / 4 children, rounded up, in a tree, and P - 1 in linear order. "Memory" is
// memory in addition to the program's buffers.
//
//   bcast      the root sends to its children in order; each of them sends to its members. No memory.
//   reduce     contributions in the order of relative ranks. Non-commutative operations go to rank 0,
//              which sends the result to the root. Memory: up to two vectors at ranks with children.
//   gather     a replicator sends its group's blocks in one message. Memory: the blocks of the subtree;
//              all blocks at the root, which rotates them into rank order, unless it is rank 0.
//   scatter    a gather in reverse, with the same memory.
//   allreduce  a reduce to rank 0, then a bcast.
//   allgather  a gather to rank 0, then a bcast.
//   barrier    a reduce and a bcast without data, by the protocol's own call.
#include "backends/zrlmpi/collectives.hpp"

#include <algorithm>
#include <utility>

#include "simulators/world/dataflow.hpp"
#include "simulators/world/ping_pong_buffers.hpp"
#include "simulators/zrlmpi/protocol.hpp"

namespace offramp::zrlmpi {
namespace {

/// The tree as seen by one rank, in relative ranks (0 is the root): its parent, and its children with the
/// sizes of their subtrees. Linear order is the tree whose groups have one member.
class Tree {
 public:
  Tree(Order order, const Team& team, int root)
      : group_(order == Order::kTree ? kGroup : 1),
        size_(team.size()),
        root_(root),
        relative_((team.rank() - root + team.size()) % team.size()) {}

  [[nodiscard]] int relative() const { return relative_; }
  [[nodiscard]] int rank_of(int relative) const { return (relative + root_) % size_; }
  [[nodiscard]] bool is_root() const { return relative_ == 0; }
  [[nodiscard]] bool is_replicator() const { return relative_ > 0 && (relative_ - 1) % group_ == 0; }
  [[nodiscard]] int parent() const { return is_replicator() ? 0 : relative_ - (relative_ - 1) % group_; }
  /// Size of this rank's subtree: itself and the ranks it forwards for.
  [[nodiscard]] int extent() const {
    if (is_root()) return size_;
    return is_replicator() ? std::min(group_, size_ - relative_) : 1;
  }
  /// The next child after `child` (start with relative()); size() at the end.
  [[nodiscard]] int next_child(int child) const {
    const int next = is_root() && child > 0 ? child + group_ : child + 1;
    return next < relative_ + extent() ? next : size_;
  }
  [[nodiscard]] std::size_t children() const {
    std::size_t children = 0;
    for (int child = next_child(relative_); child < size_; child = next_child(child)) ++children;
    return children;
  }
  [[nodiscard]] int extent_of(int child) const { return is_root() ? std::min(group_, size_ - child) : 1; }
  [[nodiscard]] int size() const { return size_; }

 private:
  int group_;
  int size_;
  int root_;
  int relative_;
};

Task<Outcome> bcast(const Tree& tree, Team& team, MutableBytes buffer) {
  Outcome outcome = Outcome::kOk;
  if (!tree.is_root()) note(outcome, co_await team.receive(tree.rank_of(tree.parent()), buffer));
  for (int child = tree.next_child(tree.relative()); child < tree.size(); child = tree.next_child(child))
    note(outcome, co_await team.send(tree.rank_of(child), buffer));
  co_return outcome;
}

void spend(const CollectiveModel& model, Team& team, std::string_view what, Time time) {
  if (model.spans != nullptr && time > Time())
    model.spans->record(
        {"role", what, team.clock, team.clock + time, team.operation, team.world_rank(team.rank())});
  team.clock += time;
}

void spend_copy(const CollectiveModel& model, Team& team, std::size_t bytes) {
  spend(model, team, "copy", model.copy.bytes(static_cast<std::int64_t>(bytes)));
}

void local_copy(const CollectiveModel& model, Team& team, Bytes from, MutableBytes to) {
  if (from.data() != to.data()) spend_copy(model, team, from.size());
  team.copy(from, to);
}

/// Combines own data first, then the children in ascending order: the order of relative ranks. `result` may
/// be empty except at the root. The role copies its data to its own memory, and the result out of it; the
/// model charges these copies, but moves data only where it would be overwritten.
Task<Outcome> reduce(const CollectiveModel& model, const Tree& tree, Team& team, Bytes own,
                     MutableBytes result) {
  Outcome outcome = Outcome::kOk;
  PingPongBuffers turns(team, tree.is_root() ? place_of_result(own, result) : MutableBytes(), own.size());
  std::size_t left = tree.children();
  Bytes sum = own;
  spend_copy(model, team, own.size());
  for (int child = tree.next_child(tree.relative()); child < tree.size(); child = tree.next_child(child)) {
    const MutableBytes incoming = turns.buffer(--left);
    note(outcome, co_await team.receive(tree.rank_of(child), incoming));
    spend(model, team, "combine", model.combine.bytes(static_cast<std::int64_t>(own.size())));
    if (!own.empty()) team.combine(sum, incoming);  // a barrier has no data
    sum = incoming;
  }
  if (!tree.is_root()) {
    note(outcome, co_await team.send(tree.rank_of(tree.parent()), sum));
  } else if (!result.empty()) {
    spend_copy(model, team, sum.size());
    team.copy(sum, result);
  }
  co_return outcome;
}

/// Rank order needs the top of the tree at rank 0, which then sends the result to the root.
Task<Outcome> reduce_to(const CollectiveModel& model, const Operation& operation, Team& team,
                        CollectiveBuffers buffers, int root) {
  const int top = operation.commutative ? root : 0;
  const Tree tree(model.order, team, top);
  if (top == root) co_return co_await reduce(model, tree, team, buffers.send, buffers.receive);
  MutableBytes sum;
  if (team.rank() == top) sum = team.scratch(buffers.send.size());
  Outcome outcome = co_await reduce(model, tree, team, buffers.send, sum);
  if (team.rank() == top) note(outcome, co_await team.send(root, sum));
  if (team.rank() == root) note(outcome, co_await team.receive(top, buffers.receive));
  co_return outcome;
}

std::size_t bytes_of(const CollectiveBuffers& buffers, int blocks) {
  return buffers.block * static_cast<std::size_t>(blocks);
}

/// Rotates blocks between relative and rank order: gather (to_ranks), or scatter.
void rotate_blocks(const CollectiveModel& model, Team& team, const CollectiveBuffers& buffers, int root,
                   Bytes from, MutableBytes to, bool to_ranks) {
  const std::size_t split = bytes_of(buffers, team.size() - root);
  if (to_ranks) {
    local_copy(model, team, from.first(split), to.last(split));
    local_copy(model, team, from.subspan(split), to.first(to.size() - split));
  } else {
    local_copy(model, team, from.last(split), to.first(split));
    local_copy(model, team, from.first(from.size() - split), to.subspan(split));
  }
}

Task<Outcome> gather(const CollectiveModel& model, const Tree& tree, Team& team, CollectiveBuffers buffers,
                     int root) {
  Outcome outcome = Outcome::kOk;
  if (!tree.is_root() && tree.extent() == 1) {  // a leaf: the role only copies its own block
    spend_copy(model, team, buffers.send.size());
    co_return co_await team.send(tree.rank_of(tree.parent()), buffers.send);
  }
  const bool in_place = tree.is_root() && root == 0;
  const MutableBytes held = in_place ? buffers.receive : team.scratch(bytes_of(buffers, tree.extent()));
  local_copy(model, team, buffers.send, held.first(buffers.block));
  for (int child = tree.next_child(tree.relative()); child < tree.size(); child = tree.next_child(child)) {
    const MutableBytes part =
        held.subspan(bytes_of(buffers, child - tree.relative()), bytes_of(buffers, tree.extent_of(child)));
    note(outcome, co_await team.receive(tree.rank_of(child), part));
  }
  if (!tree.is_root()) {
    note(outcome, co_await team.send(tree.rank_of(tree.parent()), held));
  } else if (!in_place) {
    rotate_blocks(model, team, buffers, root, held, buffers.receive, true);
  }
  co_return outcome;
}

Task<Outcome> scatter(const CollectiveModel& model, const Tree& tree, Team& team, CollectiveBuffers buffers,
                      int root) {
  Outcome outcome = Outcome::kOk;
  Bytes held = buffers.send;
  if (tree.is_root() && root == 0) {
    spend_copy(model, team, held.size());  // charges the role's copy; the blocks are in place already
  } else {
    const bool own_only = !tree.is_root() && tree.extent() == 1 && buffers.receive.size() == buffers.block;
    const MutableBytes room = own_only ? buffers.receive : team.scratch(bytes_of(buffers, tree.extent()));
    if (tree.is_root()) {
      rotate_blocks(model, team, buffers, root, buffers.send, room, false);
    } else {
      note(outcome, co_await team.receive(tree.rank_of(tree.parent()), room));
    }
    held = room;
  }
  for (int child = tree.next_child(tree.relative()); child < tree.size(); child = tree.next_child(child)) {
    const Bytes part =
        held.subspan(bytes_of(buffers, child - tree.relative()), bytes_of(buffers, tree.extent_of(child)));
    note(outcome, co_await team.send(tree.rank_of(child), part));
  }
  if (!buffers.receive.empty()) {
    spend_copy(model, team, buffers.block);
    team.copy(held.first(buffers.block), buffers.receive);
  }
  co_return outcome;
}

Task<Outcome> allreduce(const CollectiveModel& model, const Operation& operation, Team& team,
                        CollectiveBuffers buffers) {
  Outcome outcome = co_await reduce_to(model, operation, team, buffers, 0);
  const Tree tree(model.order, team, 0);
  note(outcome, co_await bcast(tree, team, buffers.receive));
  co_return outcome;
}

Task<Outcome> allgather(const CollectiveModel& model, Team& team, CollectiveBuffers buffers) {
  const Tree tree(model.order, team, 0);
  Outcome outcome = co_await gather(model, tree, team, buffers, 0);
  note(outcome, co_await bcast(tree, team, buffers.receive));
  co_return outcome;
}

Task<Outcome> barrier(const CollectiveModel& model, Team& team) {
  const Tree tree(model.order, team, 0);
  Outcome outcome = co_await reduce(model, tree, team, {}, {});
  note(outcome, co_await bcast(tree, team, {}));
  co_return outcome;
}

}  // namespace

std::uint64_t most_blocks(Order order, int ranks) {
  return order == Order::kTree ? static_cast<std::uint64_t>(std::clamp(ranks - 1, 1, kGroup)) : 1;
}

Task<Outcome> carry(Order order, const Operation& operation, Team& team, const CollectiveBuffers& buffers) {
  if (!reduces(operation.kind)) return move_data(operation, team, buffers);
  const Tree tree(order, team, operation.commutative ? top_of(operation) : 0);
  Fold fold;
  if (!tree.is_root()) fold.parent = tree.rank_of(tree.parent());
  for (int child = tree.next_child(tree.relative()); child < tree.size(); child = tree.next_child(child))
    fold.add_child(tree.rank_of(child));
  return move_data(operation, team, buffers, std::move(fold));
}

Task<Outcome> run_collective(const CollectiveModel& model, const Operation& operation, Team& team,
                             CollectiveBuffers buffers) {
  // The tool chain's sends and receives block: an engine answers a request when its role has made the call.
  team.synchronous = true;
  team.signals = operation.kind == OperationKind::kBarrier;
  const Tree tree(model.order, team, operation.root);
  switch (operation.kind) {
    case OperationKind::kBcast:
      co_return co_await bcast(tree, team, buffers.receive);
    case OperationKind::kReduce:
      co_return co_await reduce_to(model, operation, team, buffers, operation.root);
    case OperationKind::kGather:
      co_return co_await gather(model, tree, team, buffers, operation.root);
    case OperationKind::kScatter:
      co_return co_await scatter(model, tree, team, buffers, operation.root);
    case OperationKind::kAllreduce:
      co_return co_await allreduce(model, operation, team, buffers);
    case OperationKind::kAllgather:
      co_return co_await allgather(model, team, buffers);
    case OperationKind::kBarrier:
      co_return co_await barrier(model, team);
    case OperationKind::kSend:
    case OperationKind::kReduceScatter:
    case OperationKind::kAlltoall:
    case OperationKind::kScan:
    case OperationKind::kExscan:
    case OperationKind::kGatherv:
    case OperationKind::kScatterv:
    case OperationKind::kAllgatherv:
    case OperationKind::kReduceScatterv:
    case OperationKind::kAlltoallv:
    case OperationKind::kCount:
      break;  // declined by supports()
  }
  co_return Outcome::kFault;
}

}  // namespace offramp::zrlmpi
