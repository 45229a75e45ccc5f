// Eager messages and collectives (read in [accl-2021] and [accl-2025]): rings for gathers and reductions, a
// fan-out from the root for bcast and scatter. Rank numbers are modulo P. The second generation copies a
// rank's own block first instead of last, and cuts an allreduce into segments.
//
// Works for any number of ranks P; a single rank only copies. Messages use RX buffers, one per segment. No
// further memory is used unless noted.
//
//   bcast, scatter  fan_out(): the root sends each segment to all others before the next segment.
//   gather          P - 1 blocks around the ring towards the root; ranks relay the blocks from behind them.
//   allgather       P - 1 steps; a block is received completely, then forwarded.
//   reduce          up the ring, from the rank behind the root to the root: each rank adds its operand and
//                   forwards the sum, segment by segment (receive_reduce_send).
//   reduce_scatter  scatter_sums(): each chunk is summed once around the ring and ends at its rank. In
//                   place: a copy of the first chunk.
//   allreduce       reduce_scatter, then P - 1 steps around the ring with the sums. The second generation
//                   does both for one RX buffer of whole chunks at a time. Chunks are whole elements; with
//                   fewer elements than ranks, the last chunks are empty and all ranks skip them.
#include <algorithm>

#include "simulators/cclo/firmware.hpp"

namespace offramp::cclo {
namespace {

struct Ring {
  explicit Ring(const Processor& p)
      : ranks(p.size()), rank(p.rank()), next(wrap(rank + 1)), previous(wrap(rank - 1)) {}
  [[nodiscard]] int wrap(int r) const { return (r + 2 * ranks) % ranks; }

  int ranks;
  int rank;
  int next;
  int previous;
};

template <typename Memory>
Memory block_of(Memory memory, std::uint64_t bytes, int index) {
  return memory.subspan(bytes * static_cast<std::uint64_t>(index), bytes);
}

Task<void> nothing() {
  co_return;
}

Task<void> bcast(Processor& p, int root, CallMemory m) {
  return p.rank() != root ? p.run(Primitive::receive(root, m.receive))
                          : p.fan_out({m.receive, 0, m.receive.size()}, root);
}

Task<void> scatter(Processor& p, int root, CallMemory m) {
  if (p.rank() != root) {
    co_await p.run(Primitive::receive(root, m.receive));
    co_return;
  }
  const std::uint64_t block = m.send.size() / static_cast<std::uint64_t>(p.size());
  co_await p.fan_out({m.send, block, block}, root);
  if (!m.receive.empty()) co_await p.run(Primitive::copy(block_of(m.send, block, root), m.receive));
}

/// The rank behind the root sends first; the others relay the blocks from behind them.
Task<void> gather(Processor& p, int root, CallMemory m) {
  const Ring ring(p);
  const std::uint64_t block = m.send.size();
  if (ring.rank != root) {
    co_await p.run(Primitive::send(ring.next, m.send));
    const int distance = ring.wrap(ring.rank - root);
    for (int i = 1; i < distance; ++i) co_await p.run(Primitive::relay(ring.previous, ring.next, block));
    co_return;
  }
  const bool own_first = p.spec().generation == Generation::kSecond;
  const Primitive own = Primitive::copy(m.send, block_of(m.receive, block, root));
  if (own_first) co_await p.run(own);
  for (int i = 1; i < ring.ranks; ++i)
    co_await p.run(Primitive::receive(ring.previous, block_of(m.receive, block, ring.wrap(root - i))));
  if (!own_first) co_await p.run(own);
}

/// Store and forward: receives a block completely before sending it on.
Task<void> allgather(Processor& p, CallMemory m) {
  const Ring ring(p);
  const std::uint64_t block = m.send.size();
  if (ring.ranks > 1) co_await p.run(Primitive::send(ring.next, m.send));
  co_await p.run(Primitive::copy(m.send, block_of(m.receive, block, ring.rank)));
  for (int i = 1; i < ring.ranks; ++i) {
    const MutableBytes slot = block_of(m.receive, block, ring.wrap(ring.rank - i));
    co_await p.run(Primitive::receive(ring.previous, slot));
    if (i + 1 < ring.ranks) co_await p.run(Primitive::send(ring.next, slot));
  }
}

Task<void> reduce(Processor& p, int root, CallMemory m) {
  const Ring ring(p);
  if (ring.rank == root) return p.run(Primitive::receive_reduce(ring.previous, m.send, m.receive));
  if (ring.previous == root) return p.run(Primitive::send(ring.next, m.send));
  return p.run(Primitive::receive_reduce_send(ring.previous, m.send, ring.next));
}

/// The chunks into which reduce_scatter and allreduce divide their data.
class Chunks {
 public:
  Chunks(std::uint64_t bytes, std::uint64_t element_bytes, int ranks)
      : bytes_(bytes), each_(chunk_of(bytes, element_bytes, ranks, 0).bytes) {}
  /// chunk_of() without its divisions.
  [[nodiscard]] Chunk at(int index) const {
    const std::uint64_t offset = std::min(bytes_, each_ * static_cast<std::uint64_t>(index));
    return {offset, std::min(each_, bytes_ - offset)};
  }

