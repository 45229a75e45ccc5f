// Reduction to all ranks. Every algorithm returns the same bits on all ranks: a result is computed once and
// copied, or by both partners with the same order of operands.
//
// The algorithms follow coll_base_allreduce.c of [openmpi] (ompi/mca/coll/base), functions
// ompi_coll_base_allreduce_intra_*. Each entry lists the name in the catalogue, the function, and a
// description. "Memory" is memory in addition to the program's buffers, in vectors.
//
//   basic_linear        basic_linear: reduce to rank 0, operand by operand, and bcast. Any number of ranks,
//                       operands in order. Memory: one at rank 0, two in place.
//   nonoverlapping      nonoverlapping: reduce and bcast, by the algorithms of the settings or rules, with
//                       their memory.
//   recursive_doubling  recursivedoubling: log2(p) exchanges of the whole vector with partners at distances
//                       1, 2, 4 ... Any number of ranks: those beyond a power of two fold into a neighbour
//                       first and receive the result at the end (class Positions; Open MPI folds the even
//                       ranks of the pairs, this code the odd ones). Operands in order. Memory: at most one.
//   ring                ring: p - 1 steps of a reduce-scatter around the circle, then p - 1 steps of an
//                       allgather, with a part of 1/p in each. Commutative; at least one element per rank.
//                       Memory: one part.
//   segmented_ring      ring_segmented: as ring, with parts reduced segment by segment in as many rounds
//                       around the circle. Memory: one part.
//   rabenseifner        redscat_allgather: recursive halving, then recursive doubling of the parts. R.
//                       Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004.
//                       Commutative; at least one element per position. Ranks beyond a power of two combine
//                       halves with a neighbour, and receive the whole result at the end. Memory: one.
//   knomial             [ucc]'s tl/ucp: log4(p) rounds in which groups of four exchange the whole vector; the
//   last
//                       group has two if that is what is left. For a power of two, else recursive_doubling.
//                       Operands in order. Memory: three.
//   han                 in han.cpp.
#include <algorithm>
#include <array>

#include "backends/host/collectives.hpp"
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

/// The two phases of an allreduce by a reduce to rank 0 and a broadcast.
AlgorithmCall reduce_part(const AlgorithmCall& call) {
  AlgorithmCall part = call;
  part.operation.kind = OperationKind::kReduce;
  part.operation.root = 0;
  if (!part.is_root()) part.buffers.receive = {};
  return part;
}
AlgorithmCall bcast_part(const AlgorithmCall& call) {
  AlgorithmCall part = call;
  part.operation.kind = OperationKind::kBcast;
  part.operation.root = 0;
  part.buffers.send = part.buffers.receive;
  return part;
}

Task<Outcome> allreduce_linear(AlgorithmCall call) {
  Outcome outcome = co_await reduce_linear(reduce_part(call));
  note(outcome, co_await bcast_linear(bcast_part(call)));
  co_return outcome;
}

Task<Outcome> allreduce_nonoverlapping(AlgorithmCall call) {
  Outcome outcome = co_await call.collectives.run(reduce_part(call));
  note(outcome, co_await call.collectives.run(bcast_part(call)));
  co_return outcome;
}

/// One segment of each part at a time goes around the ring; the sums go around once.
Task<Outcome> around_ring(AlgorithmCall call, std::size_t segment) {
  Team& team = call.team;
  const int size = call.size();
  const MutableBytes sum = call.buffers.receive;
  const Cut cut = Cut::even(sum.size(), call.element(), size);
  local_copy(team, call.costs(), call.buffers.send, sum);
  Outcome outcome = Outcome::kOk;
  const Segments phases(cut.slice(sum, 0).size(), call.element(), segment);
  for (std::size_t phase = 0; phase < phases.count(); ++phase)
    note(outcome, co_await reduce_around_ring(call, sum, cut, phases, phase));
  const auto part = [&](int index) { return cut.slice(sum, index); };
  note(outcome, co_await gather_around_ring(team, part, call.rank(), wrap(call.rank() - 1, size),
                                            wrap(call.rank() + 1, size)));
  co_return outcome;
}
Task<Outcome> allreduce_ring(AlgorithmCall call) {
  return around_ring(call, 0);
}
Task<Outcome> allreduce_segmented_ring(AlgorithmCall call) {
  return around_ring(call, call.segment());
}

/// Rabenseifner's algorithm: reduce-scatter by halves, then the same steps in reverse.
Task<Outcome> allreduce_rabenseifner(AlgorithmCall call) {
  Team& team = call.team;
  const int rank = call.rank();
  const Positions positions(call.size());
  MutableBytes sum = call.buffers.receive;
  const Cut cut = Cut::even(sum.size(), call.element(), positions.count());
  MutableBytes incoming = team.scratch(sum.size());
  Outcome outcome = co_await begin_rabenseifner(call, positions, cut, sum, incoming);
  if (positions.is_folded(rank)) {
    note(outcome, co_await team.receive(rank - 1, sum));
    co_return outcome;
  }
  const int own = positions.position_of(rank);
  const std::vector<Window> windows = windows_of(own, positions, true);
  std::size_t step = windows.size() - 1;
  for (int mask = positions.count() / 2; mask > 0; mask /= 2, --step) {
    const int peer = positions.rank(own ^ mask);
    note(outcome, co_await exchange(team, peer, cut.slice(sum, windows[step]), peer,
                                    cut.slice(sum, other_half(windows, step))));
  }
  if (positions.is_paired(rank)) note(outcome, co_await team.send(rank + 1, sum));
  co_return outcome;
}

