// The second generation's rendezvous collectives (read in [accl-2025]): the receiver advertises an address;
// the sender writes there and notifies it. Where the hardware serves requests in order of arrival, modelled
// time determines the order.
//
// Repaired compared with [accl-2025]: a tree reduction delivers its result for every number of ranks, scratch
// memory has the required size, reduce_scatter preserves its source buffer, and the root of a gather
// advertises to every rank except itself.
//
// Works for any number of ranks P. The driver sets the words of the exchange memory that select algorithms
// (kBcastMaximumRanks and others). n is the size of a message or block.
//
//   bcast           flat up to a number of ranks: the root writes to each rank when its address arrives.
//                   Otherwise a binomial tree.
//   scatter         flat, in order of the addresses' arrival.
//   gather          flat; large blocks from a limited number of ranks at a time (the fan-in).
//   allgather       P - 1 steps around the ring.
//   reduce          flat up to a number of ranks or bytes: the root adds in order of arrival. Memory:
//                   (P - 1) n at the root. Otherwise a binomial tree. Memory: 2 n at ranks with children,
//                   except n at the root; n at the others.
//   reduce_scatter  a reduce to rank 0, then a scatter. Memory: the vector at rank 0.
//   allreduce       a reduce to rank 0, then a bcast.
//   alltoall        all advertise to all, then each writes to its peers as their addresses arrive. In
//                   place: a copy of all blocks.
//   barrier         notifications to rank 0, in order of ranks, and back.
#include <algorithm>
#include <utility>
#include <vector>

#include "simulators/cclo/firmware.hpp"

