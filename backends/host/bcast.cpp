// Broadcast.
//
// The algorithms follow coll_base_bcast.c of [openmpi] (ompi/mca/coll/base), functions
// ompi_coll_base_bcast_intra_*. Each entry lists the name in the catalogue, the function, and a description.
// The trees are those of coll_base_topo.c and share one function, down(), which forwards a segment to all
// children while it receives the next one. Any number of ranks, any root. No memory besides the program's
// buffers, except for the root's copy below.
//
//   basic_linear            basic_linear: the root sends the whole message to all ranks at once.
//   chain, pipeline         chain, pipeline: down a chain of all ranks; both are equal for their default
//                           fan-out of 1.
//   binary_tree             bintree: two children per rank.
//   binomial                binomial: the parent of relative rank r is r without its highest bit.
//   knomial                 knomial: as binomial, in base 4.
//   split_binary_tree       split_bintree: one half of the message down each side of a binary tree, then
//                           ranks of both sides exchange their halves in pairs. At least one byte per rank,
//                           else chain.
//   scatter_allgather       scatter_allgather: 1/p for each rank down a binomial tree, then recursive
//                           doubling. R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective
//                           Communication Operations in MPICH", IJHPCA 19 (2005),
//                           doi:10.1177/1094342005051521. At least one byte per rank. If the partner group is
//                           incomplete, ranks without a partner get its data from ranks of their own group.
//                           Memory: a copy at the root.
//   scatter_allgather_ring  scatter_allgather_ring: the same scatter, then p - 1 steps around the ring. The
//                           same requirements and memory.
//   han                     in han.cpp.
#include <optional>

#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

constexpr int kRadix = 4;  // of k-nomial trees: coll_tuned_bcast_algorithm_knomial_radix

/// Sends down a tree, segment by segment. The next segment is received while the last one is forwarded.
Task<Outcome> down(AlgorithmCall call, Tree tree, std::size_t segment) {
  Team& team = call.team;
  const MutableBytes buffer = call.buffers.receive;
  const Segments segments(buffer.size(), 1, segment);
  Outcome outcome = Outcome::kOk;
  std::optional<Team::Pending> next;
  if (!tree.is_top()) next.emplace(team.receive(tree.parent, segments.slice(buffer, 0)));
  PooledVector<Team::Pending> outgoing;
  for (std::size_t i = 0; i < segments.count(); ++i) {
    if (!tree.is_top()) {
      const Team::Pending incoming = *next;
      if (i + 1 < segments.count()) next.emplace(team.receive(tree.parent, segments.slice(buffer, i + 1)));
      note(outcome, co_await incoming);
    }
    for (const int child : tree.children)
      outgoing.push_back(team.send(child, segments.slice(Bytes(buffer), i)));
    for (const Team::Pending& one : outgoing) note(outcome, co_await one);
    outgoing.clear();
  }
  co_return outcome;
}

Task<Outcome> bcast_chain(AlgorithmCall call) {
  return bcast_down_chain(call, call.segment());
}
Task<Outcome> bcast_binary(AlgorithmCall call) {
  return down(call, Tree::binary(call.rank(), call.size(), call.operation.root), call.segment());
}
Task<Outcome> bcast_binomial(AlgorithmCall call) {
  return down(call, Tree::binomial(call.rank(), call.size(), call.operation.root), call.segment());
}
Task<Outcome> bcast_k_nomial(AlgorithmCall call) {
  return down(call, Tree::k_nomial(call.rank(), call.size(), call.operation.root, kRadix), call.segment());
}

/// One half of the message goes down each side of a binary tree. Then the sides exchange their halves: odd
/// relative ranks (the first child's side) with the even ones after them.
Task<Outcome> bcast_split_binary(AlgorithmCall call) {
  Team& team = call.team;
  const int size = call.size();
  const int own = wrap(call.rank() - call.operation.root, size);
  const Tree tree = Tree::binary(call.rank(), size, call.operation.root);
  const MutableBytes buffer = call.buffers.receive;
  const std::size_t middle = (buffer.size() + 1) / 2;
  const MutableBytes halves[] = {buffer.first(middle), buffer.subspan(middle)};
  Outcome outcome = Outcome::kOk;
  if (tree.is_top()) {
    const Segments segments(middle, 1, call.segment());
    for (std::size_t i = 0; i < segments.count(); ++i) {
      for (std::size_t side = 0; side < tree.children.size(); ++side) {
        const Segments of_side(halves[side].size(), 1, call.segment());
        if (i < of_side.count())
          note(outcome, co_await team.send(tree.children[side], of_side.slice(Bytes(halves[side]), i)));
      }
    }
  } else {
    AlgorithmCall half = call;
    half.buffers.receive = halves[own % 2 == 1 ? 0 : 1];
    note(outcome, co_await down(half, tree, call.segment()));
  }
  const bool last_has_no_pair = size % 2 == 0;
  if (last_has_no_pair && tree.is_top()) {
    note(outcome, co_await team.send(wrap(call.rank() - 1, size), halves[1]));
  } else if (last_has_no_pair && own == size - 1) {
    note(outcome, co_await team.receive(call.operation.root, halves[1]));
  } else if (!tree.is_top()) {
    const bool first_side = own % 2 == 1;
    const int peer = wrap(call.rank() + (first_side ? 1 : -1), size);
    note(outcome,
         co_await exchange(team, peer, halves[first_side ? 0 : 1], peer, halves[first_side ? 1 : 0]));
  }
  co_return outcome;
}

