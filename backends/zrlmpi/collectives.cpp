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

#include "simulators/zrlmpi/protocol.hpp"

namespace offramp::zrlmpi {
namespace {

/// The tree as seen by one rank, in relative ranks (0 is the root): its parent, and its children with the
/// sizes of their subtrees. Linear order is the tree whose groups have one member.
class Tree {
 public:
  Tree(Order order, const TeamMembers& team, int root)
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
  [[nodiscard]] int extent_of(int child) const { return is_root() ? std::min(group_, size_ - child) : 1; }
  [[nodiscard]] int size() const { return size_; }

 private:
  int group_;
  int size_;
  int root_;
  int relative_;
};

Task<Outcome> bcast(const Tree& tree, Team& team, std::size_t bytes) {
  Outcome outcome = Outcome::kOk;
  if (!tree.is_root()) note(outcome, co_await team.receive(tree.rank_of(tree.parent()), bytes));
  for (int child = tree.next_child(tree.relative()); child < tree.size(); child = tree.next_child(child))
    note(outcome, co_await team.send(tree.rank_of(child), bytes));
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

/// The tree of a reduction: its top has the result first.
Tree tree_of(Order order, const Operation& operation, const TeamMembers& team) {
  return {order, team, top_of(operation)};
}

/// Combines own data first, then the children in ascending order: the order of relative ranks. The role
/// copies its data to its own memory, and the result out of it. has_result: a barrier has none.
Task<Outcome> reduce(const CollectiveModel& model, const Tree& tree, Team& team, std::size_t bytes,
                     bool has_result) {
  Outcome outcome = Outcome::kOk;
  spend_copy(model, team, bytes);
  for (int child = tree.next_child(tree.relative()); child < tree.size(); child = tree.next_child(child)) {
    note(outcome, co_await team.receive(tree.rank_of(child), bytes));
    spend(model, team, "combine", model.combine.bytes(static_cast<std::int64_t>(bytes)));
  }
  if (!tree.is_root()) {
    note(outcome, co_await team.send(tree.rank_of(tree.parent()), bytes));
  } else if (has_result) {
    spend_copy(model, team, bytes);
  }
  co_return outcome;
}

/// The top of the tree sends the result to the root, if that is another rank.
Task<Outcome> reduce_to(const CollectiveModel& model, const Operation& operation, Team& team, int root) {
  const Tree tree = tree_of(model.order, operation, team);
  const int top = tree.rank_of(0);
  Outcome outcome = co_await reduce(model, tree, team, operation.bytes, true);
  if (top != root && team.rank() == top) note(outcome, co_await team.send(root, operation.bytes));
  if (top != root && team.rank() == root) note(outcome, co_await team.receive(top, operation.bytes));
  co_return outcome;
}

std::size_t bytes_of(const CollectiveBuffers& buffers, int blocks) {
  return buffers.block * static_cast<std::size_t>(blocks);
}

/// Rotates the blocks of all ranks between relative and rank order.
void rotate_blocks(const CollectiveModel& model, Team& team, const CollectiveBuffers& buffers, int root) {
  spend_copy(model, team, bytes_of(buffers, team.size() - root));
  spend_copy(model, team, bytes_of(buffers, root));
}

Task<Outcome> gather(const CollectiveModel& model, const Tree& tree, Team& team, CollectiveBuffers buffers,
                     int root) {
  Outcome outcome = Outcome::kOk;
  const bool in_order = tree.is_root() && root == 0;
  const bool in_place = in_order && buffers.send.data() == buffers.receive.data();
  if (!in_place) spend_copy(model, team, buffers.send.size());
  for (int child = tree.next_child(tree.relative()); child < tree.size(); child = tree.next_child(child))
    note(outcome, co_await team.receive(tree.rank_of(child), bytes_of(buffers, tree.extent_of(child))));
  if (!tree.is_root()) {
    note(outcome, co_await team.send(tree.rank_of(tree.parent()), bytes_of(buffers, tree.extent())));
  } else if (!in_order) {
    rotate_blocks(model, team, buffers, root);
  }
  co_return outcome;
}

Task<Outcome> scatter(const CollectiveModel& model, const Tree& tree, Team& team, CollectiveBuffers buffers,
                      int root) {
  Outcome outcome = Outcome::kOk;
  if (!tree.is_root()) {
    note(outcome, co_await team.receive(tree.rank_of(tree.parent()), bytes_of(buffers, tree.extent())));
  } else if (root == 0) {
    spend_copy(model, team, buffers.send.size());
  } else {
    rotate_blocks(model, team, buffers, root);
  }
  for (int child = tree.next_child(tree.relative()); child < tree.size(); child = tree.next_child(child))
    note(outcome, co_await team.send(tree.rank_of(child), bytes_of(buffers, tree.extent_of(child))));
  if (!buffers.receive.empty()) spend_copy(model, team, buffers.block);
  co_return outcome;
}

Task<Outcome> allreduce(const CollectiveModel& model, const Operation& operation, Team& team) {
  Outcome outcome = co_await reduce_to(model, operation, team, 0);
  const Tree tree(model.order, team, 0);
  note(outcome, co_await bcast(tree, team, operation.bytes));
  co_return outcome;
}

Task<Outcome> allgather(const CollectiveModel& model, Team& team, CollectiveBuffers buffers) {
  const Tree tree(model.order, team, 0);
  Outcome outcome = co_await gather(model, tree, team, buffers, 0);
  note(outcome, co_await bcast(tree, team, buffers.receive.size()));
  co_return outcome;
}

Task<Outcome> barrier(const CollectiveModel& model, Team& team) {
  const Tree tree(model.order, team, 0);
  Outcome outcome = co_await reduce(model, tree, team, 0, false);
  note(outcome, co_await bcast(tree, team, 0));
  co_return outcome;
}

}  // namespace

std::uint64_t most_blocks(Order order, int ranks) {
  return order == Order::kTree ? static_cast<std::uint64_t>(std::clamp(ranks - 1, 1, kGroup)) : 1;
}

Fold fold_of(Order order, const Operation& operation, const TeamMembers& team) {
  const Tree tree = tree_of(order, operation, team);
  Fold fold;
  if (!tree.is_root()) fold.parent = tree.rank_of(tree.parent());
  for (int child = tree.next_child(tree.relative()); child < tree.size(); child = tree.next_child(child))
    fold.add_child(tree.rank_of(child));
  return fold;
}

Task<Outcome> run_collective(const CollectiveModel& model, Operation operation, Team& team,
                             CollectiveBuffers buffers) {
  // The tool chain's sends and receives block: an engine answers a request when its role has made the call.
  team.synchronous = true;
  team.signals = operation.kind == OperationKind::kBarrier;
  const Tree tree(model.order, team, operation.root);
  switch (operation.kind) {
    case OperationKind::kBcast:
      co_return co_await bcast(tree, team, buffers.receive.size());
    case OperationKind::kReduce:
      co_return co_await reduce_to(model, operation, team, operation.root);
    case OperationKind::kGather:
      co_return co_await gather(model, tree, team, buffers, operation.root);
    case OperationKind::kScatter:
      co_return co_await scatter(model, tree, team, buffers, operation.root);
    case OperationKind::kAllreduce:
      co_return co_await allreduce(model, operation, team);
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
