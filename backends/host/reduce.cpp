// Reduction to one rank.
//
// The algorithms follow coll_base_reduce.c of [openmpi] (ompi/mca/coll/base), functions
// ompi_coll_base_reduce_intra_*. Each entry lists the name in the catalogue, the function, and a description.
// The trees are those of coll_base_topo.c. Those from chain to in-order_binary share one function, up(): a
// rank combines its children's contributions segment by segment while it receives the next one, and forwards
// each segment. Any number of ranks. "Memory" is memory in addition to the program's buffers; v is the
// vector, s a segment.
//
//   linear           basic_linear: the root receives one operand after the other, from the last rank down,
//                    which keeps their order. Memory: v at the root, 2 v in place.
//   chain, pipeline  chain, pipeline: up a chain of all ranks; both are equal for their default fan-out of 1.
//                    Commutative. Memory: v at each rank with a child, 2 s in place at the root.
//   binary           binary: up a tree with two children per rank. Commutative. Memory: v + 2 s at inner
//                    ranks.
//   binomial         binomial: up a binomial tree with contiguous subtrees. Commutative, since the circle
//                    starts at the root. Memory: v + 2 s.
//   in-order_binary  in_order_binary: a binary tree with the last rank at its top and operands in order; the
//                    top sends the result to the root. Memory: v + 2 s, and v at the top.
//   rabenseifner     redscat_gather: recursive halving, then a binomial gather of the parts. R. Rabenseifner,
//                    "Optimization of Collective Reduction Operations", ICCS 2004. Commutative; at least one
//                    element per position. A root that is folded into its neighbour receives the result from
//                    it (Open MPI exchanges the two ranks' roles). Memory: v at the root, 2 v elsewhere.
//   han              in han.cpp.
#include <optional>

#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

/// Reduces up a tree, segment by segment: one contribution is combined while the next is received. The rank
/// at the top stores the sum in `result`.
Task<Outcome> up(AlgorithmCall call, Tree tree, MutableBytes result, std::size_t segment_bytes) {
  Team& team = call.team;
  const Bytes own = call.buffers.send;
  const Segments segments(own.size(), call.element(), segment_bytes);
  const std::size_t children = tree.children.size();
  MutableBytes sum = tree.is_top() ? result : children > 0 ? team.scratch(own.size()) : MutableBytes();
  // For commutative operations the first contribution to a segment is received into `sum`, which saves the
  // copy of the own operand.
  const bool direct = call.operation.commutative && children > 0 && own.data() != sum.data();
  if (!direct && !sum.empty()) local_copy(team, call.costs(), own, sum);
  MutableBytes rooms[2];
  const auto place = [&](std::size_t step) {
    const MutableBytes part = segments.slice(sum, step / children);
    if (direct && step % children == 0) return part;
    MutableBytes& room = rooms[step % 2];
    if (room.size() < part.size()) room = team.scratch(segments.longest());
    return room.first(part.size());
  };

  Outcome outcome = Outcome::kOk;
  std::optional<Team::Pending> next;
  for (std::size_t segment = 0; segment < segments.count(); ++segment) {
    for (std::size_t child = 0; child < children; ++child) {
      const std::size_t step = segment * children + child;
      if (step == 0) next.emplace(team.receive(tree.children[0], place(0)));
      const Team::Pending incoming = *next;
      if (step + 1 < segments.count() * children)
        next.emplace(team.receive(tree.children[(step + 1) % children], place(step + 1)));
      note(outcome, co_await incoming);
      const Bytes in = direct && child == 0 ? segments.slice(own, segment) : Bytes(place(step));
      local_combine(team, call.costs(), in, segments.slice(sum, segment));
    }
    if (!tree.is_top())
      note(outcome,
           co_await team.send(tree.parent, segments.slice(children > 0 ? Bytes(sum) : own, segment)));
  }
  co_return outcome;
}

Task<Outcome> reduce_chain(AlgorithmCall call) {
  return reduce_up_chain(call, call.segment());
}
Task<Outcome> reduce_binary(AlgorithmCall call) {
  return up(call, Tree::binary(call.rank(), call.size(), call.operation.root), call.buffers.receive,
            call.segment());
}
Task<Outcome> reduce_binomial(AlgorithmCall call) {
  return reduce_up_binomial(call, call.segment());
}

