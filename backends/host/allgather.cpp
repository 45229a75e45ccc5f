// Allgather, with blocks of equal and of different sizes.
//
// The algorithms follow coll_base_allgather.c and coll_base_allgatherv.c of [openmpi] (ompi/mca/coll/base),
// functions ompi_coll_base_allgather_intra_* and ..._allgatherv_intra_*. Each entry lists the name in the
// catalogue, the function, and a description. "Memory" is memory in addition to the program's buffers.
//
//   linear              basic_linear: gather to rank 0 and bcast of the result, both linear. No memory.
//   default             basic_default, of allgatherv: gatherv to rank 0 and bcast, by the algorithms of the
//                       settings or rules. Memory: all blocks.
//   bruck               bruck: log2(p) steps; each doubles a rank's blocks. J. Bruck and others, "Efficient
//                       Algorithms for All-to-All Communications in Multiport Message-Passing Systems", IEEE
//                       TPDS 8 (1997), doi:10.1109/71.642949. Any number of ranks. Memory: all blocks, in the
//                       order of the circle from the own block on; none at rank 0 for equal blocks.
//   recursive_doubling  recursivedoubling: groups of 1, 2, 4 ... ranks exchange their blocks. Ranks: a power
//                       of two, else bruck. No memory.
//   ring                ring: p - 1 steps; each forwards the latest block. Any number of ranks. No memory.
//   neighbor            neighborexchange: p/2 steps, alternating between the two neighbours, with two blocks
//                       in all steps but the first. J. Chen and others, "Performance Evaluation of Allgather
//                       Algorithms on Terascale Linux Cluster with Fast Ethernet", HPC-Asia 2005. Ranks:
//                       even, else ring. No memory.
//   two_proc            two_procs: two ranks exchange their blocks, which is a ring of two.
//   han                 in han.cpp.
#include "backends/host/collectives.hpp"
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

bool has_equal_blocks(const AlgorithmCall& call) {
  return call.buffers.receive_blocks.empty();
}

void copy_own_block(const AlgorithmCall& call) {
  local_copy(call.team, call.costs(), call.buffers.send, call.receive_block(call.rank()));
}

Task<Outcome> allgather_ring(AlgorithmCall call) {
  const int size = call.size();
  copy_own_block(call);
  const auto block = [&](int index) { return call.receive_block(index); };
  co_return co_await gather_around_ring(call.team, block, call.rank(), wrap(call.rank() - 1, size),
                                        wrap(call.rank() + 1, size));
}

/// Gathers to rank 0, and broadcasts from there.
Task<Outcome> allgather_linear(AlgorithmCall call) {
  AlgorithmCall gathering = call;
  gathering.operation.root = 0;
  Outcome outcome = co_await gather_linear(gathering);
  gathering.operation.kind = OperationKind::kBcast;
  gathering.operation.bytes = call.buffers.receive.size();
  note(outcome, co_await bcast_linear(gathering));
  co_return outcome;
}

/// As allgather_linear(), for blocks anywhere in memory: they travel through a contiguous buffer.
Task<Outcome> allgatherv_gather_bcast(AlgorithmCall call) {
  Team& team = call.team;
  const std::span<const MutableBytes> places = call.buffers.receive_blocks;
  std::size_t bytes = 0;
  for (const MutableBytes place : places) bytes += place.size();
  const MutableBytes whole = team.scratch(bytes);
  std::vector<MutableBytes> blocks;
  std::size_t begin = 0;
  for (const MutableBytes place : places) {
    blocks.push_back(whole.subspan(begin, place.size()));
    begin += place.size();
  }
  AlgorithmCall gathering = call;
  gathering.operation.kind = OperationKind::kGatherv;
  gathering.operation.root = 0;
  gathering.buffers.receive_blocks = blocks;
  Outcome outcome = co_await gather_linear(gathering);
  AlgorithmCall spreading = call;
  spreading.operation.kind = OperationKind::kBcast;
  spreading.operation.root = 0;
  spreading.operation.bytes = bytes;
  spreading.buffers = {whole, whole, bytes};
  note(outcome, co_await call.collectives.run(AlgorithmCall(spreading)));
  for (std::size_t i = 0; i < places.size(); ++i) local_copy(team, call.costs(), blocks[i], places[i]);
  co_return outcome;
}