namespace offramp::cclo {
namespace {

struct Notice {
  Time at;
  int peer;
  int distance;  // from this rank downwards
  /// On a tie the rank before this one is first, so that ranks do not all serve rank 0 first.
  friend bool operator<(const Notice& a, const Notice& b) {
    return a.at != b.at ? a.at < b.at : a.distance < b.distance;
  }
};

Notice notice_of(const Processor& p, Time at, int peer) {
  return {at, peer, (p.rank() - peer + p.size()) % p.size()};
}

template <typename Memory>
Memory block_of(Memory memory, std::uint64_t bytes, int index) {
  return memory.subspan(bytes * static_cast<std::uint64_t>(index), bytes);
}

using Missing = Processor::Missing;

Task<void> wait_address(Processor& p, int peer, Missing missing = Missing::kSpin) {
  const Time at = co_await p.address_of(peer, missing);
  co_await p.turn(at);
  p.read_notification(at);
}

Task<void> wait_written(Processor& p, int peer, MutableBytes into, Missing missing = Missing::kSpin) {
  const Time at = co_await p.written_by(peer, into, missing);
  co_await p.turn(at);
  p.read_notification(at);
}

/// Receives the peers' writes, in order of arrival. into(peer): destination of a peer's data.
Task<std::vector<Notice>> writes(Processor& p, std::vector<int> peers, auto into) {
  struct Write {
    Team::Arrival arrival;
    int peer;
  };
  std::vector<Write> all;
  for (const int peer : peers) {
    const Team::Arrival arrival = co_await p.write_of(peer, into(peer));
    all.push_back({arrival, peer});
  }
  // Each landing occupies the port, so it must happen in order of arrival.
  std::stable_sort(all.begin(), all.end(), [](const Write& a, const Write& b) {
    return a.arrival.stamp.first < b.arrival.stamp.first;
  });
  std::vector<Notice> notices;
  notices.reserve(all.size());
  for (const Write& write : all)
    notices.push_back(notice_of(p, p.land_write(write.arrival, into(write.peer).size()), write.peer));
  std::sort(notices.begin(), notices.end());
  co_return notices;
}

/// All ranks except this one.
std::vector<int> other_ranks(const Processor& p) {
  std::vector<int> peers;
  for (int peer = 0; peer < p.size(); ++peer) {
    if (peer != p.rank()) peers.push_back(peer);
  }
  return peers;
}

/// The addresses that all other ranks advertise, in order of arrival.
Task<std::vector<Notice>> addresses(Processor& p, Missing missing = Missing::kSpin) {
  std::vector<Notice> notices;
  for (int peer = 0; peer < p.size(); ++peer) {
    if (peer == p.rank()) continue;
    const Time at = co_await p.address_of(peer, missing);
    notices.push_back(notice_of(p, at, peer));
  }
  std::sort(notices.begin(), notices.end());
  co_return notices;
}

/// Writes to each peer when its address has arrived. data_of(peer): a peer's data.
Task<void> write_to(Processor& p, std::vector<Notice> notices, auto data_of) {
  for (const Notice& notice : notices) {
    co_await p.turn(notice.at);
    p.read_notification(notice.at);
    co_await p.room();
    p.write(notice.peer, data_of(notice.peer));
  }
}

Task<void> bcast_flat(Processor& p, int root, MutableBytes buffer) {
  if (p.rank() != root) {
    co_await p.turn();
    p.announce(root);
    co_await wait_written(p, root, buffer);
    co_return;
  }
  co_await write_to(p, co_await addresses(p, Missing::kRetry), [&](int) { return buffer; });
  co_await p.finish();
}

Task<void> bcast_tree(Processor& p, int root, MutableBytes buffer) {
  const int ranks = p.size();
  const int relative = (p.rank() - root + ranks) % ranks;
  int distance = 1;
  while (2 * distance < ranks) distance *= 2;  // 2^floor(log2(P - 1))
  bool holds = relative == 0;
  for (; distance > 0; distance /= 2) {
    const int peer = relative + distance;
    if (holds && relative % (2 * distance) == 0 && peer < ranks) {
      const int child = (peer + root) % ranks;
      co_await wait_address(p, child);
      co_await p.room();
      p.write(child, buffer);
      co_await p.finish();
    } else if (!holds && relative % distance == 0) {
      const int parent = (relative - distance + root) % ranks;
      co_await p.turn();
      p.announce(parent);
      co_await wait_written(p, parent, buffer);
      holds = true;
    }
  }
}

Task<void> bcast(Processor& p, int root, MutableBytes buffer) {
  if (static_cast<std::uint32_t>(p.size()) > p.word(kBcastMaximumRanks)) {
    co_await bcast_tree(p, root, buffer);
  } else {
    co_await bcast_flat(p, root, buffer);
  }
}

/// send: all blocks in rank order, at the root.
Task<void> scatter(Processor& p, int root, Bytes send, MutableBytes receive, std::uint64_t block) {
  if (p.rank() != root) {
    co_await p.turn();
    p.announce(root);
    co_await wait_written(p, root, receive);
    co_return;
  }
  co_await p.room();
  if (!receive.empty()) p.copy(block_of(send, block, root), receive);
  const auto block_for = [&](int peer) { return block_of(send, block, peer); };
  co_await write_to(p, co_await addresses(p, Missing::kRetry), block_for);
  co_await p.finish();
}

/// The root advertises to as many peers as its fan-in allows, and to one more whenever one is done.
Task<void> gather(Processor& p, int root, CallMemory m) {
  const std::uint64_t block = m.send.size();
  if (p.rank() != root) {
    co_await wait_address(p, root, Missing::kRetry);
    co_await p.room();
    p.write(root, m.send);
    co_await p.finish();
    co_return;
  }
  co_await p.room();
  p.copy(m.send, block_of(m.receive, block, root));
  const bool limited = block > p.word(kGatherMaximumBytes);
  const int fan_in = limited ? std::max(1, static_cast<int>(p.word(kGatherMaximumFanIn))) : p.size();
  std::vector<Notice> done;
  std::vector<int> asked;  // advertised to, with no result yet
  int next = 0;
  int announced = 0;
  for (int served = 0; served + 1 < p.size();) {
    for (; next < p.size() && announced - served < fan_in; ++next) {
      if (next == root) continue;
      co_await p.turn();
      p.announce(next);
      asked.push_back(next);
      ++announced;
    }
    const auto slot = [&](int peer) { return block_of(m.receive, block, peer); };
    const std::vector<Notice> written = co_await writes(p, std::exchange(asked, {}), slot);
    done.insert(done.end(), written.begin(), written.end());
    // Results that are served already keep their places.
    std::sort(done.begin() + served, done.end());
    const Time first = done[static_cast<std::size_t>(served++)].at;
    co_await p.turn(first);
    p.read_notification(first);
  }
  co_await p.finish();
}

Task<void> allgather(Processor& p, CallMemory m) {
  const int ranks = p.size();
  // Ranks advertise downwards and write upwards: the block of rank r moves to r + 1 in each step.
  const int next = (p.rank() + 1) % ranks;
  const int previous = (p.rank() - 1 + ranks) % ranks;
  const std::uint64_t block = m.send.size();
  const MutableBytes own = block_of(m.receive, block, p.rank());
  co_await p.room();
  p.copy(m.send, own);
  if (ranks == 1) co_return co_await p.finish();
  co_await p.turn();
  p.announce(previous);
  co_await wait_address(p, next, Missing::kRetry);
  co_await p.room();
  p.write(next, m.send);
  for (int i = 1; i < ranks; ++i) {
    const MutableBytes slot = block_of(m.receive, block, (p.rank() - i + ranks) % ranks);
    co_await wait_written(p, previous, slot);
    co_await p.room();
    if (i + 1 < ranks) p.write(next, slot);
  }
  co_await p.finish();
}

/// All ranks write to the root, which adds in order of arrival.
Task<void> reduce_flat(Processor& p, int root, Bytes own, MutableBytes result) {
  if (p.rank() != root) {
    co_await wait_address(p, root);
    co_await p.room();
    p.write(root, own);
    co_await p.finish();
    co_return;
  }
  std::vector<MutableBytes> parts(static_cast<std::size_t>(p.size()));
  for (const int peer : other_ranks(p)) {
    co_await p.turn();
    p.announce(peer);
    parts[static_cast<std::size_t>(peer)] = p.team().scratch(own.size());
  }
  const std::vector<Notice> notices =
      co_await writes(p, other_ranks(p), [&](int peer) { return parts[static_cast<std::size_t>(peer)]; });
  // The hardware's first sum reads this rank's own memory directly, so this copy costs no time.
  p.team().copy(own, result);
  for (const Notice& notice : notices) {
    co_await p.turn(notice.at);
    p.read_notification(notice.at);
    co_await p.room();
    p.combine(parts[static_cast<std::size_t>(notice.peer)], result);
  }
  co_await p.finish();
}

/// Binomial tree: the sum of 2^n ranks goes to the lowest of them.
Task<void> reduce_tree(Processor& p, int root, Bytes own, MutableBytes result) {
  const int ranks = p.size();
  const int relative = (p.rank() - root + ranks) % ranks;
  const MutableBytes sum = relative == 0 ? result : p.team().scratch(own.size());
  MutableBytes part;
  p.team().copy(own, sum);  // no cost: the hardware's first operand is the source buffer
  for (int distance = 1; distance < ranks; distance *= 2) {
    const int child = relative + distance;
    if (relative % (2 * distance) != 0) {
      const int parent = (relative - distance + root) % ranks;
      co_await wait_address(p, parent);
      co_await p.room();
      p.write(parent, sum);
      break;
    }
    if (child >= ranks) continue;
    const int peer = (child + root) % ranks;
    co_await p.turn();
    p.announce(peer);
    if (part.empty()) part = p.team().scratch(own.size());
    co_await wait_written(p, peer, part);
    co_await p.room();
    p.combine(part, sum);
  }
  co_await p.finish();
}

Task<void> reduce(Processor& p, int root, Bytes own, MutableBytes result) {
  if (static_cast<std::uint32_t>(p.size()) <= p.word(kReduceMaximumRanks) ||
      own.size() <= p.word(kReduceMaximumBytes)) {
    co_await reduce_flat(p, root, own, result);
  } else {
    co_await reduce_tree(p, root, own, result);
  }
}

Task<void> reduce_scatter(Processor& p, CallMemory m) {
  MutableBytes sums;
  if (p.rank() == 0) sums = p.team().scratch(m.send.size());
  co_await reduce(p, 0, m.send, sums);
  co_await p.drain();  // the result may overlap the source
  co_await scatter(p, 0, sums, m.receive, m.receive.size());
}

Task<void> allreduce(Processor& p, CallMemory m) {
  co_await reduce(p, 0, m.send, m.receive);
  co_await p.drain();
  co_await bcast(p, 0, m.receive);
}

Task<void> alltoall(Processor& p, CallMemory m) {
  const std::uint64_t block = m.send.size() / static_cast<std::uint64_t>(p.size());
  Bytes out = m.send;
  if (out.data() == m.receive.data()) {  // incoming blocks would overwrite outgoing ones
    const MutableBytes saved = p.team().scratch(out.size());
    co_await p.room();
    p.copy(out, saved);
    out = saved;
  }
  co_await p.room();
  p.copy(block_of(out, block, p.rank()), block_of(m.receive, block, p.rank()));
  for (int peer = 0; peer < p.size(); ++peer) {
    co_await p.turn();
    if (peer != p.rank()) p.announce(peer);
  }
  co_await write_to(p, co_await addresses(p), [&](int peer) { return block_of(out, block, peer); });
  const std::vector<Notice> done =
      co_await writes(p, other_ranks(p), [&](int peer) { return block_of(m.receive, block, peer); });
  for (const Notice& notice : done) {
    co_await p.turn(notice.at);
    p.read_notification(notice.at);
  }
  co_await p.finish();
}

/// Rank 0 receives a notification from every rank, in order of ranks, and answers all.
Task<void> barrier(Processor& p) {
  if (p.rank() != 0) {
    co_await p.turn();
    p.announce(0);
    co_await wait_address(p, 0);
    co_return;
  }
  for (int peer = 1; peer < p.size(); ++peer) co_await wait_address(p, peer);
  for (int peer = 1; peer < p.size(); ++peer) {
    co_await p.turn();
    p.announce(peer);
  }
}

Task<void> send(Processor& p, int peer, Bytes data) {
  co_await wait_address(p, peer, Missing::kRetry);
  co_await p.room();
  p.write(peer, data);
  co_await p.finish();
}

Task<void> receive(Processor& p, int peer, MutableBytes into) {
  co_await p.turn();
  p.announce(peer);
  co_await wait_written(p, peer, into, Missing::kRetry);
}

}  // namespace

Task<void> run_rendezvous(Processor& p, Scenario scenario, int peer, CallMemory m) {
  if (scenario == Scenario::kSend) co_return co_await send(p, peer, m.send);
  if (scenario == Scenario::kReceive) co_return co_await receive(p, peer, m.receive);
  if (p.size() == 1 && scenario != Scenario::kBarrier) {
    if (scenario != Scenario::kBcast) p.copy(m.send, m.receive);
    co_return co_await p.finish();
  }
  switch (scenario) {
    case Scenario::kBcast:
      co_return co_await bcast(p, peer, m.receive);
    case Scenario::kScatter:
      co_return co_await scatter(p, peer, m.send, m.receive,
                                 m.send.size() / static_cast<std::uint64_t>(p.size()));
    case Scenario::kGather:
      co_return co_await gather(p, peer, m);
    case Scenario::kAllgather:
      co_return co_await allgather(p, m);
    case Scenario::kReduce:
      co_return co_await reduce(p, peer, m.send, m.receive);
    case Scenario::kReduceScatter:
      co_return co_await reduce_scatter(p, m);
    case Scenario::kAllreduce:
      co_return co_await allreduce(p, m);
    case Scenario::kAlltoall:
      co_return co_await alltoall(p, m);
    case Scenario::kBarrier:
      co_return co_await barrier(p);
    case Scenario::kCopy:
      co_return co_await p.run(Primitive::copy(m.send, m.receive));
    default:
      co_return;
  }
}

}  // namespace offramp::cclo