/// The tree that preserves the order ends at the last rank, which sends the result to the root.
Task<Outcome> reduce_binary_in_order(AlgorithmCall call) {
  Team& team = call.team;
  const int top = call.size() - 1;
  const int root = call.operation.root;
  Tree tree = Tree::binary_in_order(call.rank(), call.size());
  MutableBytes sum = call.buffers.receive;
  if (call.rank() == top && root != top) sum = team.scratch(call.buffers.send.size());
  Outcome outcome = co_await up(call, std::move(tree), sum, call.segment());
  if (root == top) co_return outcome;
  if (call.rank() == top) note(outcome, co_await team.send(root, sum));
  if (call.rank() == root) note(outcome, co_await team.receive(top, call.buffers.receive));
  co_return outcome;
}

/// Rabenseifner's algorithm: reduce-scatter by halves, then a binomial gather of the parts.
Task<Outcome> reduce_rabenseifner(AlgorithmCall call) {
  Team& team = call.team;
  const Positions positions(call.size());
  const int root = call.operation.root;
  const std::size_t bytes = call.buffers.send.size();
  const Cut cut = Cut::even(bytes, call.element(), positions.count());
  MutableBytes sum = call.is_root() ? call.buffers.receive : team.scratch(bytes);
  MutableBytes incoming = team.scratch(bytes);
  Outcome outcome = co_await begin_rabenseifner(call, positions, cut, sum, incoming);
  const int top =
      positions.rank(positions.position_of(root));  // the root, or the rank into which it is folded
  if (!positions.is_folded(call.rank())) {
    const int own = positions.position_of(call.rank());
    const std::vector<Window> windows = windows_of(own, positions, true);
    std::size_t step = windows.size() - 1;
    for (int mask = positions.count() / 2; mask > 0; mask /= 2, --step) {
      const int peer = positions.rank(own ^ mask);
      if (((own ^ positions.position_of(root)) & mask) != 0) {
        note(outcome, co_await team.send(peer, cut.slice(sum, windows[step])));
        break;
      }
      note(outcome, co_await team.receive(peer, cut.slice(sum, other_half(windows, step))));
    }
  }
  if (top == root) co_return outcome;
  if (call.rank() == top) note(outcome, co_await team.send(root, sum));
  if (call.rank() == root) note(outcome, co_await team.receive(top, call.buffers.receive));
  co_return outcome;
}

constexpr Algorithm kReduceAlgorithms[] = {
    {"linear", reduce_linear},
    {"chain", reduce_chain, "in-order_binary", true},
    {"pipeline", reduce_chain, "in-order_binary", true},
    {"binary", reduce_binary, "in-order_binary", true},
    {"binomial", reduce_binomial, "in-order_binary", true},
    {"in-order_binary", reduce_binary_in_order},
    {"rabenseifner", reduce_rabenseifner, "linear", true, Ranks::kAny, Elements::kOnePerPowerOfTwo},
    {"han", reduce_han, kByOpenMpi, true, Ranks::kAny, Elements::kAny, Nodes::kEqual},
    {kByNodes, reduce_by_nodes, kByOpenMpi, true, Ranks::kAny, Elements::kAny, Nodes::kEqual},
};

}  // namespace

/// The root receives one operand after the other, from the last rank down.
Task<Outcome> reduce_linear(AlgorithmCall call) {
  Team& team = call.team;
  const int root = call.operation.root;
  const Bytes own = call.buffers.send;
  if (!call.is_root()) co_return co_await team.send(root, own);
  const bool in_place = own.data() == call.buffers.receive.data();
  const MutableBytes sum = in_place && call.size() > 1 ? team.scratch(own.size()) : call.buffers.receive;
  const MutableBytes room = team.scratch(own.size());
  Outcome outcome = Outcome::kOk;
  for (int rank = call.size() - 1; rank >= 0; --rank) {
    const bool first = rank == call.size() - 1;
    if (rank != root) note(outcome, co_await team.receive(rank, first ? sum : room));
    if (first) {
      if (rank == root) local_copy(team, call.costs(), own, sum);
    } else {
      local_combine(team, call.costs(), rank == root ? own : Bytes(room), sum);
    }
  }
  local_copy(team, call.costs(), sum, call.buffers.receive);
  co_return outcome;
}

Task<Outcome> reduce_up_chain(AlgorithmCall call, std::size_t segment) {
  return up(call, Tree::chain(call.rank(), call.size(), call.operation.root), call.buffers.receive, segment);
}
Task<Outcome> reduce_up_binomial(AlgorithmCall call, std::size_t segment) {
  return up(call, Tree::binomial_in_order(call.rank(), call.size(), call.operation.root),
            call.buffers.receive, segment);
}

constinit const std::span<const Algorithm> kReduceCatalogue = kReduceAlgorithms;

}  // namespace offramp::host
