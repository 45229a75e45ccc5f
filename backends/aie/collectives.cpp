// The algorithms; the planner finds a graph for each (planner.hpp). Ranks: at most one per tile, fewer if
// windows or streams need more room. Memory in addition to the program's: one message buffer per child of a
// rank (reduce), or the blocks of its subtree (blocks.cpp).
//
//   reduce          up a tree that is filled level by level ([aie-thesis] 4.4.3), with windows of partial
//                   results in preorder, which is rank order starting at the root.
//   bcast           one multicast stream from the root to all others.
//   allreduce       a reduce to rank 0 and a multicast in one graph; or a butterfly: log2(p) rounds of
//                   exchanges, if the number of ranks is a power of two and the data fits a tile. Memory
//                   of the butterfly: 1 + 2 log2(p) messages.
//   allgather       a gather to rank 0 and a multicast of the result.
//   reduce_scatter  a reduce to rank 0 and a scatter; the sums stay in rank 0's tile if they fit.
//   barrier         a reduce and a multicast of the smallest window.
//   gather, scatter, alltoall  in blocks.cpp.
#include "backends/aie/collectives.hpp"

#include <bit>

#include "backends/aie/blocks.hpp"
#include "backends/aie/rank_part.hpp"
#include "backends/aie/verdicts.hpp"

