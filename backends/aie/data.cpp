#include "backends/aie/data.hpp"

#include <utility>

#include "simulators/world/dataflow.hpp"

namespace offramp::aie {
namespace {

/// Ranks are numbered in preorder from the root; each combines its children's results in order.
Fold fold_of(const Tree& tree, const Team& team, int root) {
  const int size = team.size();
  const auto rank_of_node = [&](int node) { return (tree.place_in_preorder(node) + root) % size; };
  const int node = tree.preorder()[static_cast<std::size_t>((team.rank() - root + size) % size)];
  Fold fold;
  if (team.rank() != root) fold.parent = rank_of_node(tree.parent(node));
  for (const int child : tree.children(node)) fold.add_child(rank_of_node(child));
  return fold;
}

/// Combines 2, 4, 8, ... neighbouring ranks, lower ranks as left operands.
Task<Outcome> butterfly(Team& team, CollectiveBuffers buffers) {
  Outcome outcome = Outcome::kOk;
  MutableBytes sum = team.scratch(buffers.send.size());
  MutableBytes other = team.scratch(buffers.send.size());
  team.copy(buffers.send, sum);
  for (int distance = 1; distance < team.size(); distance *= 2) {
    const int partner = team.rank() ^ distance;
    const Team::PendingToken sent = team.send_token(partner, sum, Stamp{});
    note(outcome, (co_await team.receive_token(partner, other)).outcome);
    note(outcome, (co_await sent).outcome);
    if (partner < team.rank()) {
      team.combine(other, sum);
    } else {
      team.combine(sum, other);
      std::swap(sum, other);
    }
  }
  team.copy(sum, buffers.receive);
  co_return outcome;
}

}  // namespace

Task<Outcome> carry(Planner& planner, const Operation& operation, Team& team,
                    const CollectiveBuffers& buffers) {
  if (!reduces(operation.kind)) return move_data(operation, team, buffers);
  const ArrayRequirements& required = planner.requirements(operation);
  if (operation.kind == OperationKind::kAllreduce && required.butterfly != nullptr)
    return butterfly(team, buffers);
  return move_data(operation, team, buffers, fold_of(required.tree->tree, team, top_of(operation)));
}

}  // namespace offramp::aie
