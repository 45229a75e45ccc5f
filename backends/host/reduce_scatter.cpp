// Reduction to blocks, of equal and of different sizes. Any number of ranks.
//
// The algorithms follow coll_base_reduce_scatter_block.c (equal blocks) and coll_base_reduce_scatter.c of
// [openmpi] (ompi/mca/coll/base); one is MPICH's. "Memory" is memory in addition to the program's buffers; v
// is the whole vector.
//
//   basic_linear, non-overlapping  reduce_scatter_block_basic_linear, reduce_scatter_intra_nonoverlapping:
//                                  reduce to rank 0, then scatter(v), by the algorithms of the settings or
//                                  rules. Operands in order. Memory: v at rank 0, and theirs.
//   recursive_doubling             ..._block_intra_recursivedoubling: an allreduce of the whole vector; a
//                                  rank keeps its block (Open MPI exchanges fewer blocks from step to step).
//                                  Operands in order. Memory: up to 2 v.
//   recursive_halving              ..._block_intra_recursivehalving, ..._intra_basic_recursivehalving:
//                                  log2(p) steps; each sends half of the rest and combines the other half,
//                                  far partners first. Ranks beyond a power of two fold into a neighbour
//                                  first and receive their block at the end. Commutative. Memory: 2 v.
//   butterfly                      ..._butterfly: as recursive_halving, but near partners first and operands
//                                  in order. A rank ends with the block of its mirrored position, and sends
//                                  it to its owner. Source at the function. Memory: 2 v.
//   ring                           reduce_scatter_intra_ring: p - 1 steps around the circle. Commutative.
//                                  Memory: v and the longest block.
//   pairwise                       MPICH's for long vectors (MPIR_Reduce_scatter_intra_pairwise): each block
//                                  is sent directly to its owner. Commutative. Memory: two blocks.
#include "backends/host/collectives.hpp"
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

/// Partitions the vector into the ranks' blocks.
Cut blocks_of(const AlgorithmCall& call) {
  std::vector<std::size_t> begins{0};
  for (int rank = 0; rank < call.size(); ++rank)
    begins.push_back(begins.back() + call.send_block(rank).size());
  return Cut(std::move(begins));
}

/// Reduces to rank 0, then scatters.
Task<Outcome> reduce_and_scatter(AlgorithmCall call) {
  Team& team = call.team;
  const bool equal = call.buffers.send_blocks.empty();
  AlgorithmCall part = call;
  part.operation.kind = OperationKind::kReduce;
  part.operation.root = 0;
  part.operation.bytes = call.buffers.send.size();
  part.operation.elements = part.operation.bytes / call.element();
  part.buffers = {call.buffers.send, {}, part.operation.bytes};
  if (part.is_root()) part.buffers.receive = team.scratch(part.operation.bytes);
  Outcome outcome = co_await call.collectives.run(AlgorithmCall(part));

  const MutableBytes whole = part.buffers.receive;
  const Cut cut = blocks_of(call);
  std::vector<Bytes> blocks;
  for (int rank = 0; part.is_root() && !equal && rank < call.size(); ++rank)
    blocks.emplace_back(cut.slice(whole, rank));
  part.operation.kind = equal ? OperationKind::kScatter : OperationKind::kScatterv;
  part.operation.bytes = call.operation.bytes;
  part.buffers = {whole, call.buffers.receive, call.buffers.block, blocks, {}};
  note(outcome, co_await call.collectives.run(AlgorithmCall(part)));
  co_return outcome;
}

/// Every rank computes the whole vector and keeps its block.
Task<Outcome> reduce_scatter_recursive_doubling(AlgorithmCall call) {
  Team& team = call.team;
  const Cut cut = blocks_of(call);
  AlgorithmCall whole = call;
  whole.buffers = {call.buffers.send, team.scratch(call.buffers.send.size()), call.buffers.send.size()};
  Outcome outcome = co_await allreduce_recursive_doubling(whole);
  local_copy(team, call.costs(), cut.slice(whole.buffers.receive, call.rank()), call.buffers.receive);
  co_return outcome;
}

Task<Outcome> reduce_scatter_ring(AlgorithmCall call) {
  Team& team = call.team;
  const Cut cut = blocks_of(call);
  const MutableBytes sum = team.scratch(call.buffers.send.size());
  local_copy(team, call.costs(), call.buffers.send, sum);
  std::size_t longest = 0;
  for (int rank = 0; rank < call.size(); ++rank) longest = std::max(longest, call.send_block(rank).size());
  const Segments whole(longest, 1, 0);
  Outcome outcome = co_await reduce_around_ring(call, sum, cut, whole, 0);
  local_copy(team, call.costs(), cut.slice(sum, call.rank()), call.buffers.receive);
  co_return outcome;
}

