// The environment of a collective: host costs, arrival payloads, and stand-alone runs (run_to_end()),
// optionally after populating an endpoint cache. The work itself is a Barrier or a Run of a plan
// (plan_run.cpp).
//
// A failure may need two runs. In the first run, hosts replace a service process only if its failure is
// already known (hosts_that_take_over()). If that run meets the failure, the second one uses all hosts of
// that process.
#include "simulators/dpu/collective.hpp"

#include <algorithm>
#include <optional>

#include "simulators/dpu/barrier.hpp"
#include "simulators/dpu/plan_run.hpp"
#include "simulators/dpu/population.hpp"

namespace offramp::dpu {
namespace {

/// Determines the members whose hosts replace the failed service process, and delays them until they detect
/// the failure. Detection takes `detect` without a response; a failure already known adds no delay.
std::vector<bool> hosts_that_take_over(const PlatformSpec& spec, bool known_only,
                                       CollectiveRequest& request) {
  const FailureSpec& failure = spec.failure;
  std::vector<bool> host_run(request.members.size());
  if (failure.kind == Failure::kNone) return host_run;
  // A pause shorter than the detection goes unnoticed: the process continues by itself.
  if (failure.kind == Failure::kStalls && failure.stall <= failure.detect) return host_run;
  const Placement placement = placement_of(spec);
  const Time known = failure.at + failure.detect;
  for (std::size_t i = 0; i < request.members.size(); ++i) {
    Member& member = request.members[i];
    if (placement.global_id(member.world_rank) != failure.process) continue;
    // Posted before the failure is known: the process may still respond.
    if (member.posted < known && known_only) continue;
    host_run[i] = true;
    if (member.posted < known) member.posted = later(member.posted, failure.at) + failure.detect;
  }
  return host_run;
}

bool gathers_everywhere(OperationKind kind) {
  return kind == OperationKind::kAllgather || kind == OperationKind::kAllgatherv;
}

/// Time in which a host delivers the blocks of all ranks to the node's local ranks.
Time delivery(const CardSpec& card, const CollectiveRequest& request, int local) {
  Time all;
  for (int from = 0; from < static_cast<int>(request.members.size()); ++from) {
    const std::int64_t bytes = request.block(from);
    const std::int64_t together = bytes * local;
    // All ranks know the sizes of vector collectives, so they skip empty blocks.
    if (bytes == 0 && !request.sizes.empty()) continue;
    all += bytes < card.single_copy_from ? card.shared_block + card.shared_copy.bytes(together)
                                         : later(card.single_block, card.single_copy.bytes(together));
  }
  return all;
}

bool any(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

CollectiveResult results_of(const PlatformSpec& spec, const CollectiveRequest& request, Offload& work,
                            const std::vector<bool>& host_run) {
  const Machine& machine = work.machine();
  CollectiveResult result;
  result.wire = machine.wire();
  result.failed = machine.has_failed();
  const int ranks = static_cast<int>(request.members.size());
  for (int i = 0; i < ranks; ++i) {
    MemberResult member{.done = work.done(i),
                        .host_begin = request.members[static_cast<std::size_t>(i)].posted,
                        .host_work = host_delivery(spec, request, machine, i),
                        .process_free = machine.process_free(machine.process_of(i))};
    if (host_run[static_cast<std::size_t>(i)]) {
      ++result.rerouted;
      ++result.wire.rerouted;
      // The host did the work of the failed process itself.
      member.host_work += machine.process_busy(machine.process_of(i));
      member.process_free = {};
    }
    result.members.push_back(member);
  }
  return result;
}

std::unique_ptr<Offload> offload_of(const PlatformSpec& spec, const CollectiveRequest& request,
                                    const std::vector<bool>& host_run, EventSink* event_sink,
                                    Offload::Observer* observer) {
  if (request.kind == OperationKind::kBarrier)
    return std::make_unique<Barrier>(spec, request, host_run, event_sink, observer);
  return run_plan(spec, request, host_run, event_sink, observer);
}

/// Posts the hosts' arrivals once the endpoint cache is populated.
class Waiting final : public Population::Observer {
 public:
  Waiting(Offload& work, const CollectiveRequest& request) : work_(work), request_(request) {}
  void populated(int member, Time at) override {
    work_.submit(member, later(request_.members[static_cast<std::size_t>(member)].posted, at));
  }

 private:
  Offload& work_;
  const CollectiveRequest& request_;
};

/// Runs a collective from the first arrival to the end.
std::unique_ptr<Offload> run_to_end(const PlatformSpec& spec, const CollectiveRequest& request,
                                    const std::vector<bool>& host_run) {
  std::unique_ptr<Offload> work = offload_of(spec, request, host_run, nullptr, nullptr);
  Waiting waiting(*work, request);
  std::optional<Population> population;
  // A platform with a failure is simulated with populated caches.
  if (request.populates && spec.failure.kind == Failure::kNone)
    population.emplace(spec, request.members, work->machine(), waiting);
  for (int i = 0; i < static_cast<int>(request.members.size()); ++i) {
    const Time posted = request.members[static_cast<std::size_t>(i)].posted;
    population ? population->add(i, posted) : work->submit(i, posted);
  }
  while (!work->machine().idle()) {
    const auto [at, order, event] = work->machine().next();
    if (!population || !population->handle(event, at)) work->step(event, at);
  }
  return work;
}

/// Returns whether a rank posts counts and displacements: each rank its own (read in [ucc-offload]); for
/// gather and scatter only the root (inferred).
bool has_vectors(OperationKind kind, bool at_root) {
  switch (kind) {
    case OperationKind::kAllgather:
    case OperationKind::kAllgatherv:
    case OperationKind::kAlltoall:
    case OperationKind::kAlltoallv:
    case OperationKind::kReduceScatterv:
      return true;
    case OperationKind::kGatherv:
    case OperationKind::kScatterv:
      return at_root;
    case OperationKind::kSend:
    case OperationKind::kBcast:
    case OperationKind::kReduce:
    case OperationKind::kGather:
    case OperationKind::kAllreduce:
    case OperationKind::kScatter:
    case OperationKind::kReduceScatter:
    case OperationKind::kBarrier:
    case OperationKind::kScan:
    case OperationKind::kExscan:
    case OperationKind::kCount:
      break;
  }
  return false;
}

}  // namespace

bool sources_advertise_sizes(OperationKind kind) {
  return kind == OperationKind::kGatherv || kind == OperationKind::kScatterv ||
         kind == OperationKind::kAlltoallv;
}

std::int64_t arrival_payload(OperationKind kind, int ranks, bool at_root) {
  if (kind == OperationKind::kBarrier) return 32;
  constexpr std::int64_t kHandles = 256;  // exported memory handles (assumed)
  return 80 + kHandles + (has_vectors(kind, at_root) ? 16 * static_cast<std::int64_t>(ranks) : 0);
}

HostCost host_cost(const PlatformSpec& spec, OperationKind kind, std::int64_t own, int ranks, bool at_root) {
  const CardSpec& card = spec.card;
  // Small blocks go through shared buffers, as in a delivery.
  const Bandwidth together = own < card.single_copy_from ? card.shared_own_copy : card.own_copy;
  HostCost cost{.post = card.post, .copy = {}};
  if (has_vectors(kind, at_root)) cost.post += card.post_per_rank * ranks;
  if (gathers_everywhere(kind) && spec.host_delivers)
    // Each rank copies with its own core, and all ranks of the node share the memory.
    cost.copy = later(card.core_copy.bytes(own), together.bytes(own * spec.ranks_per_node));
  return cost;
}

void Offload::submit(int rank, Time posted) {
  const int ranks = static_cast<int>(request_.members.size());
  const std::int64_t payload = arrival_payload(request_.kind, ranks, rank == request_.root);
  machine_.notify_process(rank, payload, posted, {kArrive, rank});
}

std::unique_ptr<Offload> make_offload(const PlatformSpec& spec, const CollectiveRequest& request,
                                      EventSink& event_sink, Offload::Observer& observer) {
  return offload_of(spec, request, std::vector<bool>(request.members.size()), &event_sink, &observer);
}

Time host_delivery(const PlatformSpec& spec, const CollectiveRequest& request, const Machine& machine,
                   int rank) {
  if (!gathers_everywhere(request.kind) || !spec.host_delivers) return {};
  int local = 0;
  for (int i = 0; i < static_cast<int>(request.members.size()); ++i)
    local += machine.on_same_host(i, rank) ? 1 : 0;
  return local > 1 ? delivery(spec.card, request, local) : Time();
}

/// Repeats the run with hosts in place of a service process if that process turns out to have failed.
CollectiveResult run_collective(const PlatformSpec& spec, const CollectiveRequest& request) {
  CollectiveRequest first = request;
  std::vector<bool> host_run = hosts_that_take_over(spec, true, first);
  const std::unique_ptr<Offload> work = run_to_end(spec, first, host_run);
  if (!work->machine().failure_met()) return results_of(spec, first, *work, host_run);
  CollectiveRequest second = request;
  host_run = hosts_that_take_over(spec, false, second);
  const std::unique_ptr<Offload> again = run_to_end(spec, second, host_run);
  CollectiveResult result = results_of(spec, second, *again, host_run);
  // The notification to the failed process counts as lost.
  result.wire.lost += static_cast<std::uint64_t>(any(host_run));
  return result;
}

}  // namespace offramp::dpu
