#include "backends/tinsel/algorithms.hpp"

#include <algorithm>
#include <utility>

#include "backends/host/algorithms.hpp"
#include "simulators/model/ping_pong_buffers.hpp"

namespace offramp::tinsel {
namespace {

// A failed message does not stop an algorithm: nobody may wait for ever.
MutableBytes block_of(MutableBytes all, std::size_t block, int index) {
  return all.subspan(block * static_cast<std::size_t>(index), block);
}
Bytes block_of(Bytes all, std::size_t block, int index) {
  return all.subspan(block * static_cast<std::size_t>(index), block);
}

/// A thread of this rank works.
void spend(const Device& device, Team& team, std::string_view what, Time time) {
  device.span("tinsel.threads", what, team.clock, team.clock + time, team.operation);
  team.clock += time;
}

void spend_copy(const Device& device, Team& team, std::size_t bytes) {
  spend(device, team, "copy", device.configuration().copy(bytes));
}

void local_copy(const Device& device, Team& team, Bytes from, MutableBytes to) {
  if (from.data() != to.data()) spend_copy(device, team, from.size());
  team.copy(from, to);
}

/// For the algorithms in software: rates of one word.
host::LocalCosts costs_of(const Device& device) {
  const Configuration& configuration = device.configuration();
  constexpr std::int64_t kSample = 1 << 20;
  const Time copy = configuration.copy(kSample);
  const Bandwidth rate = Bandwidth::bits_per_second(std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(kSample) * 8 / copy.seconds())));
  return {rate, rate, device.spans(), "tinsel.threads"};
}

// The state of a broadcast's fragment that does not fit into its times.
constexpr std::uint64_t kIdleRelease = 1;

Task<Outcome> send_multicast(Device& device, Team& team, Bytes data, int root) {
  Communicator& communicator = device.communicator(team);
  Time setup;
  RootPlan& plan = device.plan(communicator, root, setup);
  if (plan.ranks.empty()) co_return Outcome::kOk;
  const Time begin = team.clock + setup + device.configuration().send_call;
  const StreamResult& result = device.multicast(communicator, root, plan, data.size(), begin);
  const bool ok = result.ok && plan.trap == Trap::kNone;
  WireCounters wire = result.counters.link;
  wire.payload_bytes = data.size();
  wire.packets += result.sends;
  wire.wire_bytes += result.sends * kMaximumFlits * kFlitBytes;
  device.count(wire);
  const Time sent = begin + result.sent;
  device.span("tinsel.threads", "set up tables", team.clock, team.clock + setup, team.operation);
  device.capture_multicast(communicator, team, root, plan, data, begin);
  device.span("tinsel.threads", "multicast", begin, sent, team.operation);
  std::vector<Team::PendingToken> tokens;
  tokens.reserve(plan.ranks.size());
  for (std::size_t i = 0; i < plan.ranks.size(); ++i) {
    const StreamResult::Destination& times = result.destinations[i];
    const Stamp stamp{begin + times.first, begin + later(times.first, times.last), ok ? 0 : Stamp::kFailed};
    device.span("tinsel.network", "fragments", begin, stamp.last, team.operation);
    tokens.push_back(team.send_token(plan.ranks[i], data, stamp));
  }
  Outcome outcome = ok ? Outcome::kOk : Outcome::kFault;
  for (Team::PendingToken& token : tokens) {
    const Team::Arrival arrival = co_await token;
    note(outcome, arrival.outcome);
  }
  team.clock = later(team.clock, sent);
  co_return outcome;
}

Task<Outcome> receive_multicast(Device& device, Team& team, MutableBytes buffer, int root) {
  const Time posted = team.clock;
  const Team::Arrival arrival = co_await team.receive_token(root, buffer);
  const Stamp& stamp = arrival.stamp;
  // An idle release is the hardware's; what the tree would have taken meanwhile does not count.
  team.clock = (stamp.detail & kIdleRelease) != 0
                   ? stamp.last
                   : device.configuration().taken_up(posted, stamp.first, stamp.last, buffer.size());
  if ((stamp.detail & kIdleRelease) == 0)
    device.span("tinsel.threads", "receive", stamp.first, team.clock, team.operation);
  Outcome outcome = arrival.outcome;
  if (stamp.failed()) note(outcome, Outcome::kFault);
  co_return outcome;
}

Task<Outcome> bcast(Device& device, Team& team, MutableBytes buffer, int root) {
  if (team.rank() == root) co_return co_await send_multicast(device, team, buffer, root);
  co_return co_await receive_multicast(device, team, buffer, root);
}

