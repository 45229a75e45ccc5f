// begin() and end() of the same exchange: the first rank receives one token from every other one, and as
// many more as that rank has sizes to tell; told_by() is the one place that says how many, at both ends.
// Requests that differ only in the time at which they begin have the same result and are kept (simulate()),
// unless wires have faults or a service process fails.
#include "backends/dpu/timing.hpp"

#include <algorithm>

namespace offramp::dpu {
namespace {

// Stamp::detail of an answer: the host's work in picoseconds, and whether the transport gave up.
constexpr std::uint64_t kGaveUp = std::uint64_t{1} << 62;
constexpr std::uint64_t kWorkMask = (std::uint64_t{1} << 61) - 1;
constexpr std::size_t kRememberedSizes = 1 << 16;
// Sizes ride in stamps, whose three numbers hold 61 bits at least.
constexpr std::size_t kSizesPerToken = 3;

std::uint64_t mix(std::uint64_t hash, std::int64_t value) {
  hash ^= static_cast<std::uint64_t>(value) + 0x9e3779b97f4a7c15U + (hash << 6) + (hash >> 2);
  return hash;
}

Stamp answer(const MemberResult& member, bool failed) {
  const auto work = std::min(static_cast<std::uint64_t>(member.host_work.count()), kWorkMask);
  return {member.done, member.process_free, work | (failed ? kGaveUp : 0)};
}

Completion read_answer(const Stamp& stamp) {
  Completion completion;
  completion.outcome = stamp.failed() || (stamp.detail & kGaveUp) != 0 ? Outcome::kFault : Outcome::kOk;
  completion.done = stamp.first;
  completion.process_free = stamp.last;
  completion.host_work = Time::ps(static_cast<std::int64_t>(stamp.detail & kWorkMask));
  return completion;
}

std::size_t tokens_for(std::size_t sizes) {
  return (sizes + kSizesPerToken - 1) / kSizesPerToken;
}

Stamp pack(std::span<const std::int64_t> sizes) {
  const auto at = [&](std::size_t i) { return i < sizes.size() ? sizes[i] : 0; };
  return {Time::ps(at(0)), Time::ps(at(1)), static_cast<std::uint64_t>(at(2))};
}

void unpack(const Stamp& stamp, std::size_t count, std::vector<std::int64_t>& sizes) {
  const std::int64_t held[] = {stamp.first.count(), stamp.last.count(),
                               static_cast<std::int64_t>(stamp.detail & kWorkMask)};
  sizes.insert(sizes.end(), held, held + std::min(count, kSizesPerToken));
}

}  // namespace

std::size_t told_by(const Operation& operation, int rank) {
  switch (operation.kind) {
    case OperationKind::kAlltoallv:
      return static_cast<std::size_t>(operation.ranks);
    case OperationKind::kGatherv:
      return 1;
    case OperationKind::kScatterv:
      return rank == operation.root ? static_cast<std::size_t>(operation.ranks) : 0;
    case OperationKind::kAllgatherv:
    case OperationKind::kReduceScatterv:
      return rank == 0 ? static_cast<std::size_t>(operation.ranks) : 0;
    case OperationKind::kSend:
    case OperationKind::kBcast:
    case OperationKind::kReduce:
    case OperationKind::kGather:
    case OperationKind::kAllreduce:
    case OperationKind::kScatter:
    case OperationKind::kAllgather:
    case OperationKind::kReduceScatter:
    case OperationKind::kAlltoall:
    case OperationKind::kBarrier:
    case OperationKind::kScan:
    case OperationKind::kExscan:
    case OperationKind::kCount:
      break;
  }
  return 0;
}

std::vector<std::int64_t> told_sizes(const Operation& operation, const Team& team,
                                     const CollectiveBuffers& buffers) {
  std::vector<std::int64_t> sizes;
  const auto tell = [&](const auto& block) { sizes.push_back(static_cast<std::int64_t>(block.size())); };
  if (told_by(operation, team.rank()) == 0) return sizes;
  if (operation.kind == OperationKind::kGatherv) {
    tell(buffers.send);
  } else if (operation.kind == OperationKind::kAllgatherv) {
    for (const MutableBytes block : buffers.receive_blocks) tell(block);
  } else {
    for (const Bytes block : buffers.send_blocks) tell(block);
  }
  return sizes;
}

std::size_t CollectiveTiming::RequestHash::operator()(const CollectiveRequest& request) const {
  std::uint64_t hash =
      mix(static_cast<std::uint64_t>(request.kind) * 2 + (request.populates ? 1 : 0), request.bytes);
  hash = mix(hash, request.root);
  for (const std::int64_t size : request.sizes) hash = mix(hash, size);
  for (const Member& member : request.members) {
    hash = mix(hash, member.world_rank);
    hash = mix(hash, member.posted.count());
    hash = mix(hash, member.process_free.count());
  }
  return hash;
}

void CollectiveTiming::begin(Exchange& exchange, const Operation& operation, Team& team,
                             const CollectiveBuffers& buffers, Time posted, Time process_free,
                             bool fills_a_cache) {
  const std::vector<std::int64_t> own = told_sizes(operation, team, buffers);
  if (team.rank() != 0) {
    exchange.pending.push_back(team.send_token(0, {}, {posted, process_free}));
    for (std::size_t i = 0; i < own.size(); i += kSizesPerToken)
      exchange.pending.push_back(team.send_token(0, {}, pack(std::span(own).subspan(i))));
    return;
  }
  exchange.operation = operation;
  CollectiveRequest& request = exchange.request;
  request.kind = operation.kind;
  request.bytes = static_cast<std::int64_t>(operation.bytes);
  request.root = operation.root;
  request.sizes = own;
  request.sequence = sequence_++;
  request.populates = fills_a_cache && begun_.insert(team.setup_context()).second;
  request.members.reserve(static_cast<std::size_t>(team.size()));
  request.members.push_back({team.world_rank(0), posted, process_free});
  for (int from = 1; from < team.size(); ++from) {
    for (std::size_t i = 0; i < 1 + tokens_for(told_by(operation, from)); ++i)
      exchange.pending.push_back(team.receive_token(from, {}));
    request.members.push_back({team.world_rank(from), {}, {}});
  }
}

Task<Completion> CollectiveTiming::end(Exchange& exchange, Team& team) {
  if (team.rank() == 0) co_return co_await lead(exchange, team);
  Outcome outcome = Outcome::kOk;
  for (Team::PendingToken& token : exchange.pending) {
    const Team::Arrival sent = co_await token;
    if (sent.outcome != Outcome::kOk) outcome = sent.outcome;
  }
  const Team::Arrival told = co_await team.receive_token(0, {});
  Completion completion = read_answer(told.stamp);
  if (outcome != Outcome::kOk) completion.outcome = outcome;
  if (told.outcome != Outcome::kOk) completion.outcome = told.outcome;
  co_return completion;
}

Task<Completion> CollectiveTiming::lead(Exchange& exchange, Team& team) {
  Outcome outcome = Outcome::kOk;
  std::size_t next = 0;
  for (std::size_t i = 1; i < exchange.request.members.size(); ++i) {
    const Team::Arrival arrival = co_await exchange.pending[next];
    ++next;
    Member& member = exchange.request.members[i];
    member.posted = arrival.stamp.first;
    member.process_free = arrival.stamp.last;
    if (arrival.outcome != Outcome::kOk) outcome = arrival.outcome;
    const std::size_t sizes = told_by(exchange.operation, static_cast<int>(i));
    for (std::size_t had = 0; had < sizes; had += kSizesPerToken) {
      const Team::Arrival part = co_await exchange.pending[next];
      ++next;
      if (part.outcome != Outcome::kOk) outcome = part.outcome;
      unpack(part.stamp, sizes - had, exchange.request.sizes);
    }
  }
  const Simulated simulated = simulate(exchange.request);
  wire_ += simulated.result.wire;
  const bool failed = simulated.result.failed;
  const Stamp own = answer(simulated.member(0), failed);
  PooledVector<Team::PendingToken> answers;
  for (int to = 1; to < team.size(); ++to)
    answers.push_back(
        team.send_token(to, {}, answer(simulated.member(static_cast<std::size_t>(to)), failed)));
  for (Team::PendingToken& token : answers) {
    const Team::Arrival arrival = co_await token;
    if (arrival.outcome != Outcome::kOk) outcome = arrival.outcome;
  }
  Completion completion = read_answer(own);
  if (outcome != Outcome::kOk) completion.outcome = outcome;
  co_return completion;
}

MemberResult CollectiveTiming::Simulated::member(std::size_t rank) const {
  MemberResult member = result.members[rank];
  member.done += begin;
  member.host_begin += begin;
  member.process_free += begin;
  return member;
}

CollectiveTiming::Simulated CollectiveTiming::simulate(CollectiveRequest& request) {
  if (spec_.transport.faults.any() || spec_.failure.kind != Failure::kNone) {
    latest_ = run_collective(spec_, request);
    return {latest_, {}};
  }
  Time begin = request.members.front().posted;
  for (const Member& member : request.members) begin = earlier(begin, member.posted);
  for (Member& member : request.members) {
    member.posted -= begin;
    member.process_free = later(member.process_free, begin) - begin;
  }
  request.sequence = 0;
  if (request.sizes.size() > kRememberedSizes) {
    latest_ = run_collective(spec_, request);
    return {latest_, begin};
  }
  if (const CollectiveResult* const known = remembered_.find(request)) return {*known, begin};
  CollectiveResult result = run_collective(spec_, request);
  return {remembered_.store(std::move(request), std::move(result)), begin};
}

}  // namespace offramp::dpu
