// The order of summation is that of the ring for all algorithms: chunk c starts with the contribution of rank
// c + 1, adds the others around the ring, and ends with that of its own rank. Floating-point results thus
// have the bits of the firmware's ring, also for short vectors, which one rank adds up (kCentral).
#include "backends/cclo/data.hpp"

#include <algorithm>

#include "simulators/cclo/firmware.hpp"

namespace offramp::cclo {
namespace {

/// Up to this size, one rank receives all contributions of an allreduce, adds up every chunk, and returns the
/// result. This needs two messages per rank; the ring needs two per chunk and rank.
constexpr std::size_t kCentral = 4096;

/// The division of a reduction's memory into chunks.
struct Chunks {
  std::uint64_t bytes;
  std::uint64_t element_bytes;
  int ranks;
  template <typename Memory>
  [[nodiscard]] Memory part(Memory memory, int index) const {
    const Chunk chunk = chunk_of(bytes, element_bytes, ranks, wrap(index));
    return memory.subspan(chunk.offset, chunk.bytes);
  }
  [[nodiscard]] int wrap(int rank) const { return (rank + 2 * ranks) % ranks; }
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
  PooledVector<Team::PendingToken> sent;
  for (int i = 1; i < chunks.ranks; ++i) {
    if (!held.empty()) sent.push_back(team.send_token(next, held, Stamp{}));
    const Bytes mine = chunks.part(own, team.rank() - i - 1);
    const bool last = i + 1 == chunks.ranks;
    const bool in_place = last && mine.data() == result.data();
    const MutableBytes incoming =
        last && !in_place ? result.first(mine.size()) : team.scratch(std::max<std::size_t>(1, mine.size()));
    const MutableBytes landing = incoming.first(mine.size());
    if (!mine.empty()) {
      note(outcome, (co_await team.receive_token(previous, landing)).outcome);
      in_place ? team.combine(landing, result) : team.combine(mine, landing);
    }
    held = landing;
  }
  for (const Team::PendingToken& token : sent) note(outcome, (co_await token).outcome);
  co_return outcome;
}

Task<Outcome> allreduce_around(Team& team, Chunks chunks, Bytes own, MutableBytes result) {
  const int next = chunks.wrap(team.rank() + 1);
  const int previous = chunks.wrap(team.rank() - 1);
  Outcome outcome = co_await scatter_sums(team, chunks, own, chunks.part(result, team.rank()));
  PooledVector<Team::PendingToken> sent;  // completed last, since every rank sends before it receives
  for (int i = 0; i + 1 < chunks.ranks; ++i) {
    const Bytes out = chunks.part(result, team.rank() - i);
    const MutableBytes in = chunks.part(result, team.rank() - i - 1);
    if (!out.empty()) sent.push_back(team.send_token(next, out, Stamp{}));
    if (!in.empty()) note(outcome, (co_await team.receive_token(previous, in)).outcome);
  }
  for (const Team::PendingToken& token : sent) note(outcome, (co_await token).outcome);
  co_return outcome;
}

/// The second generation processes one RX buffer of whole chunks at a time, the first generation everything
/// at once.
std::uint64_t most_at_once(const Spec& spec, std::uint64_t element_bytes, int ranks) {
  if (spec.generation == Generation::kFirst) return ~std::uint64_t{0};
  const std::uint64_t unit = std::max<std::uint64_t>(1, element_bytes) * static_cast<std::uint64_t>(ranks);
  return std::max(unit, spec.rx_buffer_bytes / unit * unit);
}

/// contributions: by rank; must not overlap the result.
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

Task<Outcome> allreduce_at_one(const Spec& spec, Team& team, Bytes own, MutableBytes result,
                               std::uint64_t element_bytes) {
  Outcome outcome = Outcome::kOk;
  if (team.rank() != 0) {
    note(outcome, (co_await team.send_token(0, own, Stamp{})).outcome);
    note(outcome, (co_await team.receive_token(0, result)).outcome);
    co_return outcome;
  }
  PooledVector<Bytes> contributions;
  PooledVector<Team::PendingToken> pending;
  contributions.reserve(static_cast<std::size_t>(team.size()));
  pending.reserve(static_cast<std::size_t>(team.size()));
  if (own.data() == result.data()) {
    const MutableBytes saved = team.scratch(own.size());
    team.copy(own, saved);
    own = saved;
  }
  contributions.push_back(own);
  for (int rank = 1; rank < team.size(); ++rank) {
    const MutableBytes room = team.scratch(own.size());
    contributions.push_back(room);
    pending.push_back(team.receive_token(rank, room));
  }
  for (const Team::PendingToken& token : pending) note(outcome, (co_await token).outcome);
  const std::uint64_t most = most_at_once(spec, element_bytes, team.size());
  for (std::uint64_t at = 0; at < own.size(); at += most) {
    const std::uint64_t bytes = std::min<std::uint64_t>(most, own.size() - at);
    if (bytes == own.size()) {
      add_up(team, {bytes, element_bytes, team.size()}, contributions, result);
      break;
    }
    PooledVector<Bytes> parts;
    for (const Bytes all : contributions) parts.push_back(all.subspan(at, bytes));
    add_up(team, {bytes, element_bytes, team.size()}, parts, result.subspan(at, bytes));
  }
  pending.clear();
  for (int rank = 1; rank < team.size(); ++rank) pending.push_back(team.send_token(rank, result, Stamp{}));
  for (const Team::PendingToken& token : pending) note(outcome, (co_await token).outcome);
  co_return outcome;
}

Task<Outcome> allreduce_by_segments(const Spec& spec, Team& team, Bytes own, MutableBytes result,
                                    std::uint64_t element_bytes) {
  Outcome outcome = Outcome::kOk;
  const std::uint64_t most = most_at_once(spec, element_bytes, team.size());
  for (std::uint64_t at = 0; at < own.size(); at += most) {
    const std::uint64_t bytes = std::min<std::uint64_t>(most, own.size() - at);
    const Chunks chunks{bytes, element_bytes, team.size()};
    note(outcome, co_await allreduce_around(team, chunks, own.subspan(at, bytes), result.subspan(at, bytes)));
    if (bytes == own.size()) break;
  }
  co_return outcome;
}

Task<Outcome> copy_alone(Team& team, CollectiveBuffers buffers) {
  team.copy(buffers.send, buffers.receive);
  co_return Outcome::kOk;
}

}  // namespace

Fold flat_fold(const Team& team, int root) {
  Fold fold;
  if (team.rank() != root) {
    fold.parent = root;
    return fold;
  }
  for (int distance = 1; distance < team.size(); ++distance)
    fold.add_child((root - distance + team.size()) % team.size());
  return fold;
}

Task<Outcome> reduce_scatter_on_ring(Team& team, const CollectiveBuffers& buffers) {
  if (team.size() == 1) return copy_alone(team, buffers);
  const std::uint64_t block = buffers.send.size() / static_cast<std::uint64_t>(team.size());
  return scatter_sums(team, {buffers.send.size(), std::max<std::uint64_t>(1, block), team.size()},
                      buffers.send, buffers.receive);
}

Task<Outcome> allreduce_on_ring(const Spec& spec, Team& team, const CollectiveBuffers& buffers,
                                std::uint64_t element_bytes) {
  if (team.size() == 1) return copy_alone(team, buffers);
  return buffers.send.size() * static_cast<std::size_t>(team.size()) <= kCentral
             ? allreduce_at_one(spec, team, buffers.send, buffers.receive, element_bytes)
             : allreduce_by_segments(spec, team, buffers.send, buffers.receive, element_bytes);
}

}  // namespace offramp::cclo