/// Parts [r, r + subtree) of relative rank r arrive down a binomial tree.
Task<Outcome> scatter_parts(AlgorithmCall call, const Cut& cut) {
  Team& team = call.team;
  const int size = call.size();
  const int own = wrap(call.rank() - call.operation.root, size);
  const auto parts = [&](int first, int count) {
    return cut.slice(call.buffers.receive, Window{first, std::min(first + count, size)});
  };
  Outcome outcome = Outcome::kOk;
  int mask = 1;
  while (mask < size && (own & mask) == 0) mask *= 2;
  if (own > 0 && !parts(own, mask).empty())
    note(outcome, co_await team.receive(wrap(call.rank() - mask, size), parts(own, mask)));
  for (mask /= 2; mask > 0; mask /= 2) {
    if (own + mask < size && !parts(own + mask, mask).empty())
      note(outcome, co_await team.send(wrap(call.rank() + mask, size), parts(own + mask, mask)));
  }
  co_return outcome;
}

/// Recursive doubling over any number of ranks: groups of `mask` relative ranks exchange their parts. If the
/// partner group is incomplete, ranks without a partner get its parts from ranks of their own group.
Task<Outcome> gather_parts(AlgorithmCall call, const Cut& cut) {
  Team& team = call.team;
  const int size = call.size();
  const int own = wrap(call.rank() - call.operation.root, size);
  const auto peer = [&](int relative) { return wrap(relative + call.operation.root, size); };
  const auto parts = [&](int first, int count) {
    return cut.slice(call.buffers.receive, Window{std::min(first, size), std::min(first + count, size)});
  };
  Outcome outcome = Outcome::kOk;
  for (int mask = 1; mask < size; mask *= 2) {
    const int group = own & ~(mask - 1);
    const int other = group ^ mask;
    const int partner = own ^ mask;
    if (partner < size) {
      note(outcome,
           co_await exchange(team, peer(partner), parts(group, mask), peer(partner), parts(other, mask)));
    }
    const int served = size - group - mask;  // ranks with a partner, if the other group is incomplete
    if (other < group || served >= mask) continue;
    for (int step = mask / 2; step > 0; step /= 2) {
      const int neighbour = own ^ step;
      const int limit = (own & ~(2 * step - 1)) + served;
      if (neighbour > own && own < limit && neighbour >= limit)
        note(outcome, co_await team.send(peer(neighbour), parts(other, mask)));
      if (neighbour < own && neighbour < limit && own >= limit)
        note(outcome, co_await team.receive(peer(neighbour), parts(other, mask)));
    }
  }
  co_return outcome;
}

/// The allgather writes to the root's buffer, which must remain unmodified: the root continues with a copy.
void protect_root(AlgorithmCall& call) {
  if (!call.is_root()) return;
  const MutableBytes copy = call.team.scratch(call.buffers.receive.size());
  call.team.copy(call.buffers.receive, copy);
  call.buffers.receive = copy;
}

Task<Outcome> bcast_scatter_allgather(AlgorithmCall call) {
  protect_root(call);
  const Cut cut = Cut::rounded_up(call.buffers.receive.size(), 1, call.size());
  Outcome outcome = co_await scatter_parts(call, cut);
  note(outcome, co_await gather_parts(call, cut));
  co_return outcome;
}

Task<Outcome> bcast_scatter_ring(AlgorithmCall call) {
  protect_root(call);
  const int size = call.size();
  const Cut cut = Cut::rounded_up(call.buffers.receive.size(), 1, size);
  Outcome outcome = co_await scatter_parts(call, cut);
  const auto part = [&](int index) { return cut.slice(call.buffers.receive, index); };
  const int right = wrap(call.rank() + 1, size);
  const int left = wrap(call.rank() - 1, size);
  note(outcome, co_await gather_around_ring(call.team, part, wrap(call.rank() - call.operation.root, size),
                                            left, right));
  co_return outcome;
}

constexpr Algorithm kBcastAlgorithms[] = {
    {"basic_linear", bcast_linear},
    {"chain", bcast_chain},
    {"pipeline", bcast_chain},  // a chain with fan-out 1, the default of both
    {"split_binary_tree", bcast_split_binary, "chain", false, Ranks::kAny, Elements::kOnePerRank},
    {"binary_tree", bcast_binary},
    {"binomial", bcast_binomial},
    {"knomial", bcast_k_nomial},
    {"scatter_allgather", bcast_scatter_allgather, "basic_linear", false, Ranks::kAny, Elements::kOnePerRank},
    {"scatter_allgather_ring", bcast_scatter_ring, "basic_linear", false, Ranks::kAny, Elements::kOnePerRank},
    {"han", bcast_han, kByOpenMpi, false, Ranks::kAny, Elements::kAny, Nodes::kEqual},
    {kByNodes, bcast_by_nodes, kByOpenMpi, false, Ranks::kAny, Elements::kAny, Nodes::kEqual},
};

}  // namespace

Task<Outcome> bcast_linear(AlgorithmCall call) {
  return down(call, Tree::flat(call.rank(), call.size(), call.operation.root), 0);
}

Task<Outcome> bcast_down_binomial(AlgorithmCall call) {
  return down(call, Tree::binomial(call.rank(), call.size(), call.operation.root), 0);
}
Task<Outcome> bcast_down_chain(AlgorithmCall call, std::size_t segment) {
  return down(call, Tree::chain(call.rank(), call.size(), call.operation.root), segment);
}

constinit const std::span<const Algorithm> kBcastCatalogue = kBcastAlgorithms;

}  // namespace offramp::host
