// Alltoall, with blocks of equal and of different sizes.
//
// The algorithms follow coll_base_alltoall.c and coll_base_alltoallv.c of [openmpi] (ompi/mca/coll/base),
// functions ompi_coll_base_alltoall_intra_* and ..._alltoallv_intra_*. Each entry lists the name in the
// catalogue, the function, and a description. All support any number of ranks. In place, linear and pairwise
// send from a copy of all blocks, while Open MPI handles the pairs of ranks one by one with a buffer of one
// block; otherwise they need no memory.
//
//   linear          basic_linear: starts all receives, then all sends, and waits for all.
//   linear_sync     linear_sync: as linear, with a limit of messages in flight, which is off by default.
//   pairwise        pairwise: p - 1 steps; in step i a rank sends to the i-th rank after it and receives from
//                   the i-th rank before it.
//   modified_bruck  bruck: log2(p) steps with half of the blocks each. J. Bruck and others, "Efficient
//                   Algorithms for All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS
//                   8 (1997), doi:10.1109/71.642949. Equal blocks only. Each step creates a datatype of its
//                   blocks, packs, and unpacks it (type_block). Memory: all blocks, and half of that per
//                   direction.
//   two_proc        two_procs: an exchange, which is pairwise with two ranks.
#include <algorithm>

#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

/// In place, incoming data would overwrite outgoing data, so it is sent from a copy.
Bytes source_of(Team& team, const LocalCosts& costs, const CollectiveBuffers& buffers) {
  if (buffers.send.empty() || buffers.send.data() != buffers.receive.data()) return buffers.send;
  const MutableBytes copy = team.scratch(buffers.send.size());
  local_copy(team, costs, buffers.send, copy);
  return copy;
}

void retain_own_block(const AlgorithmCall& call) {
  local_copy(call.team, call.costs(), call.send_block(call.rank()), call.receive_block(call.rank()));
}

Task<Outcome> alltoall_pairwise(AlgorithmCall call) {
  return alltoall_pairwise(call.team, call.costs(), call.buffers);
}

/// Starts all messages at once.
Task<Outcome> alltoall_linear(AlgorithmCall call) {
  Team& team = call.team;
  const int size = call.size();
  call.buffers.send = source_of(team, call.costs(), call.buffers);
  retain_own_block(call);
  std::vector<Team::Pending> messages;
  messages.reserve(2 * static_cast<std::size_t>(size));
  for (int step = 1; step < size; ++step) {
    const int from = wrap(call.rank() + step, size);
    messages.push_back(team.receive(from, call.receive_block(from)));
  }
  for (int step = 1; step < size; ++step) {
    const int to = wrap(call.rank() - step, size);
    messages.push_back(team.send(to, call.send_block(to)));
  }
  Outcome outcome = Outcome::kOk;
  for (const Team::Pending& one : messages) note(outcome, co_await one);
  co_return outcome;
}

/// Bruck's algorithm: block i is for the rank i positions ahead, and moves by the powers of two in the binary
/// form of i. Each step sends all blocks that move by its power of two in one message.
Task<Outcome> alltoall_bruck(AlgorithmCall call) {
  Team& team = call.team;
  const LocalCosts& costs = call.costs();
  const CollectiveBuffers& buffers = call.buffers;
  const int size = call.size();
  const int rank = call.rank();
  const std::size_t block = buffers.block;
  const auto at = [&](MutableBytes all, int index) {
    return all.subspan(block * static_cast<std::size_t>(index), block);
  };
  const MutableBytes turned = team.scratch(block * static_cast<std::size_t>(size));
  local_copies(team, costs, size, block,
               [&](int i) { team.copy(call.send_block(wrap(rank + i, size)), at(turned, i)); });
  const std::size_t half = block * static_cast<std::size_t>((size + 1) / 2);
  const MutableBytes outgoing = team.scratch(half);
  const MutableBytes incoming = team.scratch(half);
  Outcome outcome = Outcome::kOk;
  for (int distance = 1; distance < size; distance *= 2) {
    // The blocks whose numbers contain this power of two, and their count.
    const auto number = [distance](int i) { return i / distance * 2 * distance + distance + i % distance; };
    const int count = size / (2 * distance) * distance + std::max(0, size % (2 * distance) - distance);
    local_copies(team, costs, count, block,
                 [&](int i) { team.copy(at(turned, number(i)), at(outgoing, i)); });
    if (team.hardware() != nullptr) spend(team, costs, "datatype", costs.type_block * count);
    const std::size_t bytes = block * static_cast<std::size_t>(count);
    note(outcome, co_await exchange(team, wrap(rank + distance, size), outgoing.first(bytes),
                                    wrap(rank - distance, size), incoming.first(bytes)));
    local_copies(team, costs, count, block,
                 [&](int i) { team.copy(at(incoming, i), at(turned, number(i))); });
  }
  local_copies(team, costs, size, block,
               [&](int i) { team.copy(at(turned, i), call.receive_block(wrap(rank - i, size))); });
  co_return outcome;
}

// Without a limit of messages in flight (the default) "linear_sync" equals "linear". "two_proc" is an
// exchange.
constexpr Algorithm kEqual[] = {
    {"linear", alltoall_linear},      {"pairwise", alltoall_pairwise}, {"modified_bruck", alltoall_bruck},
    {"linear_sync", alltoall_linear}, {"two_proc", alltoall_pairwise},
};
constexpr Algorithm kDifferent[] = {{"basic_linear", alltoall_linear}, {"pairwise", alltoall_pairwise}};

}  // namespace

Task<Outcome> alltoall_pairwise(Team& team, const LocalCosts& costs, CollectiveBuffers buffers) {
  const int size = team.size();
  buffers.send = source_of(team, costs, buffers);
  local_copy(team, costs, send_block(buffers, team.rank()), receive_block(buffers, team.rank()));
  Outcome outcome = Outcome::kOk;
  for (int step = 1; step < size; ++step) {
    const int to = wrap(team.rank() + step, size);
    const int from = wrap(team.rank() - step, size);
    const MutableBytes incoming = receive_block(buffers, from);
    note(outcome, co_await exchange(team, to, send_block(buffers, to), from, incoming));
  }
  co_return outcome;
}

constinit const std::span<const Algorithm> kAlltoallCatalogue = kEqual;
constinit const std::span<const Algorithm> kAlltoallvCatalogue = kDifferent;

}  // namespace offramp::host
