// The algorithms, one per kind of collective, for any number of ranks. "Memory" is memory in addition to the
// program's buffers; "multicast" is one stream of keyed sends to all other ranks (multicasts.hpp), with
// tables that a root's first broadcast builds.
//
//   bcast           a multicast from the root.
//   reduce          up the tree of Device::position(), segment by segment: boards follow the mesh towards
//                   the root, ranks of a board a tree of `fan_in`. Non-commutative operations go up a tree
//                   in rank order to rank 0, which sends the result to the root. Memory: up to two vectors
//                   at ranks with children.
//   gather          all blocks directly to the root.
//   scatter         all blocks directly from the root.
//   allreduce       a reduce to rank 0 and a multicast.
//   allgather       a gather to rank 0 and a multicast of the result.
//   reduce_scatter  a reduce to rank 0, then a scatter. Memory: the vector at rank 0.
//   alltoall        the host's pairwise exchange (backends/host/alltoall.cpp), at the threads' rates.
//   barrier         idle detection, if all ranks of the machine participate, no message is in flight, and
//                   the wires have no faults; else up the tree and an empty multicast. Tokens replace the
//                   hardware's counters of idle detection, and need no modelled time.
#include "backends/tinsel/collectives.hpp"

#include <algorithm>

#include "backends/host/algorithms.hpp"

