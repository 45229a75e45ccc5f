// Few messages: trees for broadcasts and folds, direct messages for blocks, dissemination for the barrier,
// and a ring for reductions around a ring. Works for any number of ranks. The messages need not be those of
// the hardware, only the order of combination.
#include "lib/run/engine/collective_data.hpp"

#include <algorithm>
#include <utility>
#include <variant>
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

/// Completes the message if it is done, otherwise adds it to `pending`.
void finish_or_defer(Outcome& outcome, const Team::Pending& message, PooledVector<Team::Pending>& pending) {
  if (message.await_ready()) {
    note(outcome, message.await_resume());
  } else {
    pending.push_back(message);
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
  // The way up. The sum so far is the left operand, so contributions are combined in the order of children.
  if (course.up) {
    const bool is_top = fold.parent == Fold::kNobody;
    const bool is_root = team.rank() == course.root;
    PingPongBuffers turns(team, is_top && is_root ? place_of_result(own, result) : MutableBytes(),
                          own.size());
    Bytes sum = own;
    for (std::size_t i = 0; i < fold.children(); ++i) {
      // The last sum lands in the place of the result where this rank has one: no copy is needed.
      const MutableBytes incoming = turns.buffer(fold.children() - i - 1);
      note(outcome, co_await team.receive(fold.child(i), incoming));
      if (!own.empty()) team.combine(sum, incoming);
      sum = incoming;
    }
    if (is_top && is_root) {
      team.copy(sum, result);
    } else {
      // If the function does not commute, the top is rank 0, which passes the sum on to the root.
      note(outcome, co_await team.send(is_top ? course.root : fold.parent, sum));
      if (is_root) note(outcome, co_await team.receive(0, result));
    }
  }
  if (course.down) {
    const int size = team.size();
    const int relative = (team.rank() - course.root + size) % size;
    const auto rank_of = [&](int other) { return (other + course.root) % size; };
    // The lowest set bit of the relative rank is the distance to its parent in the tree.
    int mask = 1;
    while (mask < size && (relative & mask) == 0) mask *= 2;
    if (relative != 0) note(outcome, co_await team.receive(rank_of(relative - mask), result));
    PooledVector<Team::Pending> pending;
    // The child with the largest subtree comes first, since its way is the longest.
    for (mask /= 2; mask > 0; mask /= 2) {
      if (relative + mask < size)
        finish_or_defer(outcome, team.send(rank_of(relative + mask), result), pending);
    }
    for (const Team::Pending& message : pending) note(outcome, co_await message);
  }
  co_return outcome;
}

Task<Outcome> gather(Team& team, CollectiveBuffers buffers, int root) {
  if (team.rank() != root) co_return co_await team.send(root, buffers.send);
  const RankBlocks<MutableBytes> blocks = to_receive(buffers);
  // All receives are posted before the first wait, so that messages may come in any order.
  PooledVector<Team::Pending> pending;
  for (int from = 0; from < team.size(); ++from) {
    if (from == root) {
      team.copy(buffers.send, blocks[from]);
    } else {
      pending.push_back(team.receive(from, blocks[from]));
    }
  }
  Outcome outcome = Outcome::kOk;
  for (const Team::Pending& message : pending) note(outcome, co_await message);
  co_return outcome;
}

Task<Outcome> scatter(Team& team, CollectiveBuffers buffers, int root) {
  if (team.rank() != root) co_return co_await team.receive(root, buffers.receive);
  const RankBlocks<Bytes> blocks = to_send(buffers);
  Outcome outcome = Outcome::kOk;
  PooledVector<Team::Pending> pending;
  for (int to = 0; to < team.size(); ++to) {
    if (to != root) {
      finish_or_defer(outcome, team.send(to, blocks[to]), pending);
    } else if (!buffers.receive.empty()) {
      team.copy(blocks[to], buffers.receive);
    }
  }
  for (const Team::Pending& message : pending) note(outcome, co_await message);
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
  PooledVector<Team::Pending> pending;
  // Receives are posted first, and the partners rotate: otherwise all ranks would send to rank 0 first.
  for (int step = 1; step < team.size(); ++step) {
    const int from = (team.rank() - step + team.size()) % team.size();
    pending.push_back(team.receive(from, incoming[from]));
  }
  for (int step = 0; step < team.size(); ++step) {
    const int to = (team.rank() + step) % team.size();
    const Bytes block = one_for_each ? outgoing[to] : buffers.send;
    if (step == 0) {
      team.copy(block, incoming[to]);
    } else {
      finish_or_defer(outcome, team.send(to, block), pending);
    }
  }
  for (const Team::Pending& message : pending) note(outcome, co_await message);
  co_return outcome;
}

// Rank 0 computes the whole sum along the fold and scatters it: the order of combination is that of the tree.
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
    const Team::Pending sent = team.send((team.rank() + distance) % team.size(), {});
    const int from = (team.rank() + team.size() - distance) % team.size();
    note(outcome, co_await team.receive(from, {}));
    note(outcome, co_await sent);
  }
  co_return outcome;
}

