#include "backends/dpu/data.hpp"

#include <utility>
#include <vector>

#include "simulators/model/ping_pong_buffers.hpp"

namespace offramp::dpu {
namespace {

/// One block per rank: in rank order in one buffer, or anywhere.
template <typename Span>
struct Blocks {
  Span all;
  std::size_t block = 0;
  std::span<const Span> each = {};
  [[nodiscard]] Span operator[](int index) const {
    const auto i = static_cast<std::size_t>(index);
    return each.empty() ? all.subspan(block * i, block) : each[i];
  }
};
Blocks<Bytes> to_send(const CollectiveBuffers& b) {
  return {b.send, b.block, b.send_blocks};
}
Blocks<MutableBytes> to_receive(const CollectiveBuffers& b) {
  return {b.receive, b.block, b.receive_blocks};
}

/// Ranks seen from the root, which is 0.
struct Circle {
  Circle(const Team& team, int root_) : size(team.size()), root(root_) {
    relative = (team.rank() - root + size) % size;
  }
  [[nodiscard]] int rank_of(int relative_) const { return (relative_ + root) % size; }
  int size;
  int root;
  int relative;
};

Task<Outcome> finish(PooledVector<Team::PendingToken> pending) {
  Outcome outcome = Outcome::kOk;
  for (Team::PendingToken& token : pending) {
    const Team::Arrival arrival = co_await token;
    note(outcome, arrival.outcome);
  }
  co_return outcome;
}

Task<Outcome> send(Team& team, int to, Bytes data) {
  const Team::Arrival arrival = co_await team.send_token(to, data, Stamp{});
  co_return arrival.outcome;
}

Task<Outcome> receive(Team& team, int from, MutableBytes data) {
  const Team::Arrival arrival = co_await team.receive_token(from, data);
  co_return arrival.outcome;
}

/// Along a binomial tree.
Task<Outcome> bcast(Team& team, MutableBytes buffer, int root) {
  const Circle circle(team, root);
  Outcome outcome = Outcome::kOk;
  int mask = 1;
  while (mask < circle.size && (circle.relative & mask) == 0) mask *= 2;
  if (circle.relative != 0)
    note(outcome, co_await receive(team, circle.rank_of(circle.relative - mask), buffer));
  PooledVector<Team::PendingToken> pending;
  for (mask /= 2; mask > 0; mask /= 2) {
    const int child = circle.relative + mask;
    if (child < circle.size) pending.push_back(team.send_token(circle.rank_of(child), buffer, Stamp{}));
  }
  note(outcome, co_await finish(std::move(pending)));
  co_return outcome;
}

/// In a binomial tree.
std::size_t children_of(const Circle& circle) {
  std::size_t children = 0;
  for (int mask = 1; mask < circle.size && (circle.relative & mask) == 0; mask *= 2)
    children += circle.relative + mask < circle.size ? 1 : 0;
  return children;
}

/// Up a binomial tree. What the service processes carry commutes (supports()).
Task<Outcome> reduce(Team& team, Bytes own, MutableBytes result, int root) {
  const Circle circle(team, root);
  Outcome outcome = Outcome::kOk;
  PingPongBuffers turns(team, circle.relative == 0 ? place_of_result(own, result) : MutableBytes(),
                        own.size());
  std::size_t left = children_of(circle);
  Bytes sum = own;
  for (int mask = 1; mask < circle.size; mask *= 2) {
    if ((circle.relative & mask) != 0) {
      note(outcome, co_await send(team, circle.rank_of(circle.relative - mask), sum));
      co_return outcome;
    }
    if (circle.relative + mask >= circle.size) continue;
    const MutableBytes incoming = turns.buffer(--left);
    note(outcome, co_await receive(team, circle.rank_of(circle.relative + mask), incoming));
    if (!own.empty()) team.combine(sum, incoming);
    sum = incoming;
  }
  team.copy(sum, result);
  co_return outcome;
}

Task<Outcome> gather(Team& team, CollectiveBuffers buffers, int root) {
  if (team.rank() != root) co_return co_await send(team, root, buffers.send);
  const Blocks<MutableBytes> blocks = to_receive(buffers);
  PooledVector<Team::PendingToken> pending;
  for (int from = 0; from < team.size(); ++from) {
    if (from == root) {
      team.copy(buffers.send, blocks[from]);
    } else {
      pending.push_back(team.receive_token(from, blocks[from]));
    }
  }
  co_return co_await finish(std::move(pending));
}

Task<Outcome> scatter(Team& team, CollectiveBuffers buffers, int root) {
  if (team.rank() != root) co_return co_await receive(team, root, buffers.receive);
  const Blocks<Bytes> blocks = to_send(buffers);
  PooledVector<Team::PendingToken> pending;
  for (int to = 0; to < team.size(); ++to) {
    if (to != root) {
      pending.push_back(team.send_token(to, blocks[to], Stamp{}));
    } else if (!buffers.receive.empty()) {
      team.copy(blocks[to], buffers.receive);
    }
  }
  co_return co_await finish(std::move(pending));
}

/// Every pair of ranks; send is this rank's block, or one block for each.
Task<Outcome> exchange(Team& team, CollectiveBuffers buffers, bool one_for_each) {
  if (one_for_each && buffers.send_blocks.empty() && buffers.send.data() == buffers.receive.data()) {
    // In place: what arrives would overwrite what is still to leave.
    const MutableBytes sent = team.scratch(buffers.send.size());
    team.copy(buffers.send, sent);
    buffers.send = sent;
  }
  const Blocks<Bytes> outgoing = to_send(buffers);
  const Blocks<MutableBytes> incoming = to_receive(buffers);
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
      pending.push_back(team.send_token(to, block, Stamp{}));
    }
  }
  co_return co_await finish(std::move(pending));
}

Task<Outcome> allreduce(Team& team, CollectiveBuffers buffers) {
  Outcome outcome = co_await reduce(team, buffers.send, buffers.receive, 0);
  note(outcome, co_await bcast(team, buffers.receive, 0));
  co_return outcome;
}

Task<Outcome> reduce_scatter(Team& team, CollectiveBuffers buffers) {
  MutableBytes whole;
  if (team.rank() == 0) whole = team.scratch(buffers.send.size());
  Outcome outcome = co_await reduce(team, buffers.send, whole, 0);
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

}  // namespace

Task<Outcome> move_data(const Operation& operation, Team& team, CollectiveBuffers buffers) {
  switch (operation.kind) {
    case OperationKind::kBcast:
      co_return co_await bcast(team, buffers.receive, operation.root);
    case OperationKind::kReduce:
      co_return co_await reduce(team, buffers.send, buffers.receive, operation.root);
    case OperationKind::kGather:
    case OperationKind::kGatherv:
      co_return co_await gather(team, buffers, operation.root);
    case OperationKind::kScatter:
    case OperationKind::kScatterv:
      co_return co_await scatter(team, buffers, operation.root);
    case OperationKind::kAllreduce:
      co_return co_await allreduce(team, buffers);
    case OperationKind::kAllgather:
    case OperationKind::kAllgatherv:
      co_return co_await exchange(team, buffers, false);
    case OperationKind::kAlltoall:
    case OperationKind::kAlltoallv:
      co_return co_await exchange(team, buffers, true);
    case OperationKind::kReduceScatter:
    case OperationKind::kReduceScatterv:
      co_return co_await reduce_scatter(team, buffers);
    default:
      co_return Outcome::kOk;  // a barrier has no bytes
  }
}

}  // namespace offramp::dpu
