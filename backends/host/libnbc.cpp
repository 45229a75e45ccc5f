// Nonblocking collectives of Open MPI 4.1, from its component "libnbc" as of v4.1.8
// (ompi/mca/coll/libnbc/nbc_i*.c): the schedules, and their selection by ranks and bytes. A schedule is a
// list of rounds; a wait here corresponds to the end of a round there.
//
// Functions here, and the schedules that they follow:
//
//   bcast_of_libnbc   bcast_sched_linear, _binomial, _chain (nbc_ibcast.c), without memory.
//   reduce_of_libnbc  red_sched_redscat_gather, _binomial, _chain (nbc_ireduce.c), and a binomial tree to
//                     rank 0 for non-commutative operations. Memory: as in reduce.cpp; in order two
//                     vectors at most.
//   allreduce         allred_sched_diss, a binomial tree to rank 0 and back, and _redscat_allgather
//                     (nbc_iallreduce.c). Memory: up to two vectors.
//   reduce_scatter    a binomial tree to rank 0, which sends all blocks at once (nbc_ireduce_scatter.c).
//                     Memory: the vector at rank 0 and the tree's.
//
// The others exchange all blocks at once, or use an algorithm of the catalogue. Any number of ranks.
#include <algorithm>
#include <cassert>

#include "backends/host/pieces.hpp"
#include "simulators/world/ping_pong_buffers.hpp"

namespace offramp::host {
namespace {

bool is_in_place(const AlgorithmCall& call) {
  return call.buffers.send.data() == call.buffers.receive.data();
}
bool is_one_per_power_of_two(const AlgorithmCall& call) {
  return call.buffers.send.size() / call.element() >=
         static_cast<std::size_t>(Positions(call.size()).count());
}

Task<Outcome> all_of(std::vector<Team::Pending> messages) {
  Outcome outcome = Outcome::kOk;
  for (const Team::Pending& one : messages) note(outcome, co_await one);
  co_return outcome;
}

/// Reduces to rank 0 up a binomial tree, operands in rank order. result: memory for the result at rank 0.
Task<Outcome> reduce_in_order(AlgorithmCall call, MutableBytes result) {
  Team& team = call.team;
  Tree tree = Tree::binomial_in_order(call.rank(), call.size(), 0);
  std::sort(tree.children.begin(), tree.children.end());
  const Bytes own = call.buffers.send;
  PingPongBuffers turns(team, tree.is_top() ? place_of_result(own, result) : MutableBytes(), own.size());
  std::size_t left = tree.children.size();
  Bytes sum = own;
  Outcome outcome = Outcome::kOk;
  for (const int child : tree.children) {
    const MutableBytes incoming = turns.buffer(--left);
    note(outcome, co_await team.receive(child, incoming));
    local_combine(team, call.costs(), sum, incoming);
    sum = incoming;
  }
  if (tree.is_top()) {
    local_copy(team, call.costs(), sum, result);
  } else {
    note(outcome, co_await team.send(tree.parent, sum));
  }
  co_return outcome;
}

Task<Outcome> reduce_in_order_to_root(AlgorithmCall call) {
  Team& team = call.team;
  const int root = call.operation.root;
  if (root == 0) co_return co_await reduce_in_order(call, call.buffers.receive);
  const MutableBytes sum = call.rank() == 0 ? team.scratch(call.buffers.send.size()) : MutableBytes();
  Outcome outcome = co_await reduce_in_order(call, sum);
  if (call.rank() == 0) note(outcome, co_await team.send(root, sum));
  if (call.is_root()) note(outcome, co_await team.receive(0, call.buffers.receive));
  co_return outcome;
}

Task<Outcome> reduce_and_bcast(AlgorithmCall call) {
  call.operation.root = 0;
  Outcome outcome = co_await reduce_in_order(call, call.buffers.receive);
  note(outcome, co_await bcast_down_binomial(call));
  co_return outcome;
}

Task<Outcome> nbc_allreduce(AlgorithmCall call) {
  const bool in_parts = call.size() >= 4 && call.buffers.send.size() >= 64 * kKi &&
                        call.operation.commutative && !is_in_place(call);
  if (in_parts && is_one_per_power_of_two(call))
    return algorithm_named(OperationKind::kAllreduce, "rabenseifner").run(call);
  // Its ring handles fewer elements than that, with mostly empty parts.
  return reduce_and_bcast(call);
}

Task<Outcome> nbc_reduce_scatter(AlgorithmCall call) {
  Team& team = call.team;
  const MutableBytes whole = call.rank() == 0 ? team.scratch(call.buffers.send.size()) : MutableBytes();
  Outcome outcome = co_await reduce_in_order(call, whole);
  if (call.rank() > 0) {
    note(outcome, co_await team.receive(0, call.buffers.receive));
    co_return outcome;
  }
  const std::size_t own = call.send_block(0).size();
  std::vector<Team::Pending> messages;
  std::size_t begin = own;
  for (int rank = 1; rank < call.size(); ++rank) {
    const std::size_t bytes = call.send_block(rank).size();
    messages.push_back(team.send(rank, Bytes(whole).subspan(begin, bytes)));
    begin += bytes;
  }
  local_copy(team, call.costs(), whole.first(own), call.buffers.receive);
  note(outcome, co_await all_of(std::move(messages)));
  co_return outcome;
}

/// The root receives all blocks at once.
Task<Outcome> nbc_gather(AlgorithmCall call) {
  Team& team = call.team;
  if (!call.is_root()) co_return co_await team.send(call.operation.root, call.buffers.send);
  std::vector<Team::Pending> messages;
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank == call.rank()) {
      local_copy(team, call.costs(), call.buffers.send, call.receive_block(rank));
    } else {
      messages.push_back(team.receive(rank, call.receive_block(rank)));
    }
  }
  co_return co_await all_of(std::move(messages));
}