// --- reductions around a ring ---

/// Up to this size of all contributions, one rank receives all of them, adds up every chunk, and returns the
/// result. This needs two messages per rank; the ring needs two per chunk and rank.
constexpr std::size_t kCentral = 4096;

/// One pass of a vector, divided into chunks.
struct Chunks {
  std::size_t bytes;
  std::size_t element;
  int ranks;
  // The rank of an index of at least -2 * ranks.
  [[nodiscard]] int wrap(int rank) const { return (rank + 2 * ranks) % ranks; }
  // The part of `memory` that belongs to a chunk, in whole elements. The last chunks may be shorter or empty.
  template <typename Memory>
  [[nodiscard]] Memory part(Memory memory, int index) const {
    const auto count = static_cast<std::size_t>(ranks);
    const std::size_t each = (bytes / element + count - 1) / count * element;
    const std::size_t offset = std::min(bytes, each * static_cast<std::size_t>(wrap(index)));
    return memory.subspan(offset, std::min(each, bytes - offset));
  }
};

/// Chunk c starts at rank c + 1 and ends as a sum at rank c. All ranks skip empty chunks.
Task<Outcome> scatter_sums(Team& team, Chunks chunks, Bytes own, MutableBytes result) {
  Outcome outcome = Outcome::kOk;
  const int next = chunks.wrap(team.rank() + 1);
  const int previous = chunks.wrap(team.rank() - 1);
  Bytes held = chunks.part(own, previous);
  // In place, the result may overlap the first chunk, which is sent unmodified.
  if (!result.empty() && held.data() == result.data()) {
    const MutableBytes saved = team.scratch(held.size());
    team.copy(held, saved);
    held = saved;
  }
  PooledVector<Team::Pending> sent;
  for (int i = 1; i < chunks.ranks; ++i) {
    if (!held.empty()) sent.push_back(team.send(next, held));
    const Bytes mine = chunks.part(own, team.rank() - i - 1);
    const bool last = i + 1 == chunks.ranks;
    const bool in_place = last && mine.data() == result.data();
    const MutableBytes incoming =
        last && !in_place ? result.first(mine.size()) : team.scratch(std::max<std::size_t>(1, mine.size()));
    const MutableBytes landing = incoming.first(mine.size());
    if (!mine.empty()) {
      note(outcome, co_await team.receive(previous, landing));
      in_place ? team.combine(landing, result) : team.combine(mine, landing);
    }
    held = landing;
  }
  for (const Team::Pending& message : sent) note(outcome, co_await message);
  co_return outcome;
}

Task<Outcome> allreduce_around(Team& team, Chunks chunks, Bytes own, MutableBytes result) {
  const int next = chunks.wrap(team.rank() + 1);
  const int previous = chunks.wrap(team.rank() - 1);
  Outcome outcome = co_await scatter_sums(team, chunks, own, chunks.part(result, team.rank()));
  PooledVector<Team::Pending> sent;  // completed last, since every rank sends before it receives
  for (int i = 0; i + 1 < chunks.ranks; ++i) {
    const Bytes out = chunks.part(result, team.rank() - i);
    const MutableBytes in = chunks.part(result, team.rank() - i - 1);
    if (!out.empty()) sent.push_back(team.send(next, out));
    if (!in.empty()) note(outcome, co_await team.receive(previous, in));
  }
  for (const Team::Pending& message : sent) note(outcome, co_await message);
  co_return outcome;
}

/// contributions: of one pass, by rank; must not overlap the result.
void add_up(Team& team, Chunks chunks, std::span<const Bytes> contributions, MutableBytes result) {
  for (int chunk = 0; chunk < chunks.ranks; ++chunk) {
    const MutableBytes sum = chunks.part(result, chunk);
    if (sum.empty()) continue;
    const auto part_of = [&](int rank) {
      return chunks.part(contributions[static_cast<std::size_t>(chunks.wrap(rank))], chunk);
    };
    team.copy(part_of(chunk + 1), sum);
    // As on the ring, where the rank's own contribution comes first.
    for (int i = 2; i <= chunks.ranks; ++i) team.combine(part_of(chunk + i), sum);
  }
}