/// The part [begin, begin + size) of a reduction: whole elements.
std::size_t segment_bytes(const Configuration& configuration, const Operation& operation, std::size_t total) {
  const std::size_t elements = operation.elements;
  if (elements == 0 || total == 0 || total % elements != 0) return total;
  const std::size_t element = total / elements;
  return std::max<std::size_t>(1, configuration.segment / element) * element;
}

/// Segments go up the tree one behind the other: while one is combined the next one travels. `sum`: where the
/// root of the tree wants the result. The threads copy their operands to where they add; here they stay where
/// they are.
Task<Outcome> reduce_up(Device& device, Operation operation, Team& team, Bytes own, MutableBytes sum,
                        const Position& position) {
  const Configuration& configuration = device.configuration();
  const std::size_t children = position.children.size();
  const std::size_t step = segment_bytes(configuration, operation, own.size());
  Outcome outcome = Outcome::kOk;
  PingPongBuffers turns(team, place_of_result(own, sum), own.size());
  if (own.data() != sum.data()) spend_copy(device, team, own.size());
  std::vector<Team::Pending> sends;
  for (std::size_t begin = 0; begin == 0 || begin < own.size(); begin += step) {
    const std::size_t size = std::min(step, own.size() - begin);
    Bytes held = own.subspan(begin, size);
    for (std::size_t c = 0; c < children; ++c) {
      const MutableBytes part = turns.buffer(children - 1 - c).subspan(begin, size);
      note(outcome, co_await team.receive(position.children[c], part));
      // in has the lower ranks: what is there so far.
      spend(device, team, "combine", configuration.combine(operation, size));
      team.combine(held, part);
      held = part;
    }
    if (position.parent >= 0) {
      sends.push_back(team.send(position.parent, held));
    } else {
      team.copy(held, sum.subspan(begin, size));
    }
    if (size == 0) break;
  }
  for (Team::Pending& send : sends) note(outcome, co_await send);
  co_return outcome;
}

Task<Outcome> reduce(Device& device, Operation operation, Team& team, CollectiveBuffers buffers, int root) {
  // Where the order of operands matters the tree ends at rank 0, which passes the result on.
  const int top = operation.commutative ? root : 0;
  Communicator& communicator = device.communicator(team);
  const Position& position = device.position(communicator, team.rank(), top, operation.commutative);
  MutableBytes sum;
  if (team.rank() == top) sum = top == root ? buffers.receive : team.scratch(buffers.send.size());
  Outcome outcome = co_await reduce_up(device, operation, team, buffers.send, sum, position);
  if (top != root && team.rank() == top) note(outcome, co_await team.send(root, sum));
  if (top != root && team.rank() == root) note(outcome, co_await team.receive(top, buffers.receive));
  co_return outcome;
}

Task<Outcome> allreduce(Device& device, Operation operation, Team& team, CollectiveBuffers buffers) {
  Outcome outcome = co_await reduce(device, operation, team, buffers, 0);
  note(outcome, co_await bcast(device, team, buffers.receive, 0));
  co_return outcome;
}

Task<Outcome> gather(Device& device, Team& team, CollectiveBuffers buffers, int root) {
  if (team.rank() != root) co_return co_await team.send(root, buffers.send);
  Outcome outcome = Outcome::kOk;
  std::vector<Team::Pending> receives;
  receives.reserve(static_cast<std::size_t>(team.size()));
  for (int r = 0; r < team.size(); ++r) {
    const MutableBytes into = block_of(buffers.receive, buffers.block, r);
    if (r == root) {
      local_copy(device, team, buffers.send, into);
    } else {
      receives.push_back(team.receive(r, into));
    }
  }
  for (Team::Pending& receive : receives) note(outcome, co_await receive);
  co_return outcome;
}

Task<Outcome> scatter(Device& device, Team& team, CollectiveBuffers buffers, int root) {
  if (team.rank() != root) co_return co_await team.receive(root, buffers.receive);
  Outcome outcome = Outcome::kOk;
  std::vector<Team::Pending> sends;
  sends.reserve(static_cast<std::size_t>(team.size()));
  for (int r = 0; r < team.size(); ++r) {
    const Bytes from = block_of(buffers.send, buffers.block, r);
    if (r != root) {
      sends.push_back(team.send(r, from));
    } else if (!buffers.receive.empty()) {
      local_copy(device, team, from, buffers.receive);
    }
  }
  for (Team::Pending& send : sends) note(outcome, co_await send);
  co_return outcome;
}

Task<Outcome> allgather(Device& device, Team& team, CollectiveBuffers buffers) {
  Outcome outcome = co_await gather(device, team, buffers, 0);
  note(outcome, co_await bcast(device, team, buffers.receive, 0));
  co_return outcome;
}

