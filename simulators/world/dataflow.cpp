// Moves the data of a collective with few messages: trees for broadcasts and reductions, direct messages for
// blocks, dissemination for the barrier. Works for any number of ranks. A reduction follows the Fold of the
// backend, so the operands are combined in the hardware's order and the result is bit-identical.
#include "simulators/world/dataflow.hpp"

#include <utility>
#include <vector>

#include "simulators/world/ping_pong_buffers.hpp"

namespace offramp {
namespace {

/// One block per rank: consecutive in one buffer, or a list of separate buffers.
template <typename Span>
struct RankBlocks {
  Span all;
  std::size_t block = 0;
  std::span<const Span> each = {};
  [[nodiscard]] Span operator[](int index) const {
    const auto i = static_cast<std::size_t>(index);
    return each.empty() ? all.subspan(block * i, block) : each[i];
  }
};
RankBlocks<Bytes> to_send(const CollectiveBuffers& b) {
  return {b.send, b.block, b.send_blocks};
}
RankBlocks<MutableBytes> to_receive(const CollectiveBuffers& b) {
  return {b.receive, b.block, b.receive_blocks};
}

/// Ranks relative to the root, which is 0.
struct Circle {
  Circle(const Team& team, int root_) : size(team.size()), root(root_) {
    relative = (team.rank() - root + size) % size;
  }
  [[nodiscard]] int rank_of(int relative_) const { return (relative_ + root) % size; }
  int size;
  int root;
  int relative;
};

/// Completes the token if it is done, otherwise adds it to `pending`.
void finish_or_defer(Outcome& outcome, const Team::PendingToken& token,
                     PooledVector<Team::PendingToken>& pending) {
  if (token.await_ready()) {
    note(outcome, token.await_resume().outcome);
  } else {
    pending.push_back(token);
  }
}

/// Phases of a tree collective: contributions up the fold, the result down a binomial tree, or both in turn.
struct Course {
  bool up;
  bool down;
  int root;  // receives the sum, and begins the way down
};

/// One coroutine for both phases: coroutine frames would dominate the cost of small messages.
Task<Outcome> along_trees(Team& team, Course course, Fold fold, Bytes own, MutableBytes result) {
  Outcome outcome = Outcome::kOk;
  if (course.up) {
    const bool is_top = fold.parent == Fold::kNobody;
    const bool is_root = team.rank() == course.root;
    PingPongBuffers turns(team, is_top && is_root ? place_of_result(own, result) : MutableBytes(),
                          own.size());
    Bytes sum = own;
    for (std::size_t i = 0; i < fold.children(); ++i) {
      const MutableBytes incoming = turns.buffer(fold.children() - i - 1);
      note(outcome, (co_await team.receive_token(fold.child(i), incoming)).outcome);
      if (!own.empty()) team.combine(sum, incoming);
      sum = incoming;
    }
    if (is_top && is_root) {
      team.copy(sum, result);
    } else {
      note(outcome, (co_await team.send_token(is_top ? course.root : fold.parent, sum, Stamp{})).outcome);
      if (is_root) note(outcome, (co_await team.receive_token(0, result)).outcome);
    }
  }
  if (course.down) {
    const Circle circle(team, course.root);
    int mask = 1;
    while (mask < circle.size && (circle.relative & mask) == 0) mask *= 2;
    if (circle.relative != 0)
      note(outcome, (co_await team.receive_token(circle.rank_of(circle.relative - mask), result)).outcome);
    PooledVector<Team::PendingToken> pending;
    for (mask /= 2; mask > 0; mask /= 2) {
      const int child = circle.relative + mask;
      if (child < circle.size)
        finish_or_defer(outcome, team.send_token(circle.rank_of(child), result, Stamp{}), pending);
    }
    for (const Team::PendingToken& token : pending) note(outcome, (co_await token).outcome);
  }
  co_return outcome;
}

Task<Outcome> gather(Team& team, CollectiveBuffers buffers, int root) {
  if (team.rank() != root) co_return (co_await team.send_token(root, buffers.send, Stamp{})).outcome;
  const RankBlocks<MutableBytes> blocks = to_receive(buffers);
  PooledVector<Team::PendingToken> pending;
  for (int from = 0; from < team.size(); ++from) {
    if (from == root) {
      team.copy(buffers.send, blocks[from]);
    } else {
      pending.push_back(team.receive_token(from, blocks[from]));
    }
  }
  Outcome outcome = Outcome::kOk;
  for (const Team::PendingToken& token : pending) note(outcome, (co_await token).outcome);
  co_return outcome;
}

Task<Outcome> scatter(Team& team, CollectiveBuffers buffers, int root) {
  if (team.rank() != root) co_return (co_await team.receive_token(root, buffers.receive)).outcome;
  const RankBlocks<Bytes> blocks = to_send(buffers);
  Outcome outcome = Outcome::kOk;
  PooledVector<Team::PendingToken> pending;
  for (int to = 0; to < team.size(); ++to) {
    if (to != root) {
      finish_or_defer(outcome, team.send_token(to, blocks[to], Stamp{}), pending);
    } else if (!buffers.receive.empty()) {
      team.copy(blocks[to], buffers.receive);
    }
  }
  for (const Team::PendingToken& token : pending) note(outcome, (co_await token).outcome);
  co_return outcome;
}

/// Exchanges blocks between all pairs of ranks. one_for_each: `send` contains one block per rank; otherwise
/// every rank receives the same block.
Task<Outcome> exchange(Team& team, CollectiveBuffers buffers, bool one_for_each) {
  if (one_for_each && buffers.send_blocks.empty() && buffers.send.data() == buffers.receive.data()) {
    // In place: send from a copy, since incoming blocks overwrite the buffer.
    const MutableBytes sent = team.scratch(buffers.send.size());
    team.copy(buffers.send, sent);
    buffers.send = sent;
  }
  const RankBlocks<Bytes> outgoing = to_send(buffers);
  const RankBlocks<MutableBytes> incoming = to_receive(buffers);
  Outcome outcome = Outcome::kOk;
  PooledVector<Team::PendingToken> pending;
  for (int step = 1; step < team.size(); ++step) {
    const int from = (team.rank() - step + team.size()) % team.size();
    pending.push_back(team.receive_token(from, incoming[from]));
  }
  for (int step = 0; step < team.size(); ++step) {
    const int to = (team.rank() + step) % team.size();
    const Bytes block = one_for_each ? outgoing[to] : buffers.send;
    if (step == 0) {
      team.copy(block, incoming[to]);
    } else {
      finish_or_defer(outcome, team.send_token(to, block, Stamp{}), pending);
    }
  }
  for (const Team::PendingToken& token : pending) note(outcome, (co_await token).outcome);
  co_return outcome;
}

Task<Outcome> reduce_scatter(Team& team, Fold fold, CollectiveBuffers buffers) {
  MutableBytes whole;
  if (team.rank() == 0) whole = team.scratch(buffers.send.size());
  Outcome outcome = co_await along_trees(team, {true, false, 0}, std::move(fold), buffers.send, whole);
  CollectiveBuffers parts = buffers;
  parts.send = whole;
  std::vector<Bytes> each;
  if (team.rank() == 0) {
    std::size_t offset = 0;
    for (const Bytes part : buffers.send_blocks) {
      each.push_back(whole.subspan(offset, part.size()));
      offset += part.size();
    }
  }
  parts.send_blocks = each;
  note(outcome, co_await scatter(team, parts, 0));
  co_return outcome;
}

/// Dissemination: after the round of distance d, itself and the 2 d - 1 ranks before it have entered.
Task<Outcome> barrier(Team& team) {
  Outcome outcome = Outcome::kOk;
  for (int distance = 1; distance < team.size(); distance *= 2) {
    const Team::PendingToken sent = team.send_token((team.rank() + distance) % team.size(), {}, Stamp{});
    const int from = (team.rank() + team.size() - distance) % team.size();
    note(outcome, (co_await team.receive_token(from, {})).outcome);
    note(outcome, (co_await sent).outcome);
  }
  co_return outcome;
}

}  // namespace

Fold binomial_fold(const Team& team, int root) {
  const Circle circle(team, root);
  Fold fold;
  for (int mask = 1; mask < circle.size; mask *= 2) {
    if ((circle.relative & mask) != 0) {
      fold.parent = circle.rank_of(circle.relative - mask);
      break;
    }
    if (circle.relative + mask < circle.size) fold.add_child(circle.rank_of(circle.relative + mask));
  }
  return fold;
}

Fold chain_fold(const Team& team, int root) {
  const Circle circle(team, root);
  Fold fold;
  if (circle.relative != 0) fold.parent = circle.rank_of((circle.relative + 1) % circle.size);
  if (circle.relative != 1 && circle.size > 1)
    fold.add_child(circle.rank_of((circle.relative + circle.size - 1) % circle.size));
  return fold;
}

Task<Outcome> declined_collective() {
  co_return Outcome::kFault;
}

Task<Outcome> move_data(const Operation& operation, Team& team, const CollectiveBuffers& buffers,
                        Fold&& fold) {
  switch (operation.kind) {
    case OperationKind::kBcast:
      return along_trees(team, {false, true, operation.root}, {}, {}, buffers.receive);
    case OperationKind::kReduce:
      return along_trees(team, {true, false, operation.root}, std::move(fold), buffers.send, buffers.receive);
    case OperationKind::kGather:
    case OperationKind::kGatherv:
      return gather(team, buffers, operation.root);
    case OperationKind::kScatter:
    case OperationKind::kScatterv:
      return scatter(team, buffers, operation.root);
    case OperationKind::kAllreduce:
      return along_trees(team, {true, true, 0}, std::move(fold), buffers.send, buffers.receive);
    case OperationKind::kAllgather:
    case OperationKind::kAllgatherv:
      return exchange(team, buffers, false);
    case OperationKind::kAlltoall:
    case OperationKind::kAlltoallv:
      return exchange(team, buffers, true);
    case OperationKind::kReduceScatter:
    case OperationKind::kReduceScatterv:
      return reduce_scatter(team, std::move(fold), buffers);
    case OperationKind::kBarrier:
      return barrier(team);
    case OperationKind::kSend:
    case OperationKind::kScan:
    case OperationKind::kExscan:
    case OperationKind::kCount:
      break;  // supports() has declined it
  }
  return declined_collective();
}

}  // namespace offramp