namespace offramp::tinsel {
namespace {

// A failed message does not stop an algorithm, so that no rank waits forever.

/// Charges work to the threads of this rank.
void spend(Device& device, Team& team, std::string_view what, Time time) {
  if (time == Time()) return;
  const Time end = device.work(team, team.clock, time);
  device.span(team.world_rank(team.rank()), "tinsel.threads", what, end - time, end, team.operation);
  team.clock = end;
}

void spend_copy(Device& device, Team& team, std::size_t bytes) {
  spend(device, team, "copy", device.configuration().copy(bytes));
}

/// Costs for the software algorithms: the rates of copies.
host::LocalCosts costs_of(const Device& device) {
  const Configuration& configuration = device.configuration();
  constexpr std::int64_t kSample = 1 << 20;
  const Time copy = configuration.copy(kSample);
  // At least 1 bit per second, for processors without a cost.
  const Bandwidth rate = Bandwidth::bits_per_second(std::max<std::int64_t>(
      1, static_cast<std::int64_t>(static_cast<double>(kSample) * 8 / copy.seconds())));
  return {rate, rate, device.spans(), "tinsel.threads"};
}

Task<Outcome> send_multicast(Hardware hardware, Team& team, std::size_t bytes, int root) {
  Device& device = hardware.device;
  Communicator& communicator = device.communicator(team);
  Time setup;
  // Shared: the communicator may be freed while copies are on their way.
  const std::shared_ptr<RootPlan> plan = device.plan(communicator, root, setup);
  if (plan->ranks.empty()) co_return Outcome::kOk;
  device.span(team.world_rank(team.rank()), "tinsel.threads", "set up tables", team.clock, team.clock + setup,
              team.operation);
  team.clock += setup + device.configuration().send_call;
  std::vector<Team::Pending> copies;
  copies.reserve(plan->ranks.size());
  hardware.multicasts.open(plan, bytes, team.devices() != nullptr);
  for (const int rank : plan->ranks) copies.push_back(team.send(rank, bytes));
  hardware.multicasts.close();
  Outcome outcome = Outcome::kOk;
  for (Team::Pending& copy : copies) note(outcome, co_await copy);
  co_return outcome;
}

Task<Outcome> bcast(Hardware hardware, Team& team, std::size_t bytes, int root) {
  if (team.rank() == root) co_return co_await send_multicast(hardware, team, bytes, root);
  co_return co_await team.receive(root, bytes);
}

/// Bytes of a reduction's segment: whole elements.
std::size_t segment_bytes(const Configuration& configuration, const Operation& operation, std::size_t total) {
  const std::size_t elements = operation.elements;
  // Vectors without whole elements are not cut.
  if (elements == 0 || total == 0 || total % elements != 0) return total;
  const std::size_t element = total / elements;
  return std::max<std::size_t>(1, configuration.segment / element) * element;
}

/// The position of a rank in the tree of a reduction: it ends at top_of(operation).
const Position& position_of(Device& device, const Operation& operation, const TeamMembers& team) {
  return device.position(device.communicator(team), team.rank(), top_of(operation), operation.commutative);
}

/// Reduces segments in a pipeline: the next one travels while one is combined. The threads copy their
/// operands to where they add. in_place: the contribution is there already.
Task<Outcome> reduce_up(Device& device, Operation operation, Team& team, std::size_t bytes, bool in_place) {
  const Configuration& configuration = device.configuration();
  const Position& position = position_of(device, operation, team);
  const std::size_t step = segment_bytes(configuration, operation, bytes);
  Outcome outcome = Outcome::kOk;
  if (!in_place) spend_copy(device, team, bytes);
  std::vector<Team::Pending> sends;
  for (std::size_t begin = 0; begin == 0 || begin < bytes; begin += step) {
    const std::size_t size = std::min(step, bytes - begin);
    for (const int child : position.children) {
      note(outcome, co_await team.receive(child, size));
      spend(device, team, "combine", configuration.combine(operation, size));
    }
    if (position.parent >= 0) sends.push_back(team.send(position.parent, size));
    if (size == 0) break;
  }
  for (Team::Pending& send : sends) note(outcome, co_await send);
  co_return outcome;
}

/// buffers.receive: at the root. A top that is another rank sends the result to it.
Task<Outcome> reduce(Device& device, Operation operation, Team& team, CollectiveBuffers buffers, int root) {
  const int top = top_of(operation);
  const std::size_t bytes = buffers.send.size();
  const bool in_place = team.rank() == top && top == root && buffers.send.data() == buffers.receive.data();
  Outcome outcome = co_await reduce_up(device, operation, team, bytes, in_place);
  if (top != root && team.rank() == top) note(outcome, co_await team.send(root, bytes));
  if (top != root && team.rank() == root) note(outcome, co_await team.receive(top, bytes));
  co_return outcome;
}

Task<Outcome> allreduce(Hardware hardware, Operation operation, Team& team, CollectiveBuffers buffers) {
  Outcome outcome = co_await reduce(hardware.device, operation, team, buffers, 0);
  note(outcome, co_await bcast(hardware, team, operation.bytes, 0));
  co_return outcome;
}

Task<Outcome> gather(Device& device, Team& team, CollectiveBuffers buffers, int root) {
  const std::size_t block = buffers.send.size();
  if (team.rank() != root) co_return co_await team.send(root, block);
  Outcome outcome = Outcome::kOk;
  // All receives are posted first: blocks may arrive in any order.
  std::vector<Team::Pending> receives;
  receives.reserve(static_cast<std::size_t>(team.size()));
  for (int r = 0; r < team.size(); ++r) {
    if (r != root) {
      receives.push_back(team.receive(r, block));
    } else if (buffers.send.data() != buffers.receive.data() + block * static_cast<std::size_t>(r)) {
      spend_copy(device, team, block);
    }
  }
  for (Team::Pending& receive : receives) note(outcome, co_await receive);
  co_return outcome;
}

/// in_place: the root's block stays where it is.
Task<Outcome> scatter(Device& device, Team& team, std::size_t block, int root, bool in_place) {
  if (team.rank() != root) co_return co_await team.receive(root, block);
  Outcome outcome = Outcome::kOk;
  std::vector<Team::Pending> sends;
  sends.reserve(static_cast<std::size_t>(team.size()));
  for (int r = 0; r < team.size(); ++r) {
    if (r != root) {
      sends.push_back(team.send(r, block));
    } else if (!in_place) {
      spend_copy(device, team, block);
    }
  }
  for (Team::Pending& send : sends) note(outcome, co_await send);
  co_return outcome;
}

/// True if the root's block of a scatter need not be copied.
bool is_in_place(const CollectiveBuffers& buffers, int root) {
  return buffers.receive.empty() ||
         buffers.receive.data() == buffers.send.data() + buffers.block * static_cast<std::size_t>(root);
}

Task<Outcome> allgather(Hardware hardware, Team& team, CollectiveBuffers buffers) {
  Outcome outcome = co_await gather(hardware.device, team, buffers, 0);
  note(outcome, co_await bcast(hardware, team, buffers.receive.size(), 0));
  co_return outcome;
}

Task<Outcome> reduce_scatter(Device& device, Operation operation, Team& team, CollectiveBuffers buffers) {
  // The vector stays at rank 0.
  CollectiveBuffers whole{buffers.send, {}};
  Outcome outcome = co_await reduce(device, operation, team, whole, 0);
  note(outcome, co_await scatter(device, team, buffers.block, 0, buffers.block == 0));
  co_return outcome;
}

/// This frame keeps the costs alive while the algorithm refers to them.
Task<Outcome> alltoall(Device& device, Team& team, CollectiveBuffers buffers) {
  const host::LocalCosts costs = costs_of(device);
  co_return co_await host::alltoall_pairwise(team, costs, buffers);
}

// Tokens of a barrier contain the last arrival of a rank, the number of messages in flight (biased, because
// it may be negative), and the kind of release.
constexpr std::int64_t kBias = std::int64_t{1} << 40;
constexpr std::uint64_t kIdleRelease = 1;

/// Every rank notifies its parent once its subtree has arrived, and the root releases all ranks.
Task<Outcome> barrier_by_tree(Hardware hardware, Team& team, const Position& position) {
  Outcome outcome = Outcome::kOk;
  std::vector<Team::Pending> receives;
  for (const int child : position.children) receives.push_back(team.receive(child, {}));
  for (Team::Pending& receive : receives) note(outcome, co_await receive);
  if (position.parent >= 0) note(outcome, co_await team.send(position.parent, {}));
  note(outcome, co_await bcast(hardware, team, 0, 0));
  co_return outcome;
}

/// Collects the hardware counters' contents for idle detection in tokens, which need no modelled time: the
/// last arrival of a rank, and the messages in flight. The root answers with the time of the release, or that
/// idle detection would never succeed.
Task<Outcome> detect_idle_state(Device& device, Team& team, const Position& position, std::int64_t in_flight,
                                Stamp& answer) {
  Outcome outcome = Outcome::kOk;
  Time latest = team.clock;
  for (const int child : position.children) {
    const Team::Arrival arrival = co_await team.receive_token(child, {});
    note(outcome, arrival.outcome);
    latest = later(latest, arrival.stamp.first);
    // Sums over the subtree. A message between two of its ranks cancels out.
    in_flight += static_cast<std::int64_t>(arrival.stamp.detail & ~Stamp::kFailed) - kBias;
  }
  if (position.parent >= 0) {
    const Stamp stamp{latest, latest, static_cast<std::uint64_t>(in_flight + kBias)};
    note(outcome, (co_await team.send_token(position.parent, {}, stamp)).outcome);
    const Team::Arrival arrival = co_await team.receive_token(position.parent, {});
    note(outcome, arrival.outcome);
    answer = arrival.stamp;
  } else {
    const Time release = latest + device.idle_detection().barrier;
    answer = {release, release, in_flight == 0 ? kIdleRelease : 0};
    if (in_flight == 0) {
      device.count(device.idle_detection().wire);
      device.span(team.world_rank(team.rank()), "tinsel.network", "idle detection", latest, release,
                  team.operation);
    }
  }
  std::vector<Team::PendingToken> tokens;
  for (const int child : position.children) tokens.push_back(team.send_token(child, {}, answer));
  for (Team::PendingToken& token : tokens) note(outcome, (co_await token).outcome);
  co_return outcome;
}

Task<Outcome> barrier(Hardware hardware, Team& team, std::int64_t in_flight) {
  Device& device = hardware.device;
  const Configuration& configuration = device.configuration();
  if (team.size() == 1) co_return Outcome::kOk;
  Communicator& communicator = device.communicator(team);
  const Position& position = device.position(communicator, team.rank(), 0, true);
  // The hardware counts all threads, so all must take part.
  const bool whole_world = team.size() == configuration.ranks;
  Outcome outcome = Outcome::kOk;
  if (configuration.detects_idle(team.size()) && whole_world && !device.has_faults()) {
    Stamp answer;
    note(outcome, co_await detect_idle_state(device, team, position, in_flight, answer));
    if ((answer.detail & kIdleRelease) != 0) {
      team.clock = later(team.clock, answer.last);
      co_return outcome;
    }
  }
  note(outcome, co_await barrier_by_tree(hardware, team, position));
  co_return outcome;
}

}  // namespace

Fold fold_of(Device& device, const Operation& operation, const TeamMembers& team) {
  const Position& position = position_of(device, operation, team);
  Fold fold;
  fold.parent = position.parent;
  for (const int child : position.children) fold.add_child(child);
  return fold;
}

Task<Outcome> run_collective(Hardware hardware, const Operation& operation, Team& team,
                             CollectiveBuffers buffers, std::int64_t in_flight) {
  Device& device = hardware.device;
  switch (operation.kind) {
    case OperationKind::kBcast:
      return bcast(hardware, team, buffers.receive.size(), operation.root);
    case OperationKind::kReduce:
      return reduce(device, operation, team, buffers, operation.root);
    case OperationKind::kGather:
      return gather(device, team, buffers, operation.root);
    case OperationKind::kScatter:
      return scatter(device, team, buffers.block, operation.root, is_in_place(buffers, operation.root));
    case OperationKind::kAllreduce:
      return allreduce(hardware, operation, team, buffers);
    case OperationKind::kAllgather:
      return allgather(hardware, team, buffers);
    case OperationKind::kReduceScatter:
      return reduce_scatter(device, operation, team, buffers);
    case OperationKind::kAlltoall:
      return alltoall(device, team, buffers);
    case OperationKind::kBarrier:
      return barrier(hardware, team, in_flight);
    case OperationKind::kSend:
    case OperationKind::kScan:
    case OperationKind::kExscan:
    case OperationKind::kGatherv:
    case OperationKind::kScatterv:
    case OperationKind::kAllgatherv:
    case OperationKind::kReduceScatterv:
    case OperationKind::kAlltoallv:
    case OperationKind::kCount:
      break;  // declined by supports()
  }
  return declined_collective();
}

}  // namespace offramp::tinsel