/// Bruck's algorithm: blocks in the order of the circle, starting with the rank's own; each step doubles
/// them.
Task<Outcome> allgather_bruck(AlgorithmCall call) {
  Team& team = call.team;
  const int size = call.size();
  const int rank = call.rank();
  std::vector<std::size_t> begins{0};
  for (int i = 0; i < size; ++i)
    begins.push_back(begins.back() + call.receive_block(wrap(rank + i, size)).size());
  const Cut cut(begins);
  const bool in_order = rank == 0 && has_equal_blocks(call);
  const MutableBytes all = in_order ? call.buffers.receive : team.scratch(begins.back());
  Outcome outcome = Outcome::kOk;
  local_copy(team, call.costs(), call.buffers.send, cut.slice(all, 0));
  for (int distance = 1; distance < size; distance *= 2) {
    const int count = std::min(distance, size - distance);
    const MutableBytes incoming = cut.slice(all, Window{distance, distance + count});
    note(outcome, co_await exchange(team, wrap(rank - distance, size), cut.slice(all, Window{0, count}),
                                    wrap(rank + distance, size), incoming));
  }
  if (in_order) co_return outcome;
  for (int i = 0; i < size; ++i)
    local_copy(team, call.costs(), cut.slice(all, i), call.receive_block(wrap(rank + i, size)));
  co_return outcome;
}

Task<Outcome> allgather_recursive_doubling(AlgorithmCall call) {
  Team& team = call.team;
  copy_own_block(call);
  const Cut cut =
      Cut::even(call.buffers.receive.size(), std::max<std::size_t>(call.buffers.block, 1), call.size());
  Outcome outcome = Outcome::kOk;
  for (int mask = 1; mask < call.size(); mask *= 2) {
    const int first = call.rank() & ~(mask - 1);
    const int other = first ^ mask;
    const int peer = call.rank() ^ mask;
    const MutableBytes incoming = cut.slice(call.buffers.receive, Window{other, other + mask});
    note(outcome, co_await exchange(team, peer, cut.slice(call.buffers.receive, Window{first, first + mask}),
                                    peer, incoming));
  }
  co_return outcome;
}

/// Exchanges two consecutive blocks; equal blocks form one message.
Task<Outcome> exchange_pairs(AlgorithmCall call, int peer, int sent, int received) {
  Team& team = call.team;
  Outcome outcome = Outcome::kOk;
  if (has_equal_blocks(call)) {
    const std::size_t block = call.buffers.block;
    const auto pair = [&](int first) {
      return call.buffers.receive.subspan(block * static_cast<std::size_t>(first), 2 * block);
    };
    co_return co_await exchange(team, peer, pair(sent), peer, pair(received));
  }
  for (int i = 0; i < 2; ++i)
    note(outcome,
         co_await exchange(team, peer, call.receive_block(sent + i), peer, call.receive_block(received + i)));
  co_return outcome;
}

/// Each rank exchanges with its two neighbours alternately: first its own block, then the two latest blocks.
Task<Outcome> allgather_neighbour_exchange(AlgorithmCall call) {
  const int size = call.size();
  const int rank = call.rank();
  const bool even = rank % 2 == 0;
  const int neighbours[] = {wrap(even ? rank + 1 : rank - 1, size), wrap(even ? rank - 1 : rank + 1, size)};
  const int steps[] = {even ? 2 : -2, even ? -2 : 2};
  const int pair = rank - rank % 2;
  int latest[] = {pair, pair};
  Outcome outcome = Outcome::kOk;
  copy_own_block(call);
  const MutableBytes own = call.receive_block(rank);
  note(outcome,
       co_await exchange(call.team, neighbours[0], own, neighbours[0], call.receive_block(neighbours[0])));
  int sent = pair;
  for (int i = 1; i < size / 2; ++i) {
    const int side = i % 2;
    latest[side] = wrap(latest[side] + steps[side], size);
    note(outcome, co_await exchange_pairs(call, neighbours[side], sent, latest[side]));
    sent = latest[side];
  }
  co_return outcome;
}

// "two_proc" is a ring of two ranks.
constexpr Algorithm kAllgather[] = {
    {"linear", allgather_linear},
    {"bruck", allgather_bruck},
    {"recursive_doubling", allgather_recursive_doubling, "bruck", false, Ranks::kPowerOfTwo},
    {"ring", allgather_ring},
    {"neighbor", allgather_neighbour_exchange, "ring", false, Ranks::kEven},
    {"two_proc", allgather_ring},
    {"han", allgather_han, kByOpenMpi, false, Ranks::kAny, Elements::kAny, Nodes::kEqual},
};
constexpr Algorithm kAllgatherv[] = {
    {"default", allgatherv_gather_bcast},
    {"bruck", allgather_bruck},
    {"ring", allgather_ring},
    {"neighbor", allgather_neighbour_exchange, "ring", false, Ranks::kEven},
    {"two_proc", allgather_ring},
};

}  // namespace

constinit const std::span<const Algorithm> kAllgatherCatalogue = kAllgather;
constinit const std::span<const Algorithm> kAllgathervCatalogue = kAllgatherv;

}  // namespace offramp::host
