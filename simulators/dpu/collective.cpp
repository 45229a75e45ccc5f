// The work of a collective on the service processes is the run of a plan (PlanRun) or a Barrier. Behind
// PlanRun follows what surrounds the work: host costs, arrival payloads, and stand-alone runs (run_to_end()),
// optionally after populating an endpoint cache.
//
// A failure may need two runs. In the first run, hosts replace a service process only if its failure is
// already known (hosts_that_take_over()). If that run meets the failure, the second one uses all hosts of
// that process.
#include "simulators/dpu/collective.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "simulators/dpu/barrier.hpp"
#include "simulators/dpu/plan.hpp"
#include "simulators/dpu/population.hpp"

namespace offramp::dpu {
namespace {

constexpr std::int64_t kResultPayload = 16;

/// A plan in progress on the service processes: RTS, READ, ACK, and results of reductions. Runs any
/// collective except a barrier.
/// - A rank is done when its READs (or results) are complete and its own bytes are acknowledged.
/// - RTS and arrival come in any order: an early RTS is parked with its destination rank.
/// - A service process has `reads` READs in progress; further ones wait in the order in which they became
///   ready.
/// - With once_per_node, the first pull of a block to a node moves the bytes, and the others wait for it
///   (Fetch).
class PlanRun final : public Offload {
 public:
  PlanRun(const PlatformSpec& spec, const CollectiveRequest& request, const std::vector<bool>& host_run,
          EventSink* event_sink, Observer* observer)
      : Offload(spec, request, host_run, event_sink, observer),
        plan_(make_plan(spec, request)),
        ranks_(request.members.size()),
        sinks_(static_cast<std::size_t>(machine_.processes())),
        slices_(plan_.slices.size()) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].receives = plan_.ranks[i].receives;
      ranks_[i].acks = static_cast<int>(plan_.ranks[i].outgoing.size());
      ranks_[i].data = plan_.ranks[i].has_data;
    }
    for (std::size_t i = 0; i < slices_.size(); ++i) slices_[i].missing = plan_.slices[i].contributions;
  }

  void set_sizes(int rank, std::span<const std::int64_t> sizes, int receives) override {
    add_source(request_, rank, sizes, plan_);
    ranks_[index(rank)].acks = static_cast<int>(plan_.ranks[index(rank)].outgoing.size());
    ranks_[index(rank)].receives = receives;
  }

 private:
  enum PlanEventKind {
    kOffer = kArrive + 1,
    kRts,
    kReadRequest,
    kReadDone,
    kWrite,
    kWritten,
    kAck,
    kResult,
    kResultLanded,
    kResultNotified
  };

  struct Rank {
    int receives = 0;  // outstanding READs or results
    int acks = 0;      // outstanding, for its own bytes
    bool arrived = false;
    bool data = false;  // has the data that it forwards
    bool done = false;
    std::vector<int> parked;  // RTS received before its own arrival
    std::size_t offered = 0;  // number of its own RTS sent
  };
  struct Sink {
    int reading = 0;
    std::vector<int> waiting;  // READs beyond the limit, from `next` on
    std::size_t next = 0;
  };
  struct Slice {
    int missing = 0;
    bool begun = false;
  };
  struct Fetch {
    explicit Fetch(int first) : pull(first) {}
    int pull;  // the pull that moves the bytes
    bool done = false;
    std::vector<int> waiting;
  };

  void handle(const Machine::Event& event, Time at) override {
    const int subject = event.subject;
    switch (event.kind) {
      case kArrive:
        return arrive(subject, at);
      case kOffer:
        return offer_next(subject, at);
      case kRts:
        return on_rts(subject, at);
      case kReadRequest:
        return read_at_source(subject, at);
      case kReadDone:
        return read_done(subject, at);
      case kWrite:
        return write_staged(subject, at);
      case kWritten:
        return delivered(subject, machine_.step(sink_of(subject), at));
      case kAck:
        return on_ack(subject, at);
      case kResult:
        return send_result(subject, at);
      case kResultLanded:
        return notify_result(subject, at);
      default:
        return on_result(subject, at);
    }
  }

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] PlannedPull planned(int pull) const {
    if (!plan_.all_pairs) return plan_.pulls[index(pull)];
    const auto size = static_cast<int>(ranks_.size());
    const int from = pull / size;
    const int step = pull - from * size;
    const int to = from + 1 + step < size ? from + 1 + step : from + 1 + step - size;
    const bool gathers = request_.kind != OperationKind::kAlltoall;
    return {from, to, gathers ? request_.block(from) : request_.bytes};
  }
  [[nodiscard]] int sink_of(int pull) const { return machine_.process_of(planned(pull).to); }
  [[nodiscard]] bool is_remote(const PlannedPull& pull) const {
    return !machine_.on_same_host(pull.from, pull.to);
  }
  [[nodiscard]] bool lands_in_dpu(int pull) const {
    return planned(pull).slice >= 0 || spec_.path == DataPath::kStaging;
  }

  void arrive(int rank, Time at) {
    Rank& r = ranks_[index(rank)];
    const int process = machine_.process_of(rank);
    Time now = machine_.step(process, at);
    r.arrived = true;
    // A collective without bytes needs no import.
    if (plan_.imports) now = machine_.import(process, now);
    if (r.data) offer(rank, now);
    for (const int pull : std::exchange(r.parked, {})) begin_read(pull, now);
    finish(rank, now);
  }

  /// Sends RTS to all ranks that need this rank's bytes, one after the other without interruption.
  void offer(int rank, Time at) {
    const std::vector<int>& outgoing = plan_.ranks[index(rank)].outgoing;
    if (outgoing.empty()) return;
    const int process = machine_.process_of(rank);
    if (spec_.failure.kind != Failure::kNone) {  // a failure may occur between two of them
      for (const int pull : outgoing) {
        at = machine_.step(process, at);
        machine_.notify(process, sink_of(pull), kRtsPayload, at, {kRts, pull});
      }
      return;
    }
    const auto all = static_cast<int>(outgoing.size());
    // The core's time is reserved at once. The RTS leave step by step.
    const Time end = machine_.work(process, at, spec_.card.step() * all);
    machine_.schedule(end - spec_.card.step() * (all - 1), kOffer, rank);
  }

  /// Sends a few RTS at a time, since all at once would overload the event queue.
  void offer_next(int rank, Time at) {
    constexpr std::size_t kTogether = 16;
    const std::vector<int>& outgoing = plan_.ranks[index(rank)].outgoing;
    std::size_t& offered = ranks_[index(rank)].offered;
    const std::size_t end = std::min(offered + kTogether, outgoing.size());
    for (; offered < end; ++offered, at += spec_.card.step()) {
      const int pull = outgoing[offered];
      machine_.notify(machine_.process_of(rank), sink_of(pull), kRtsPayload, at, {kRts, pull});
    }
    if (offered < outgoing.size()) machine_.schedule(at, kOffer, rank);
  }

  void on_rts(int pull, Time at) {
    const int to = planned(pull).to;
    const Time now = machine_.step(machine_.process_of(to), at);
    if (ranks_[index(to)].arrived) return begin_read(pull, now);
    ranks_[index(to)].parked.push_back(pull);
  }

  void begin_read(int pull, Time at) {
    const int process = sink_of(pull);
    if (plan_.once_per_node) {
      const auto fetch = fetches_.try_emplace(fetch_key(pull), pull);
      if (!fetch.second) {  // another rank of this node has requested the same bytes
        const Time now = machine_.step(process, at);
        if (fetch.first->second.done) return machine_.schedule(now, kReadDone, pull);
        fetch.first->second.waiting.push_back(pull);
        return;
      }
    }
    Sink& sink = sinks_[index(process)];
    // At the limit, it waits until delivered() posts it.
    if (sink.reading == spec_.reads) {
      sink.waiting.push_back(pull);
      return;
    }
    post_read(pull, at);
  }

  void post_read(int pull, Time at) {
    const PlannedPull planned_pull = planned(pull);
    const int process = machine_.process_of(planned_pull.to);
    ++sinks_[index(process)].reading;
    const Time now = machine_.step(process, at);
    machine_.schedule(machine_.read_request(is_remote(planned_pull), now), kReadRequest, pull);
  }

  void read_at_source(int pull, Time at) {
    const PlannedPull planned_pull = planned(pull);
    const bool remote = is_remote(planned_pull);
    // Within a host, the reader's own NIC reads.
    const int from = machine_.dpu_of(remote ? planned_pull.from : planned_pull.to);
    machine_.move({from, machine_.dpu_of(planned_pull.to), remote, false, lands_in_dpu(pull)},
                  planned_pull.bytes, at, {kReadDone, pull});
  }

  /// A READ has completed, or another pull has brought the bytes to this node.
  void read_done(int pull, Time at) {
    const Time now = machine_.step(sink_of(pull), at);
    // Staged data still has to cross to the host. Slices stay in the DPU.
    const bool staged = is_fetch(pull) && lands_in_dpu(pull) && planned(pull).slice < 0;
    if (!staged) return delivered(pull, now);
    machine_.schedule(machine_.step(sink_of(pull), now), kWrite, pull);
  }

  void write_staged(int pull, Time at) {
    machine_.write_to_host(machine_.dpu_of(planned(pull).to), planned(pull).bytes, at, {kWritten, pull});
  }

  void delivered(int pull, Time at) {
    const PlannedPull planned_pull = planned(pull);
    const int process = machine_.process_of(planned_pull.to);
    if (is_fetch(pull)) {
      Sink& sink = sinks_[index(process)];
      --sink.reading;
      if (plan_.once_per_node) {
        Fetch& fetch = fetches_.find(fetch_key(pull))->second;
        fetch.done = true;
        for (const int other : std::exchange(fetch.waiting, {})) machine_.schedule(at, kReadDone, other);
      }
      if (sink.next < sink.waiting.size()) post_read(sink.waiting[sink.next++], at);
    }
    machine_.notify(process, machine_.process_of(planned_pull.from), kAckPayload, at, {kAck, pull});
    if (planned_pull.slice >= 0) return combine(planned_pull.slice, at);
    const int to = planned_pull.to;
    --ranks_[index(to)].receives;
    if (!ranks_[index(to)].data) {  // now it can forward the data
      ranks_[index(to)].data = true;
      offer(to, at);
    }
    finish(to, at);
  }

  void on_ack(int pull, Time at) {
    const int from = planned(pull).from;
    const Time now = machine_.step(machine_.process_of(from), at);
    --ranks_[index(from)].acks;
    finish(from, now);
  }

  void combine(int slice, Time at) {
    Slice& s = slices_[index(slice)];
    const PlannedSlice& planned_slice = plan_.slices[index(slice)];
    const int process = machine_.process_of(planned_slice.owner);
    // The first contribution is only stored. Each further one is combined with it.
    if (std::exchange(s.begun, true))
      at = machine_.work(process, at, spec_.card.combine.bytes(planned_slice.bytes));
    if (--s.missing > 0) return;
    for (int result = planned_slice.first_result; result < planned_slice.last_result; ++result) {
      at = machine_.step(process, at);
      machine_.schedule(at, kResult, result);
    }
  }

  void send_result(int result, Time at) {
    const PlannedSlice& slice = slice_of(result);
    const int from = machine_.dpu_of(slice.owner);
    const int to = plan_.results[index(result)].to;
    if (machine_.on_same_host(slice.owner, to))
      return machine_.write_to_host(from, slice.bytes, at, {kResultLanded, result});
    machine_.move({from, machine_.dpu_of(to), true, true, false}, slice.bytes, at, {kResultLanded, result});
  }

  void notify_result(int result, Time landed) {
    const int owner = machine_.process_of(slice_of(result).owner);
    const int to = machine_.process_of(plan_.results[index(result)].to);
    machine_.notify(owner, to, kResultPayload, landed, {kResultNotified, result});
  }

  void on_result(int result, Time at) {
    const int to = plan_.results[index(result)].to;
    const Time now = machine_.step(machine_.process_of(to), at);
    --ranks_[index(to)].receives;
    finish(to, now);
  }

  void finish(int rank, Time at) {
    Rank& r = ranks_[index(rank)];
    // The last of arrival, data, and acknowledgements ends the rank's part.
    if (!r.arrived || r.receives > 0 || r.acks > 0 || std::exchange(r.done, true)) return;
    finished(rank, machine_.to_host(rank, machine_.step(machine_.process_of(rank), at)));
  }

  [[nodiscard]] const PlannedSlice& slice_of(int result) const {
    return plan_.slices[index(plan_.results[index(result)].slice)];
  }
  [[nodiscard]] std::int64_t fetch_key(int pull) const {
    const PlannedPull planned_pull = planned(pull);
    return static_cast<std::int64_t>(planned_pull.from) * machine_.hosts() +
           machine_.host_of(planned_pull.to);
  }
  /// Returns whether this pull moves the bytes itself.
  [[nodiscard]] bool is_fetch(int pull) const {
    return !plan_.once_per_node || fetches_.find(fetch_key(pull))->second.pull == pull;
  }

  Plan plan_;
  std::vector<Rank> ranks_;
  std::vector<Sink> sinks_;
  std::vector<Slice> slices_;
  std::unordered_map<std::int64_t, Fetch> fetches_;  // with once_per_node, by source and node
};

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
  return std::make_unique<PlanRun>(spec, request, host_run, event_sink, observer);
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