/// MPICH's algorithm for long vectors: each block is sent directly to its owner.
Task<Outcome> reduce_scatter_pairwise(AlgorithmCall call) {
  Team& team = call.team;
  const Cut cut = blocks_of(call);
  const MutableBytes sum = team.scratch(call.buffers.receive.size());
  const MutableBytes incoming = team.scratch(sum.size());
  local_copy(team, call.costs(), cut.slice(call.buffers.send, call.rank()), sum);
  Outcome outcome = Outcome::kOk;
  for (int step = 1; step < call.size(); ++step) {
    const int to = wrap(call.rank() + step, call.size());
    const int from = wrap(call.rank() - step, call.size());
    note(outcome, co_await exchange(team, to, cut.slice(call.buffers.send, to), from, incoming));
    local_combine(team, call.costs(), incoming, sum);
  }
  local_copy(team, call.costs(), sum, call.buffers.receive);
  co_return outcome;
}

/// Reverses the bits of a position: the owner of its blocks after halving with near partners first.
int mirrored(int position, int count) {
  int mirror = 0;
  for (int bit = 1; bit < count; bit *= 2, position /= 2) mirror = 2 * mirror + position % 2;
  return mirror;
}

Task<Outcome> reduce_scatter_by_halves(AlgorithmCall call, Halving halving) {
  Team& team = call.team;
  const int rank = call.rank();
  const int size = call.size();
  const Positions positions(size);
  const Cut blocks = blocks_of(call);
  std::vector<std::size_t> begins;
  for (int position = 0; position <= positions.count(); ++position)
    begins.push_back(blocks.begin(positions.rank(position)));
  const Cut cut(std::move(begins));
  const auto holder = [&](int of_rank) {
    const int position = positions.position_of(of_rank);
    return positions.rank(halving.near_first ? mirrored(position, positions.count()) : position);
  };
  Outcome outcome = Outcome::kOk;
  if (positions.is_folded(rank)) {
    note(outcome, co_await team.send(rank - 1, call.buffers.send));
    note(outcome, co_await team.receive(holder(rank), call.buffers.receive));
    co_return outcome;
  }
  MutableBytes sum = team.scratch(call.buffers.send.size());
  MutableBytes incoming = team.scratch(call.buffers.send.size());
  if (positions.is_paired(rank)) {
    note(outcome, co_await team.receive(rank + 1, sum));
    local_combine(team, call.costs(), call.buffers.send, sum);
  } else {
    local_copy(team, call.costs(), call.buffers.send, sum);
  }
  note(outcome, co_await reduce_by_halves(call, positions, halving, cut, sum, incoming));

  // Sends the blocks from their holders to their owners.
  std::vector<Team::Pending> messages;
  if (holder(rank) != rank) messages.push_back(team.receive(holder(rank), call.buffers.receive));
  const int held = positions.position_of(holder(rank));  // mirroring is its own inverse
  for (int owner = positions.rank(held); owner < positions.rank(held + 1); ++owner) {
    if (owner == rank) {
      local_copy(team, call.costs(), blocks.slice(sum, owner), call.buffers.receive);
    } else {
      messages.push_back(team.send(owner, blocks.slice(Bytes(sum), owner)));
    }
  }
  for (const Team::Pending& one : messages) note(outcome, co_await one);
  co_return outcome;
}
Task<Outcome> reduce_scatter_recursive_halving(AlgorithmCall call) {
  return reduce_scatter_by_halves(call, {false, false});
}
/// Träff, "An improved algorithm for (non-commutative) reduce-scatter with an application", EuroPVM/MPI 2005.
Task<Outcome> reduce_scatter_butterfly(AlgorithmCall call) {
  return reduce_scatter_by_halves(call, {true, true});
}

constexpr Algorithm kEqualScatter[] = {
    {"basic_linear", reduce_and_scatter},
    {"recursive_doubling", reduce_scatter_recursive_doubling},
    {"recursive_halving", reduce_scatter_recursive_halving, "basic_linear", true},
    {"butterfly", reduce_scatter_butterfly},
    {"pairwise", reduce_scatter_pairwise, "basic_linear", true},
};
constexpr Algorithm kDifferentScatter[] = {
    {"non-overlapping", reduce_and_scatter},
    {"recursive_halving", reduce_scatter_recursive_halving, "non-overlapping", true},
    {"ring", reduce_scatter_ring, "non-overlapping", true},
    {"butterfly", reduce_scatter_butterfly},
    {"pairwise", reduce_scatter_pairwise, "non-overlapping", true},
};

}  // namespace

constinit const std::span<const Algorithm> kReduceScatterCatalogue = kEqualScatter;
constinit const std::span<const Algorithm> kReduceScattervCatalogue = kDifferentScatter;

}  // namespace offramp::host