 private:
  std::uint64_t bytes_;  // total
  std::uint64_t each_;   // the first chunk has the full length
};
template <typename Memory>
Memory part(Memory memory, const Chunk& chunk) {
  return memory.subspan(chunk.offset, chunk.bytes);
}

/// Each chunk is summed once around the ring and ends at the rank of its number. All ranks skip empty chunks.
Task<void> scatter_sums(Processor& p, Chunks chunks, Bytes own, MutableBytes result) {
  const Ring ring(p);
  const Chunk first = chunks.at(ring.previous);
  Bytes sent = part(own, first);
  // In place, the result may overwrite the first chunk, which must be sent unchanged.
  if (!result.empty() && sent.data() == result.data()) {
    const MutableBytes saved = p.team().scratch(sent.size());
    p.team().copy(sent, saved);
    sent = saved;
  }
  if (first.bytes > 0) co_await p.run(Primitive::send(ring.next, sent));
  for (int i = 2; i < ring.ranks; ++i) {
    const Chunk chunk = chunks.at(ring.wrap(ring.rank - i));
    if (chunk.bytes > 0)
      co_await p.run(Primitive::receive_reduce_send(ring.previous, part(own, chunk), ring.next));
  }
  const Chunk mine = chunks.at(ring.rank);
  if (mine.bytes > 0) co_await p.run(Primitive::receive_reduce(ring.previous, part(own, mine), result));
}

Task<void> reduce_scatter(Processor& p, CallMemory m) {
  const Chunks chunks{m.send.size(), m.send.size() / static_cast<std::uint64_t>(p.size()), p.size()};
  return scatter_sums(p, chunks, m.send, m.receive);
}

Task<void> allreduce(Processor& p, CallMemory m) {
  const Ring ring(p);
  const Chunks chunks{m.send.size(), m.element_bytes, ring.ranks};
  const MutableBytes mine = part(m.receive, chunks.at(ring.rank));
  co_await scatter_sums(p, chunks, m.send, mine);
  if (p.has_outgoing()) co_await p.drain();  // in place, the next steps overwrite sent data
  for (int i = 0; i + 1 < ring.ranks; ++i) {
    const Chunk out = chunks.at(ring.wrap(ring.rank - i));
    const Chunk in = chunks.at(ring.wrap(ring.rank - i - 1));
    if (out.bytes > 0) co_await p.run(Primitive::send(ring.next, part(m.receive, out)));
    if (in.bytes > 0) co_await p.run(Primitive::receive(ring.previous, part(m.receive, in)));
  }
}

/// Processes as many whole chunks at a time as fit one RX buffer.
Task<void> allreduce_by_segments(Processor& p, CallMemory m) {
  const std::uint64_t unit =
      std::max<std::uint64_t>(1, m.element_bytes) * static_cast<std::uint64_t>(p.size());
  const std::uint64_t most = std::max(unit, p.spec().rx_buffer_bytes / unit * unit);
  for (std::uint64_t at = 0; at < m.send.size(); at += most) {
    const std::uint64_t bytes = std::min<std::uint64_t>(most, m.send.size() - at);
    co_await allreduce(p, {m.send.subspan(at, bytes), m.receive.subspan(at, bytes), m.element_bytes});
  }
}

}  // namespace

Task<void> run_eager(Processor& p, Scenario scenario, int peer, CallMemory m) {
  const bool alone = p.size() == 1;  // in [accl-2025] a single rank sends to itself and gets wrong results
  switch (scenario) {
    case Scenario::kSend:
      return p.run(Primitive::send(peer, m.send));
    case Scenario::kReceive:
      return p.run(Primitive::receive(peer, m.receive));
    case Scenario::kBcast:
      return alone ? nothing() : bcast(p, peer, m);
    case Scenario::kScatter:
      return scatter(p, peer, m);
    case Scenario::kGather:
      return gather(p, peer, m);
    case Scenario::kAllgather:
      return allgather(p, m);
    case Scenario::kReduce:
      if (!alone) return reduce(p, peer, m);
      break;
    case Scenario::kReduceScatter:
      if (!alone) return reduce_scatter(p, m);
      break;
    case Scenario::kAllreduce:
      if (!alone && p.spec().generation == Generation::kFirst) return allreduce(p, m);
      if (!alone) return allreduce_by_segments(p, m);
      break;
    case Scenario::kCopy:
      break;
    default:
      return nothing();
  }
  return p.run(Primitive::copy(m.send, m.receive));
}

}  // namespace offramp::cclo