/// Groups of up to kRadix ranks exchange their sums. All ranks combine them from the last one down.
Task<Outcome> allreduce_k_nomial(AlgorithmCall call) {
  constexpr std::size_t kRadix = 4;
  Team& team = call.team;
  const auto rank = static_cast<std::size_t>(call.rank());
  const auto size = static_cast<std::size_t>(call.size());
  std::array<MutableBytes, kRadix> sums = {call.buffers.receive};  // this rank's comes first between rounds
  for (std::size_t i = 1; i < kRadix; ++i) sums[i] = team.scratch(call.buffers.send.size());
  local_copy(team, call.costs(), call.buffers.send, sums[0]);
  Outcome outcome = Outcome::kOk;
  for (std::size_t mask = 1, radix = 0; mask < size; mask *= radix) {
    radix = std::min(kRadix, size / mask);
    const std::size_t place = rank / mask % radix;
    std::swap(sums[0], sums[place]);
    PooledVector<Team::Pending> messages;
    for (std::size_t i = 0; i < 2 * radix; ++i) {
      const std::size_t other = i % radix;
      const int peer = static_cast<int>(rank + other * mask - place * mask);
      if (other != place)
        messages.push_back(i < radix ? team.receive(peer, sums[other]) : team.send(peer, sums[place]));
    }
    for (const Team::Pending& one : messages) note(outcome, co_await one);
    for (std::size_t i = radix - 1; i-- > 0;) local_combine(team, call.costs(), sums[i], sums[radix - 1]);
    std::swap(sums[0], sums[radix - 1]);
  }
  local_copy(team, call.costs(), sums[0], call.buffers.receive);
  co_return outcome;
}

constexpr Algorithm kAllreduceAlgorithms[] = {
    {"basic_linear", allreduce_linear},
    {"nonoverlapping", allreduce_nonoverlapping},
    {"recursive_doubling", allreduce_recursive_doubling},
    {"ring", allreduce_ring, "recursive_doubling", true, Ranks::kAny, Elements::kOnePerRank},
    {"segmented_ring", allreduce_segmented_ring, "recursive_doubling", true, Ranks::kAny,
     Elements::kOnePerRank},
    {"rabenseifner", allreduce_rabenseifner, "basic_linear", true, Ranks::kAny, Elements::kOnePerPowerOfTwo},
    {"knomial", allreduce_k_nomial, "recursive_doubling", false, Ranks::kPowerOfTwo, Elements::kAny,
     Nodes::kAny, false},
    {"han", allreduce_han, kByOpenMpi, true, Ranks::kAny, Elements::kAny, Nodes::kSeveral},
    {kByNodes, allreduce_by_nodes, kByOpenMpi, true, Ranks::kAny, Elements::kAny, Nodes::kSeveral},
};

}  // namespace

Task<Outcome> allreduce_recursive_doubling(AlgorithmCall call) {
  // Odd ranks of the first pairs fold into the rank before them, so that every partial result covers
  // contiguous ranks and operands stay in rank order.
  Team& team = call.team;
  const CollectiveBuffers& buffers = call.buffers;
  const Positions positions(call.size());
  const int rank = call.rank();
  Outcome outcome = Outcome::kOk;
  if (positions.is_folded(rank)) {
    note(outcome, co_await team.send(rank - 1, buffers.send));
    note(outcome, co_await team.receive(rank - 1, buffers.receive));
    co_return outcome;
  }
  // `sum` is the partial result: initially the program's own operand, then in `held`. `other` receives data.
  const bool in_place = buffers.send.data() == buffers.receive.data();
  Bytes sum = buffers.send;
  MutableBytes held = in_place ? buffers.receive : MutableBytes();
  MutableBytes other = in_place ? MutableBytes() : buffers.receive;
  const auto make_room = [&] {
    if (other.empty() && !sum.empty()) other = team.scratch(sum.size());
  };
  const auto take_upper = [&] {  // received an operand of higher ranks
    local_combine(team, call.costs(), sum, other);
    std::swap(held, other);
    sum = held;
  };
  if (positions.is_paired(rank)) {
    make_room();
    note(outcome, co_await team.receive(rank + 1, other));
    take_upper();
  }
  const int position = positions.position_of(rank);
  for (int mask = 1; mask < positions.count(); mask *= 2) {
    const int partner = position ^ mask;
    if (partner < position && held.empty() && !sum.empty()) {  // the result will overwrite this operand
      std::swap(held, other);
      local_copy(team, call.costs(), sum, held);
      sum = held;
    }
    make_room();
    // Without exchange(), whose frame would dominate the cost of a small message.
    const Team::Pending receiving = team.receive(positions.rank(partner), other);
    const Team::Pending sending = team.send(positions.rank(partner), sum);
    note(outcome, co_await receiving);
    note(outcome, co_await sending);
    if (partner > position) {
      take_upper();
    } else {
      local_combine(team, call.costs(), other, held);
    }
  }
  local_copy(team, call.costs(), sum, buffers.receive);
  if (positions.is_paired(rank)) note(outcome, co_await team.send(rank + 1, sum));
  co_return outcome;
}

constinit const std::span<const Algorithm> kAllreduceCatalogue = kAllreduceAlgorithms;

}  // namespace offramp::host