namespace offramp::aie {
namespace {

ReduceCall reduce_call(const Setup& setup, const Operation& operation, const Chunks& chunks) {
  ReduceCall call;
  call.chunks = chunks;
  call.code = setup.kernels;
  if (operation.kind == OperationKind::kBarrier) return call;
  const Loop loop = loop_of(operation.element, operation.function);
  call.element_bytes = loop.element_bytes;
  call.operations = loop.operations;
  if (loop.scalar) call.code = Code::kScalar;
  return call;
}

/// Reduces to the top. bytes: of the operation; those of a barrier are no data. deliver: the top's host needs
/// the result.
Task<Outcome> reduce_tree(const Model& model, const Operation& operation, const ArrayRequirements& required,
                          Team& team, int root, std::size_t bytes, bool deliver) {
  RankPart part(model, team, root, required.tree);
  const Chunks chunks{bytes, edge_window(bytes, required.tree_window)};
  const bool has_data = operation.kind != OperationKind::kBarrier;
  const WindowBytes windows = has_data ? WindowBytes(chunks) : WindowBytes();
  const bool streamed = required.tree->streamed;
  ReduceCall call = reduce_call(model.setup, operation, chunks);
  // How many accesses may meet in one double bank, which delays them.
  call.meeting = part.plan().meeting[at(part.node())];
  PooledVector<Input*> inputs;
  for (const int child : part.tree().children(part.node()))
    inputs.push_back(&part.input(part.rank_of_node(child), chunks.count(), windows));
  // Kernels acquire their inputs in the order in which the plan expects them.
  for (const std::size_t child : required.tree->acquisition[at(part.node())])
    call.inputs.push_back(inputs[child]);
  OpenOutput open;
  if (!part.is_top()) {
    call.output = &part.output(part.rank_of_node(part.tree().parent(part.node())),
                               part.plan().connections[at(part.node() - 1)], chunks.window, windows);
  } else if (streamed) {
    call.output = &part.to_host(chunks.window);
  } else {
    call.output = &open;
  }
  if (streamed) {
    call.local = &part.from_host(chunks.window, chunks.count());
  } else if (has_data) {
    co_await part.move_in(bytes);
  }
  part.begin_kernel();
  co_await reduce_kernel(part.core(), call);
  co_await part.end_kernel();
  if (part.is_top() && !streamed && deliver && has_data) co_await part.move_out(bytes);
  co_return part.outcome();
}

/// One multicast from the top to all others. has_data: not for a barrier. in_tile: the data is already in the
/// memory of the top's kernel.
Task<Outcome> multicast(const Model& model, const ArrayRequirements& required, Team& team, int root,
                        std::size_t bytes, bool has_data, bool in_tile) {
  RankPart part(model, team, root, nullptr);
  const Chunks chunks{bytes, edge_window(bytes, required.multicast_window)};
  const WindowBytes windows = has_data ? WindowBytes(chunks) : WindowBytes();
  const bool with_host = model.setup.host_data && has_data;
  CopyCall call{nullptr, nullptr, chunks, model.setup.copies};
  if (part.is_top()) {
    if (with_host && !in_tile) call.input = &part.from_host(chunks.window, chunks.count());
    call.output = &part.multicast(*required.multicast, chunks.window, windows);
  } else {
    call.input = &part.input(part.rank_of(0), chunks.count(), windows);
    if (with_host) call.output = &part.to_host(chunks.window);
  }
  part.begin_kernel();
  co_await copy_kernel(part.core(), call);
  co_await part.end_kernel();
  co_return part.outcome();
}

Task<Outcome> butterfly(const Model& model, const Operation& operation, const ArrayRequirements& required,
                        Team& team, std::size_t bytes) {
  RankPart part(model, team, 0, nullptr);
  // The number of ranks is a power of two here.
  const int rounds = static_cast<int>(std::bit_width(static_cast<unsigned>(team.size()))) - 1;
  const Chunks chunks{bytes, required.butterfly_window};
  const ReduceCall arithmetic = reduce_call(model.setup, operation, chunks);
  ButterflyCall call;
  call.chunks = chunks;
  call.element_bytes = arithmetic.element_bytes;
  call.operations = arithmetic.operations;
  call.code = arithmetic.code;
  for (int round = 0; round < rounds; ++round) {
    const int partner = team.rank() ^ (1 << round);
    call.outputs.push_back(
        &part.output(partner, required.butterfly->connections[at(round * team.size() + team.rank())],
                     required.butterfly_window, chunks));
    call.inputs.push_back(&part.input_back(partner, chunks.count(), chunks));
  }
  co_await part.move_in(bytes);
  part.begin_kernel();
  co_await butterfly_kernel(part.core(), call);
  co_await part.end_kernel();
  co_await part.move_out(bytes);
  co_return part.outcome();
}

Task<Outcome> allreduce(const Model& model, const Operation& operation, const ArrayRequirements& required,
                        Team& team, std::size_t bytes) {
  if (required.butterfly != nullptr) co_return co_await butterfly(model, operation, required, team, bytes);
  const bool in_tile = !required.tree->streamed;
  Outcome outcome = co_await reduce_tree(model, operation, required, team, 0, bytes, true);
  const Model second = following(model);
  note(outcome, co_await multicast(second, required, team, 0, bytes, bytes > 0, in_tile));
  co_return outcome;
}

Task<Outcome> allgather(const Model& model, const ArrayRequirements& required, Team& team,
                        std::size_t block) {
  Outcome outcome = co_await gather(model, required, team, block, 0);
  const std::size_t bytes = block * at(team.size());
  note(outcome, co_await multicast(following(model), required, team, 0, bytes, bytes > 0, false));
  co_return outcome;
}

/// The sums of all blocks arrive at the top, and continue from its tile if they are there.
Task<Outcome> reduce_scatter(const Model& model, const Operation& operation,
                             const ArrayRequirements& required, Team& team, std::size_t block) {
  Outcome outcome = co_await reduce_tree(model, operation, required, team, 0, block * at(team.size()), false);
  const Model second = following(model);
  note(outcome, co_await scatter(second, required, team, block, 0, !required.tree->streamed));
  co_return outcome;
}

Task<Outcome> barrier(const Model& model, const Operation& operation, const ArrayRequirements& required,
                      Team& team) {
  Outcome outcome = co_await reduce_tree(model, operation, required, team, 0, kBarrierBytes, false);
  const Model second = following(model);
  note(outcome, co_await multicast(second, required, team, 0, kBarrierBytes, false, true));
  co_return outcome;
}

Task<Outcome> run_on_array(const Model& model, const Operation& what, const ArrayRequirements& required,
                           Team& team, const CollectiveBuffers& buffers) {
  switch (what.kind) {
    case OperationKind::kBcast:
      return multicast(model, required, team, what.root, what.bytes, what.bytes > 0, false);
    case OperationKind::kReduce:
      return reduce_tree(model, what, required, team, what.root, what.bytes, true);
    case OperationKind::kGather:
      return gather(model, required, team, buffers.block, what.root);
    case OperationKind::kScatter:
      return scatter(model, required, team, buffers.block, what.root, false);
    case OperationKind::kAllreduce:
      return allreduce(model, what, required, team, what.bytes);
    case OperationKind::kAllgather:
      return allgather(model, required, team, buffers.block);
    case OperationKind::kReduceScatter:
      return reduce_scatter(model, what, required, team, buffers.block);
    case OperationKind::kAlltoall:
      return alltoall(model, required, team, buffers.block);
    case OperationKind::kBarrier:
      return barrier(model, what, required, team);
    case OperationKind::kSend:
    case OperationKind::kScan:
    case OperationKind::kExscan:
    case OperationKind::kGatherv:
    case OperationKind::kScatterv:
    case OperationKind::kAllgatherv:
    case OperationKind::kReduceScatterv:
    case OperationKind::kAlltoallv:
    case OperationKind::kCount:
      break;
  }
  return declined_collective();
}

}  // namespace

/// Spends time on the host's command or on loading a graph.
static void pass(const Model& model, Team& team, std::string_view unit, std::string_view what,
                 Time duration) {
  const Time begin = team.clock;
  team.clock += duration;
  if (model.spans != nullptr && team.clock > begin)
    model.spans->record({unit, what, begin, team.clock, team.operation, team.world_rank(team.rank())});
}

Fold fold_of(Planner& planner, const Operation& operation, const TeamMembers& team) {
  const ArrayRequirements& required = planner.requirements(operation);
  // The butterfly combines 2, 4, 8, ... neighbouring ranks, lower ranks as left operands.
  if (operation.kind == OperationKind::kAllreduce && required.butterfly != nullptr)
    return Fold::binomial(team, 0);
  const Tree& tree = required.tree->tree;
  const int root = top_of(operation);
  // Nodes are numbered level by level, and ranks in preorder.
  const auto rank_of = [&](int node) { return (tree.place_in_preorder(node) + root) % team.size(); };
  const int node = tree.preorder()[at((team.rank() - root + team.size()) % team.size())];
  Fold fold;
  if (team.rank() != root) fold.parent = rank_of(tree.parent(node));
  for (const int child : tree.children(node)) fold.add_child(rank_of(child));
  return fold;
}

Task<Outcome> run_collective(Model model, const Operation& operation, Team& team, CollectiveBuffers buffers) {
  const Operation what = operation;
  const ArrayRequirements required =
      model.planner.requirements(what);  // a copy: other operations may replace it meanwhile
  pass(model, team, "aie.command", is_published(what) ? "start" : "start: not in [aie-thesis]",
       model.setup.command);
  pass(model, team, "aie.configuration", "load graph",
       model.graphs.load(team.world_rank(team.rank()), what, required));
  Outcome outcome = Outcome::kFault;  // declined by supports()
  if (required.limit.empty()) outcome = co_await run_on_array(model, what, required, team, buffers);
  pass(model, team, "aie.command", "end", model.setup.command);
  co_return outcome;
}

}  // namespace offramp::aie
