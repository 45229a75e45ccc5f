#include "backends/host/algorithms.hpp"

#include <algorithm>
#include <utility>

#include "backends/host/local_work.hpp"
#include "simulators/model/ping_pong_buffers.hpp"

namespace offramp::host {
namespace {

MutableBytes block_of(MutableBytes all, std::size_t block, int index) {
  return all.subspan(block * static_cast<std::size_t>(index), block);
}
Bytes block_of(Bytes all, std::size_t block, int index) {
  return all.subspan(block * static_cast<std::size_t>(index), block);
}

/// The parent of relative rank r is r without its lowest bit.
int lowest_bit(int relative) {
  return relative & -relative;
}

/// The subtree of relative rank r in a binomial tree is [r, r + extent) of `size` ranks.
int subtree(int relative, int size) {
  int extent = 1;
  while (relative % (2 * extent) == 0 && extent < size) extent *= 2;
  return std::min(extent, size - relative);
}

}  // namespace

Task<Outcome> bcast_binomial(Team& team, MutableBytes buffer, int root) {
  const int size = team.size();
  const int relative = wrap(team.rank() - root, size);
  Outcome outcome = Outcome::kOk;
  int mask = 1;
  while (mask < size && (relative & mask) == 0) mask *= 2;
  if (relative != 0) note(outcome, co_await team.receive(wrap(team.rank() - mask, size), buffer));
  for (mask /= 2; mask > 0; mask /= 2) {
    if (relative + mask < size) note(outcome, co_await team.send(wrap(team.rank() + mask, size), buffer));
  }
  co_return outcome;
}

namespace {

std::size_t children_of(int relative, int size) {
  std::size_t children = 0;
  for (int mask = 1; mask < size && (relative & mask) == 0; mask *= 2)
    children += relative + mask < size ? 1 : 0;
  return children;
}

}  // namespace

Task<Outcome> reduce_binomial(Team& team, const LocalCosts& costs, CollectiveBuffers buffers, int root,
                              bool commutative) {
  // In the tree of relative rank r the children hold the ranks above r, in order. With the tree's root at
  // rank 0 that is the order of ranks; for a commutative operation the tree may as well begin at the root.
  const int size = team.size();
  const int top = commutative ? root : 0;
  const int relative = wrap(team.rank() - top, size);
  const bool delivers = team.rank() == root && top == root;
  Outcome outcome = Outcome::kOk;
  PingPongBuffers turns(team, delivers ? place_of_result(buffers.send, buffers.receive) : MutableBytes(),
                        buffers.send.size());
  std::size_t left = children_of(relative, size);
  Bytes sum = buffers.send;
  int mask = 1;
  for (; mask < size && (relative & mask) == 0; mask *= 2) {
    if (relative + mask >= size) continue;
    const MutableBytes incoming = turns.buffer(--left);
    note(outcome, co_await team.receive(wrap(team.rank() + mask, size), incoming));
    local_combine(team, costs, sum, incoming);
    sum = incoming;
  }
  if (relative != 0) note(outcome, co_await team.send(wrap(team.rank() - mask, size), sum));
  if (top != root && team.rank() == top) note(outcome, co_await team.send(root, sum));
  if (team.rank() != root) co_return outcome;
  if (top != root) {
    note(outcome, co_await team.receive(top, buffers.receive));
  } else {
    local_copy(team, costs, sum, buffers.receive);
  }
  co_return outcome;
}

Task<Outcome> gather_binomial(Team& team, const LocalCosts& costs, CollectiveBuffers buffers, int root) {
  const int size = team.size();
  const std::size_t block = buffers.block;
  const int relative = wrap(team.rank() - root, size);
  Outcome outcome = Outcome::kOk;
  // Blocks of the subtree in order of relative rank; the root turns them into order of rank at the end.
  const int extent = subtree(relative, size);
  if (extent == 1 && relative != 0)
    co_return co_await team.send(wrap(team.rank() - lowest_bit(relative), size), buffers.send);
  const bool in_place = relative == 0 && root == 0;
  MutableBytes gathered = in_place ? buffers.receive : team.scratch(block * static_cast<std::size_t>(extent));
  local_copy(team, costs, buffers.send, block_of(gathered, block, 0));
  int mask = 1;
  for (; mask < size && (relative & mask) == 0; mask *= 2) {
    if (relative + mask >= size) continue;
    const int blocks = subtree(relative + mask, size);
    const MutableBytes part =
        gathered.subspan(block * static_cast<std::size_t>(mask), block * static_cast<std::size_t>(blocks));
    note(outcome, co_await team.receive(wrap(team.rank() + mask, size), part));
  }
  if (relative != 0) {
    note(outcome, co_await team.send(wrap(team.rank() - mask, size), gathered));
  } else if (!in_place) {
    const int tail = size - root;  // ranks root .. size-1 come first in relative order
    const std::size_t split = block * static_cast<std::size_t>(tail);
    local_copy(team, costs, gathered.first(split), buffers.receive.last(split));
    local_copy(team, costs, gathered.subspan(split), buffers.receive.first(gathered.size() - split));
  }
  co_return outcome;
}

Task<Outcome> scatter_binomial(Team& team, const LocalCosts& costs, CollectiveBuffers buffers, int root) {
  const int size = team.size();
  const std::size_t block = buffers.block;
  const int relative = wrap(team.rank() - root, size);
  const int extent = subtree(relative, size);
  Outcome outcome = Outcome::kOk;
  const MutableBytes held = team.scratch(block * static_cast<std::size_t>(extent));
  int mask = 1;
  while (mask < size && (relative & mask) == 0) mask *= 2;
  if (relative == 0) {
    const std::size_t split = block * static_cast<std::size_t>(size - root);
    local_copy(team, costs, buffers.send.last(split), held.first(split));
    local_copy(team, costs, buffers.send.first(held.size() - split), held.subspan(split));
  } else {
    note(outcome, co_await team.receive(wrap(team.rank() - mask, size), held));
  }
  for (mask /= 2; mask > 0; mask /= 2) {
    if (relative + mask >= size) continue;
    const int blocks = subtree(relative + mask, size);
    const Bytes part =
        held.subspan(block * static_cast<std::size_t>(mask), block * static_cast<std::size_t>(blocks));
    note(outcome, co_await team.send(wrap(team.rank() + mask, size), part));
  }
  if (!buffers.receive.empty()) local_copy(team, costs, held.first(block), buffers.receive);
  co_return outcome;
}

Task<Outcome> allgather_ring(Team& team, const LocalCosts& costs, CollectiveBuffers buffers) {
  const int size = team.size();
  const std::size_t block = buffers.block;
  const int right = wrap(team.rank() + 1, size);
  const int left = wrap(team.rank() - 1, size);
  Outcome outcome = Outcome::kOk;
  local_copy(team, costs, buffers.send, block_of(buffers.receive, block, team.rank()));
  for (int step = 0; step + 1 < size; ++step) {
    const int sent = wrap(team.rank() - step, size);
    Team::Pending incoming = team.receive(left, block_of(buffers.receive, block, wrap(sent - 1, size)));
    Team::Pending outgoing = team.send(right, block_of(Bytes(buffers.receive), block, sent));
    note(outcome, co_await incoming);
    note(outcome, co_await outgoing);
  }
  co_return outcome;
}

Task<Outcome> allreduce_recursive_doubling(Team& team, const LocalCosts& costs, CollectiveBuffers buffers) {
  // Ranks beyond the largest power of two fold into their lower neighbour first, so that every partial result
  // covers contiguous ranks and operands stay in rank order.
  const int size = team.size();
  int power = 1;
  while (2 * power <= size) power *= 2;
  const int extra = size - power;
  const int rank = team.rank();
  Outcome outcome = Outcome::kOk;

  const bool paired = rank < 2 * extra;
  if (paired && rank % 2 == 1) {
    note(outcome, co_await team.send(rank - 1, buffers.send));
    note(outcome, co_await team.receive(rank - 1, buffers.receive));
    co_return outcome;
  }
  // Partial results stay in rank order on all ranks, so that all get the same bits. The one so far is `sum`:
  // the program's own operand at first, then in `held`; what comes in goes to `other`.
  const bool in_place = buffers.send.data() == buffers.receive.data();
  Bytes sum = buffers.send;
  MutableBytes held = in_place ? buffers.receive : MutableBytes();
  MutableBytes other = in_place ? MutableBytes() : buffers.receive;
  const auto make_room = [&] {
    if (other.empty() && !sum.empty()) other = team.scratch(sum.size());
  };
  const auto take_upper = [&] {  // an operand of higher ranks came in
    local_combine(team, costs, sum, other);
    std::swap(held, other);
    sum = held;
  };
  if (paired) {
    make_room();
    note(outcome, co_await team.receive(rank + 1, other));
    take_upper();
  }
  const int position = paired ? rank / 2 : rank - extra;
  for (int mask = 1; mask < power; mask *= 2) {
    const int partner = position ^ mask;
    const int peer = partner < extra ? 2 * partner : partner + extra;
    if (partner < position && held.empty() && !sum.empty()) {  // the result will be where this operand is
      std::swap(held, other);
      local_copy(team, costs, sum, held);
      sum = held;
    }
    make_room();
    Team::Pending receiving = team.receive(peer, other);
    Team::Pending sending = team.send(peer, sum);
    note(outcome, co_await receiving);
    note(outcome, co_await sending);
    if (partner > position) {
      take_upper();
    } else {
      local_combine(team, costs, other, held);
    }
  }
  local_copy(team, costs, sum, buffers.receive);
  if (paired) note(outcome, co_await team.send(rank + 1, sum));
  co_return outcome;
}

Task<Outcome> reduce_scatter_by_reduce(Team& team, const LocalCosts& costs, CollectiveBuffers buffers,
                                       bool commutative) {
  CollectiveBuffers whole{buffers.send, {}, buffers.block};
  if (team.rank() == 0) whole.receive = team.scratch(buffers.send.size());
  Outcome outcome = co_await reduce_binomial(team, costs, whole, 0, commutative);
  note(outcome, co_await scatter_binomial(team, costs, {whole.receive, buffers.receive, buffers.block}, 0));
  co_return outcome;
}

Task<Outcome> alltoall_pairwise(Team& team, const LocalCosts& costs, CollectiveBuffers buffers) {
  const int size = team.size();
  const std::size_t block = buffers.block;
  Outcome outcome = Outcome::kOk;
  if (buffers.send.data() == buffers.receive.data()) {
    // In place: what arrives would overwrite what is still to leave.
    const MutableBytes sent = team.scratch(buffers.send.size());
    local_copy(team, costs, buffers.send, sent);
    buffers.send = sent;
  }
  local_copy(team, costs, block_of(buffers.send, block, team.rank()),
             block_of(buffers.receive, block, team.rank()));
  for (int step = 1; step < size; ++step) {
    const int to = wrap(team.rank() + step, size);
    const int from = wrap(team.rank() - step, size);
    Team::Pending incoming = team.receive(from, block_of(buffers.receive, block, from));
    Team::Pending outgoing = team.send(to, block_of(buffers.send, block, to));
    note(outcome, co_await incoming);
    note(outcome, co_await outgoing);
  }
  co_return outcome;
}

Task<Outcome> barrier_dissemination(Team& team) {
  const int size = team.size();
  Outcome outcome = Outcome::kOk;
  for (int distance = 1; distance < size; distance *= 2) {
    Team::Pending incoming = team.receive(wrap(team.rank() - distance, size), {});
    Team::Pending outgoing = team.send(wrap(team.rank() + distance, size), {});
    note(outcome, co_await incoming);
    note(outcome, co_await outgoing);
  }
  co_return outcome;
}

}  // namespace offramp::host