Task<Outcome> reduce_scatter(Device& device, Operation operation, Team& team, CollectiveBuffers buffers) {
  CollectiveBuffers whole = buffers;
  whole.receive = team.rank() == 0 ? team.scratch(buffers.send.size()) : MutableBytes();
  Outcome outcome = co_await reduce(device, operation, team, whole, 0);
  CollectiveBuffers parts = buffers;
  parts.send = whole.receive;
  note(outcome, co_await scatter(device, team, parts, 0));
  co_return outcome;
}

/// The costs live in this frame for as long as the algorithm refers to them.
Task<Outcome> alltoall(Device& device, Team& team, CollectiveBuffers buffers) {
  const host::LocalCosts costs = costs_of(device);
  co_return co_await host::alltoall_pairwise(team, costs, buffers);
}

/// The counts go up with the tokens, less and more than zero; the sum tells whether anything is on its way.
constexpr std::int64_t kBias = std::int64_t{1} << 40;

/// Every rank tells its parent when it and those below have come, and what they have on their way. If nothing
/// is, the hardware's idle detection has released all threads; it would not have otherwise.
Task<Outcome> barrier(Device& device, Team& team, std::int64_t in_flight) {
  const Configuration& configuration = device.configuration();
  Communicator& communicator = device.communicator(team);
  const Position& position = device.position(communicator, team.rank(), 0, true);
  Outcome outcome = Outcome::kOk;
  Time latest = team.clock;
  for (const int child : position.children) {
    const Team::Arrival arrival = co_await team.receive_token(child, {});
    note(outcome, arrival.outcome);
    if (arrival.stamp.failed()) note(outcome, Outcome::kFault);
    latest = later(latest, arrival.stamp.first);
    team.clock = configuration.taken_up(team.clock, arrival.stamp.last, arrival.stamp.last, 0);
    in_flight += static_cast<std::int64_t>(arrival.stamp.detail & ~Stamp::kFailed) - kBias;
  }
  if (position.parent >= 0) {
    team.clock += configuration.send_call;
    const Trip trip =
        device.unicast(team.world_rank(team.rank()), team.world_rank(position.parent), 0, 0, team.clock);
    device.count(trip.wire);
    Transfer token;
    token.source = team.world_rank(team.rank());
    token.destination = team.world_rank(position.parent);
    device.capture_unicast(token, 0, team.clock);
    device.span("tinsel.threads", "send", team.clock, team.clock + trip.sent, team.operation);
    device.span("tinsel.network", "fragments", team.clock, team.clock + trip.last, team.operation);
    Stamp stamp{latest, team.clock + trip.last, static_cast<std::uint64_t>(in_flight + kBias)};
    if (!trip.ok || outcome != Outcome::kOk) stamp.detail |= Stamp::kFailed;
    const Team::Arrival told = co_await team.send_token(position.parent, {}, stamp);
    note(outcome, told.outcome);
    team.clock += trip.sent;
    note(outcome, co_await receive_multicast(device, team, {}, 0));
    co_return outcome;
  }
  const bool whole_world = team.size() == configuration.ranks;
  if (configuration.barrier != BarrierKind::kIdle || !whole_world || in_flight != 0 || team.size() == 1) {
    note(outcome, co_await send_multicast(device, team, {}, 0));
    co_return outcome;
  }
  const Time release = latest + idle_barrier(configuration.machine, configuration.idle);
  device.span("tinsel.network", "idle detection", latest, release, team.operation);
  for (int r = 1; r < team.size(); ++r) {
    const Team::Arrival told = co_await team.send_token(r, {}, {release, release, kIdleRelease});
    note(outcome, told.outcome);
  }
  team.clock = release;
  co_return outcome;
}

}  // namespace

Task<Outcome> run_collective(Device& device, const Operation& operation, Team& team,
                             CollectiveBuffers buffers, std::int64_t in_flight) {
  switch (operation.kind) {
    case OperationKind::kBcast:
      return bcast(device, team, buffers.receive, operation.root);
    case OperationKind::kReduce:
      return reduce(device, operation, team, buffers, operation.root);
    case OperationKind::kGather:
      return gather(device, team, buffers, operation.root);
    case OperationKind::kScatter:
      return scatter(device, team, buffers, operation.root);
    case OperationKind::kAllreduce:
      return allreduce(device, operation, team, buffers);
    case OperationKind::kAllgather:
      return allgather(device, team, buffers);
    case OperationKind::kReduceScatter:
      return reduce_scatter(device, operation, team, buffers);
    case OperationKind::kAlltoall:
      return alltoall(device, team, buffers);
    default:  // the library asks for nothing else
      break;
  }
  return barrier(device, team, in_flight);
}

}  // namespace offramp::tinsel
