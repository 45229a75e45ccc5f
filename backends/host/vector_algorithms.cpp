// The collectives whose blocks differ in size, and the prefix reductions.
#include <utility>
#include <vector>

#include "backends/host/algorithms.hpp"
#include "backends/host/local_work.hpp"

namespace offramp::host {

Task<Outcome> scan_recursive_doubling(Team& team, const LocalCosts& costs, CollectiveBuffers buffers,
                                      bool inclusive) {
  // After the step with distance d, `partial` covers the ranks that differ from this one only in bits below
  // 2d, and `result` those of them that come before it (inclusive: and this one).
  const int size = team.size();
  const int rank = team.rank();
  Outcome outcome = Outcome::kOk;
  const std::size_t bytes = buffers.send.size();
  MutableBytes partial = team.scratch(bytes);
  MutableBytes incoming = team.scratch(bytes);
  const MutableBytes result = team.scratch(bytes);
  bool any = inclusive;  // result holds something
  local_copy(team, costs, buffers.send, partial);
  if (inclusive) local_copy(team, costs, buffers.send, result);
  for (int distance = 1; distance < size; distance *= 2) {
    const int peer = rank ^ distance;
    if (peer >= size) continue;
    Team::Pending receiving = team.receive(peer, incoming);
    Team::Pending sending = team.send(peer, partial);
    note(outcome, co_await receiving);
    note(outcome, co_await sending);
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

Task<Outcome> gatherv_linear(Team& team, const LocalCosts& costs, CollectiveBuffers buffers, int root) {
  if (team.rank() != root) co_return co_await team.send(root, buffers.send);
  Outcome outcome = Outcome::kOk;
  std::vector<Team::Pending> incoming;
  std::size_t from = 0;
  for (const MutableBytes block : buffers.receive_blocks) {
    const auto peer = static_cast<int>(from++);
    if (peer != root) incoming.push_back(team.receive(peer, block));
  }
  local_copy(team, costs, buffers.send, buffers.receive_blocks[static_cast<std::size_t>(root)]);
  for (const Team::Pending& one : incoming) note(outcome, co_await one);
  co_return outcome;
}

Task<Outcome> scatterv_linear(Team& team, const LocalCosts& costs, CollectiveBuffers buffers, int root) {
  if (team.rank() != root) co_return co_await team.receive(root, buffers.receive);
  Outcome outcome = Outcome::kOk;
  std::vector<Team::Pending> outgoing;
  std::size_t to = 0;
  for (const Bytes block : buffers.send_blocks) {
    const auto peer = static_cast<int>(to++);
    if (peer != root) outgoing.push_back(team.send(peer, block));
  }
  local_copy(team, costs, buffers.send_blocks[static_cast<std::size_t>(root)], buffers.receive);
  for (const Team::Pending& one : outgoing) note(outcome, co_await one);
  co_return outcome;
}

Task<Outcome> allgatherv_ring(Team& team, const LocalCosts& costs, CollectiveBuffers buffers) {
  const int size = team.size();
  const int right = wrap(team.rank() + 1, size);
  const int left = wrap(team.rank() - 1, size);
  const auto block = [&](int rank) {
    return buffers.receive_blocks[static_cast<std::size_t>(wrap(rank, size))];
  };
  Outcome outcome = Outcome::kOk;
  local_copy(team, costs, buffers.send, block(team.rank()));
  for (int step = 0; step + 1 < size; ++step) {
    Team::Pending incoming = team.receive(left, block(team.rank() - step - 1));
    Team::Pending outgoing = team.send(right, block(team.rank() - step));
    note(outcome, co_await incoming);
    note(outcome, co_await outgoing);
  }
  co_return outcome;
}

Task<Outcome> reduce_scatterv_by_reduce(Team& team, const LocalCosts& costs, CollectiveBuffers buffers,
                                        bool commutative) {
  CollectiveBuffers whole;
  whole.send = buffers.send;
  whole.block = buffers.send.size();
  if (team.rank() == 0) whole.receive = team.scratch(buffers.send.size());
  Outcome outcome = co_await reduce_binomial(team, costs, whole, 0, commutative);
  std::vector<Bytes> parts;
  if (team.rank() == 0) {
    std::size_t offset = 0;
    for (const Bytes part : buffers.send_blocks) {
      parts.push_back(whole.receive.subspan(offset, part.size()));
      offset += part.size();
    }
  }
  CollectiveBuffers scattered;
  scattered.receive = buffers.receive;
  scattered.send_blocks = parts;
  note(outcome, co_await scatterv_linear(team, costs, scattered, 0));
  co_return outcome;
}

Task<Outcome> alltoallv_pairwise(Team& team, const LocalCosts& costs, CollectiveBuffers buffers) {
  const int size = team.size();
  Outcome outcome = Outcome::kOk;
  const auto own = static_cast<std::size_t>(team.rank());
  local_copy(team, costs, buffers.send_blocks[own], buffers.receive_blocks[own]);
  for (int step = 1; step < size; ++step) {
    const int to = wrap(team.rank() + step, size);
    const int from = wrap(team.rank() - step, size);
    Team::Pending incoming = team.receive(from, buffers.receive_blocks[static_cast<std::size_t>(from)]);
    Team::Pending outgoing = team.send(to, buffers.send_blocks[static_cast<std::size_t>(to)]);
    note(outcome, co_await incoming);
    note(outcome, co_await outgoing);
  }
  co_return outcome;
}

}  // namespace offramp::host