// As allreduce_by_passes(), with the same order of combination, but at rank 0.
Task<Outcome> allreduce_at_one(Team& team, std::size_t pass, std::size_t element, Bytes own,
                               MutableBytes result) {
  Outcome outcome = Outcome::kOk;
  if (team.rank() != 0) {
    note(outcome, co_await team.send(0, own));
    note(outcome, co_await team.receive(0, result));
    co_return outcome;
  }
  PooledVector<Bytes> contributions;
  PooledVector<Team::Pending> pending;
  contributions.reserve(static_cast<std::size_t>(team.size()));
  pending.reserve(static_cast<std::size_t>(team.size()));
  // The result would overwrite this rank's contribution before the last chunk uses it.
  if (own.data() == result.data()) {
    const MutableBytes saved = team.scratch(own.size());
    team.copy(own, saved);
    own = saved;
  }
  contributions.push_back(own);
  for (int rank = 1; rank < team.size(); ++rank) {
    const MutableBytes room = team.scratch(own.size());
    contributions.push_back(room);
    pending.push_back(team.receive(rank, room));
  }
  for (const Team::Pending& message : pending) note(outcome, co_await message);
  for (std::size_t at = 0; at < own.size(); at += pass) {
    const std::size_t bytes = std::min(pass, own.size() - at);
    PooledVector<Bytes> parts;
    for (const Bytes all : contributions) parts.push_back(all.subspan(at, bytes));
    add_up(team, {bytes, element, team.size()}, parts, result.subspan(at, bytes));
  }
  pending.clear();
  for (int rank = 1; rank < team.size(); ++rank) pending.push_back(team.send(rank, result));
  for (const Team::Pending& message : pending) note(outcome, co_await message);
  co_return outcome;
}

Task<Outcome> allreduce_by_passes(Team& team, std::size_t pass, std::size_t element, Bytes own,
                                  MutableBytes result) {
  Outcome outcome = Outcome::kOk;
  for (std::size_t at = 0; at < own.size(); at += pass) {
    const std::size_t bytes = std::min(pass, own.size() - at);
    const Chunks chunks{bytes, element, team.size()};
    note(outcome, co_await allreduce_around(team, chunks, own.subspan(at, bytes), result.subspan(at, bytes)));
  }
  co_return outcome;
}

Task<Outcome> copy_alone(Team& team, CollectiveBuffers buffers) {
  team.copy(buffers.send, buffers.receive);
  co_return Outcome::kOk;
}

Task<Outcome> around_ring(Ring ring, const Operation& operation, Team& team,
                          const CollectiveBuffers& buffers) {
  const Bytes own = buffers.send;
  if (team.size() == 1) return copy_alone(team, buffers);
  if (operation.kind == OperationKind::kReduceScatter) {
    // The chunk of a rank must be exactly its block, so a block counts as one element.
    const std::size_t block = own.size() / static_cast<std::size_t>(team.size());
    return scatter_sums(team, {own.size(), std::max<std::size_t>(1, block), team.size()}, own,
                        buffers.receive);
  }
  const std::size_t element = operation.elements > 0 ? own.size() / operation.elements : 1;
  const std::size_t pass = ring.pass > 0 ? ring.pass : std::max<std::size_t>(1, own.size());
  return own.size() * static_cast<std::size_t>(team.size()) <= kCentral
             ? allreduce_at_one(team, pass, element, own, buffers.receive)
             : allreduce_by_passes(team, pass, element, own, buffers.receive);
}

Task<Outcome> up_the_fold(Fold&& fold, const Operation& operation, Team& team,
                          const CollectiveBuffers& buffers) {
  const bool scatters =
      operation.kind == OperationKind::kReduceScatter || operation.kind == OperationKind::kReduceScatterv;
  if (scatters) return reduce_scatter(team, std::move(fold), buffers);
  const bool has_root = operation.kind == OperationKind::kReduce;
  return along_trees(team, {true, !has_root, has_root ? operation.root : 0}, std::move(fold), buffers.send,
                     buffers.receive);
}

}  // namespace

Task<Outcome> move_data(DataCarrier& carrier, const Operation& operation, Team& team,
                        const CollectiveBuffers& buffers) {
  switch (operation.kind) {
    case OperationKind::kBcast:
      return along_trees(team, {false, true, operation.root}, {}, {}, buffers.receive);
    case OperationKind::kGather:
    case OperationKind::kGatherv:
      return gather(team, buffers, operation.root);
    case OperationKind::kScatter:
    case OperationKind::kScatterv:
      return scatter(team, buffers, operation.root);
    case OperationKind::kAllgather:
    case OperationKind::kAllgatherv:
      return exchange(team, buffers, false);
    case OperationKind::kAlltoall:
    case OperationKind::kAlltoallv:
      return exchange(team, buffers, true);
    case OperationKind::kBarrier:
      return barrier(team);
    case OperationKind::kReduce:
    case OperationKind::kAllreduce:
    case OperationKind::kReduceScatter:
    case OperationKind::kReduceScatterv:
    case OperationKind::kScan:
    case OperationKind::kExscan:
      break;
    case OperationKind::kSend:
    case OperationKind::kCount:
      return declined_collective();
  }
  std::optional<ReductionOrder> order;
  if (!traits_of(operation.kind).is_prefix) order = carrier.order(operation, team);
  // The host's software combines, so its own algorithm moves the data.
  if (!order) return carrier.collective(operation, team, buffers);
  if (const Ring* const ring = std::get_if<Ring>(&*order))
    return around_ring(*ring, operation, team, buffers);
  return up_the_fold(std::move(std::get<Fold>(*order)), operation, team, buffers);
}

}  // namespace offramp
