// Prefix reductions, inclusive (scan) and exclusive (exscan). Operands stay in rank order, so operations need
// not commute. Any number of ranks.
//
// The algorithms follow coll_base_scan.c and coll_base_exscan.c of [openmpi] (ompi/mca/coll/base), functions
// ompi_coll_base_scan_intra_* and ompi_coll_base_exscan_intra_*.
//
//   linear              linear: a rank receives the prefix of the previous rank, adds its own operand, and
//                       sends the sum to the next rank. Memory: one vector; none at rank 0 of an inclusive
//                       scan.
//   recursive_doubling  recursivedoubling: log2(p) exchanges of the sum of a group that doubles; sums of
//                       lower ranks are added to the result, too. Partners beyond the last rank are skipped.
//                       Memory: three vectors.
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

/// An exclusive scan leaves the first rank's result unchanged.
Task<Outcome> linear(AlgorithmCall call, bool inclusive) {
  Team& team = call.team;
  const Bytes own = call.buffers.send;
  const bool is_last = call.rank() + 1 == call.size();
  Outcome outcome = Outcome::kOk;
  // The next rank's prefix. An exclusive scan in place needs its operand after the result is stored.
  MutableBytes sum = inclusive ? call.buffers.receive : team.scratch(own.size());
  if (inclusive || !is_last) local_copy(team, call.costs(), own, sum);
  if (call.rank() > 0) {
    const MutableBytes before = inclusive ? team.scratch(own.size()) : call.buffers.receive;
    note(outcome, co_await team.receive(call.rank() - 1, before));
    if (inclusive || !is_last) local_combine(team, call.costs(), before, sum);
  }
  if (!is_last) note(outcome, co_await team.send(call.rank() + 1, sum));
  co_return outcome;
}

Task<Outcome> recursive_doubling(AlgorithmCall call, bool inclusive) {
  // After the step with distance d, `partial` covers the ranks that differ from this one only in bits below
  // 2d, and `result` those of them that precede this rank (inclusive: and this one).
  Team& team = call.team;
  const LocalCosts& costs = call.costs();
  const CollectiveBuffers& buffers = call.buffers;
  const int size = call.size();
  const int rank = call.rank();
  Outcome outcome = Outcome::kOk;
  const std::size_t bytes = buffers.send.size();
  MutableBytes partial = team.scratch(bytes);
  MutableBytes incoming = team.scratch(bytes);
  const MutableBytes result = team.scratch(bytes);
  bool any = inclusive;  // result is valid
  local_copy(team, costs, buffers.send, partial);
  if (inclusive) local_copy(team, costs, buffers.send, result);
  for (int distance = 1; distance < size; distance *= 2) {
    const int peer = rank ^ distance;
    if (peer >= size) continue;
    note(outcome, co_await exchange(team, peer, partial, peer, incoming));
    if (peer > rank) {
      local_combine(team, costs, partial, incoming);
      std::swap(partial, incoming);
      continue;
    }
    if (any) {
      local_combine(team, costs, incoming, result);
    } else {
      local_copy(team, costs, incoming, result);
    }
    any = true;
    local_combine(team, costs, incoming, partial);
  }
  if (any) local_copy(team, costs, result, buffers.receive);
  co_return outcome;
}

template <Task<Outcome> (*scan)(AlgorithmCall, bool), bool inclusive>
Task<Outcome> as(AlgorithmCall call) {
  return scan(call, inclusive);
}

constexpr Algorithm kScan[] = {{"linear", as<linear, true>},
                               {"recursive_doubling", as<recursive_doubling, true>}};
constexpr Algorithm kExscan[] = {{"linear", as<linear, false>},
                                 {"recursive_doubling", as<recursive_doubling, false>}};

}  // namespace

constinit const std::span<const Algorithm> kScanCatalogue = kScan;
constinit const std::span<const Algorithm> kExscanCatalogue = kExscan;

}  // namespace offramp::host