/// Destination and source of the messages in a step: in rank order or around the circle.
struct Peers {
  int to;
  int from;
};
Peers in_rank_order(const AlgorithmCall& call, int step) {
  const int peer = step <= call.rank() ? step - 1 : step;
  return {peer, peer};
}
Peers around_circle(const AlgorithmCall& call, int step) {
  return {wrap(call.rank() + step, call.size()), wrap(call.rank() - step, call.size())};
}

/// All ranks exchange all blocks at once.
template <Peers (*peers_of)(const AlgorithmCall&, int)>
Task<Outcome> nbc_allgather(AlgorithmCall call) {
  const MutableBytes own = call.receive_block(call.rank());
  local_copy(call.team, call.costs(), call.buffers.send, own);
  std::vector<Team::Pending> messages;
  for (int step = 1; step < call.size(); ++step) {
    const Peers peers = peers_of(call, step);
    messages.push_back(call.team.receive(peers.from, call.receive_block(peers.from)));
    messages.push_back(call.team.send(peers.to, own));
  }
  co_return co_await all_of(std::move(messages));
}

/// In place it sends from a copy, while libnbc handles the pairs one by one with a block of memory.
Task<Outcome> nbc_alltoall(AlgorithmCall call) {
  Team& team = call.team;
  if (!call.buffers.send.empty() && is_in_place(call)) {
    const MutableBytes copy = team.scratch(call.buffers.send.size());
    local_copy(team, call.costs(), call.buffers.send, copy);
    call.buffers.send = copy;
  }
  local_copy(team, call.costs(), call.send_block(call.rank()), call.receive_block(call.rank()));
  std::vector<Team::Pending> messages;
  for (int step = 1; step < call.size(); ++step) {
    const Peers peers = in_rank_order(call, step);
    messages.push_back(team.receive(peers.from, call.receive_block(peers.from)));
    messages.push_back(team.send(peers.to, call.send_block(peers.to)));
  }
  co_return co_await all_of(std::move(messages));
}

}  // namespace

Task<Outcome> bcast_of_libnbc(AlgorithmCall call) {
  const std::size_t bytes = call.buffers.receive.size();
  if (call.size() <= 4) return bcast_linear(call);
  if (bytes < 64 * kKi) return bcast_down_binomial(call);
  return bcast_down_chain(call, bytes < 512 * kKi ? 8 * kKi : 32 * kKi);
}

Task<Outcome> reduce_of_libnbc(AlgorithmCall call) {
  if (!call.operation.commutative) return reduce_in_order_to_root(call);
  if (call.size() > 2 && is_one_per_power_of_two(call))
    return algorithm_named(OperationKind::kReduce, "rabenseifner").run(call);
  if (call.size() > 4 || call.buffers.send.size() < 64 * kKi) return reduce_up_binomial(call, 0);
  return reduce_up_chain(call, 8 * kKi);
}

Task<Outcome> run_of_libnbc(AlgorithmCall call) {
  using enum OperationKind;
  switch (call.operation.kind) {
    case kBcast:
      return bcast_of_libnbc(call);
    case kReduce:
      return reduce_of_libnbc(call);
    case kAllreduce:
      return nbc_allreduce(call);
    case kReduceScatter:
    case kReduceScatterv:
      return nbc_reduce_scatter(call);
    case kGather:
    case kGatherv:
      return nbc_gather(call);
    case kScatter:
    case kScatterv:
      return algorithm_named(kScatter, "linear_nb").run(call);
    case kAllgather:
      return nbc_allgather<in_rank_order>(call);
    case kAllgatherv:
      return nbc_allgather<around_circle>(call);
    case kAlltoall:
    case kAlltoallv:
      return nbc_alltoall(call);
    case kBarrier:
      return algorithm_named(kBarrier, "bruck").run(call);
    case kScan:
    case kExscan:
      return algorithm_named(call.operation.kind, "linear").run(call);
    case kSend:
    case kCount:
      break;
  }
  assert(false && "no collective");
  return {};
}

}  // namespace offramp::host
