#include "simulators/dpu/collective.hpp"

#include <algorithm>
#include <unordered_map>

#include "simulators/dpu/barrier.hpp"
#include "simulators/dpu/plan.hpp"

namespace offramp::dpu {
namespace {

constexpr std::int64_t kResultPayload = 16;

/// The service processes at work on one plan.
class Run final : public Offload {
 public:
  Run(const PlatformSpec& spec, const CollectiveRequest& request, const std::vector<bool>& host_run,
      Agenda* agenda, Observer* observer)
      : Offload(spec, request, host_run, agenda, observer),
        plan_(make_plan(spec, request)),
        ranks_(request.members.size()),
        results_(plan_.results.size()),
        sinks_(static_cast<std::size_t>(machine_.processes())),
        slices_(plan_.slices.size()) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].receives = plan_.ranks[i].receives;
      ranks_[i].acks = static_cast<int>(plan_.ranks[i].outgoing.size());
      ranks_[i].data = plan_.ranks[i].has_data;
    }
    for (std::size_t i = 0; i < slices_.size(); ++i) slices_[i].missing = plan_.slices[i].contributions;
    pulls_.resize(plan_.pulls.size());
  }

  void tell(int rank, std::span<const std::int64_t> sizes, int receives) override {
    add_source(request_, rank, sizes, plan_);
    ranks_[index(rank)].acks = static_cast<int>(plan_.ranks[index(rank)].outgoing.size());
    ranks_[index(rank)].receives = receives;
    pulls_.resize(plan_.pulls.size());
  }

  void handle(const Machine::Event& event, Time at) override {
    const int subject = event.subject;
    switch (event.kind) {
      case kArrive:
        return arrive(subject, at);
      case kRts:
        return take_rts(subject, at);
      case kReadRequest:
        return read_at_source(subject, at);
      case kData:
        return land(subject);
      case kReadDone:
        return read_done(subject, at);
      case kWrite:
        return write_staged(subject, at);
      case kWritten:
        return delivered(subject, machine_.step(sink_of(subject), at));
      case kAck:
        return take_ack(subject, at);
      case kResult:
        return send_result(subject, at);
      case kResultData:
        return land_result(subject);
      case kResultLanded:
        return take_result(subject, at);
      default:
        return know(subject, machine_.step(machine_.process_of(subject), at));
    }
  }

 private:
  enum Kind {
    kRts = kArrive + 1,
    kReadRequest,
    kData,
    kReadDone,
    kWrite,
    kWritten,
    kAck,
    kResult,
    kResultData,
    kResultLanded,
    kFetched
  };

  struct Rank {
    int receives = 0;  // READs or results that it waits for
    int acks = 0;      // of its own bytes
    bool arrived = false;
    bool data = false;  // has what it passes on
    bool done = false;
    std::vector<int> parked;  // RTS that came before its own arrival
  };
  struct Sink {
    int reading = 0;
    std::vector<int> waiting;  // READs that found no free place, from `next` on
    std::size_t next = 0;
  };
  struct Slice {
    int missing = 0;
    bool begun = false;
  };
  struct Fetch {
    explicit Fetch(int first) : pull(first) {}
    int pull;  // that moves the bytes
    bool done = false;
    std::vector<int> waiting;
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] const PlannedPull& planned(int pull) const { return plan_.pulls[index(pull)]; }
  [[nodiscard]] int sink_of(int pull) const { return machine_.process_of(planned(pull).to); }
  [[nodiscard]] bool is_remote(int pull) const {
    return !machine_.on_same_host(planned(pull).from, planned(pull).to);
  }
  [[nodiscard]] bool lands_in_dpu(int pull) const {
    return planned(pull).slice >= 0 || spec_.path == DataPath::kStaging;
  }

  void arrive(int rank, Time at) {
    const int process = machine_.process_of(rank);
    const Time taken = machine_.step(process, at);
    const std::int64_t payload =
        arrival_payload(request_.kind, static_cast<int>(ranks_.size()), rank == request_.root);
    if (machine_.is_fetched(rank, payload))
      return machine_.schedule(machine_.fetch(payload, taken), kFetched, rank);
    know(rank, taken);
  }

  /// The arrival is all there.
  void know(int rank, Time now) {
    Rank& r = ranks_[index(rank)];
    const int process = machine_.process_of(rank);
    r.arrived = true;
    // An idle member of a collective without bytes has nothing to import.
    if (plan_.imports) now = machine_.work(process, now, spec_.card.import);
    if (r.data) offer(rank, now);
    for (const int pull : std::exchange(r.parked, {})) begin_read(pull, now);
    finish(rank, now);
  }

  /// RTS to all who need a rank's bytes.
  void offer(int rank, Time at) {
    for (const int pull : plan_.ranks[index(rank)].outgoing) {
      at = machine_.step(machine_.process_of(rank), at);
      machine_.schedule(machine_.notify(machine_.process_of(rank), sink_of(pull), kRtsPayload, at), kRts,
                        pull);
    }
  }

  void take_rts(int pull, Time at) {
    const Time now = machine_.step(sink_of(pull), at);
    Rank& to = ranks_[index(planned(pull).to)];
    if (to.arrived) return begin_read(pull, now);
    to.parked.push_back(pull);
  }

  void begin_read(int pull, Time at) {
    Sink& sink = sinks_[index(sink_of(pull))];
    if (plan_.once_per_node) {
      const auto fetch = fetches_.try_emplace(fetch_key(pull), pull);
      if (!fetch.second) {  // another rank of this node has asked for the same bytes
        const Time now = machine_.step(sink_of(pull), at);
        if (fetch.first->second.done) return machine_.schedule(now, kReadDone, pull);
        fetch.first->second.waiting.push_back(pull);
        return;
      }
    }
    if (sink.reading == spec_.reads) {
      sink.waiting.push_back(pull);
      return;
    }
    post_read(pull, at);
  }

  void post_read(int pull, Time at) {
    ++sinks_[index(sink_of(pull))].reading;
    const Time now = machine_.step(sink_of(pull), at);
    machine_.schedule(machine_.read_request(is_remote(pull), now), kReadRequest, pull);
  }

  void read_at_source(int pull, Time at) {
    // Within a host the reader's own NIC reads.
    const int dpu = machine_.dpu_of(is_remote(pull) ? planned(pull).from : planned(pull).to);
    pulls_[index(pull)] = machine_.leave(dpu, is_remote(pull), planned(pull).bytes, false, at);
    machine_.schedule(pulls_[index(pull)].first, kData, pull);
  }

  void land(int pull) {
    const Time landed = machine_.land(machine_.dpu_of(planned(pull).to), planned(pull).bytes,
                                      lands_in_dpu(pull), is_remote(pull), pulls_[index(pull)]);
    machine_.schedule(landed, kReadDone, pull);
  }

  /// The completion of a READ, or word that the bytes are on this node.
  void read_done(int pull, Time at) {
    const Time now = machine_.step(sink_of(pull), at);
    const bool staged = is_fetch(pull) && lands_in_dpu(pull) && planned(pull).slice < 0;
    if (!staged) return delivered(pull, now);
    machine_.schedule(machine_.step(sink_of(pull), now), kWrite, pull);
  }

  void write_staged(int pull, Time at) {
    const Time written = machine_.write_to_host(machine_.dpu_of(planned(pull).to), planned(pull).bytes, at);
    machine_.schedule(written, kWritten, pull);
  }

  void delivered(int pull, Time at) {
    if (is_fetch(pull)) {
      Sink& sink = sinks_[index(sink_of(pull))];
      --sink.reading;
      if (plan_.once_per_node) {
        Fetch& fetch = fetches_.find(fetch_key(pull))->second;
        fetch.done = true;
        for (const int other : std::exchange(fetch.waiting, {})) machine_.schedule(at, kReadDone, other);
      }
      if (sink.next < sink.waiting.size()) post_read(sink.waiting[sink.next++], at);
    }
    machine_.schedule(
        machine_.notify(sink_of(pull), machine_.process_of(planned(pull).from), kAckPayload, at), kAck, pull);
    if (planned(pull).slice >= 0) return combine(planned(pull).slice, at);
    const int to = planned(pull).to;
    --ranks_[index(to)].receives;
    if (!ranks_[index(to)].data) {  // now it has what it passes on
      ranks_[index(to)].data = true;
      offer(to, at);
    }
    finish(to, at);
  }

  void take_ack(int pull, Time at) {
    const Time now = machine_.step(machine_.process_of(planned(pull).from), at);
    --ranks_[index(planned(pull).from)].acks;
    finish(planned(pull).from, now);
  }

  void combine(int slice, Time at) {
    Slice& s = slices_[index(slice)];
    const PlannedSlice& planned_slice = plan_.slices[index(slice)];
    const int process = machine_.process_of(planned_slice.owner);
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
    if (machine_.on_same_host(slice.owner, plan_.results[index(result)].to))
      return tell_result(result, machine_.write_to_host(from, slice.bytes, at));
    results_[index(result)] = machine_.leave(from, true, slice.bytes, true, at);
    machine_.schedule(results_[index(result)].first, kResultData, result);
  }

  void land_result(int result) {
    const int to = machine_.dpu_of(plan_.results[index(result)].to);
    tell_result(result, machine_.land(to, slice_of(result).bytes, false, true, results_[index(result)]));
  }

  void tell_result(int result, Time landed) {
    const int owner = machine_.process_of(slice_of(result).owner);
    const int to = machine_.process_of(plan_.results[index(result)].to);
    machine_.schedule(machine_.notify(owner, to, kResultPayload, landed), kResultLanded, result);
  }

  void take_result(int result, Time at) {
    const int to = plan_.results[index(result)].to;
    const Time now = machine_.step(machine_.process_of(to), at);
    --ranks_[index(to)].receives;
    finish(to, now);
  }

  void finish(int rank, Time at) {
    Rank& r = ranks_[index(rank)];
    if (!r.arrived || r.receives > 0 || r.acks > 0 || std::exchange(r.done, true)) return;
    finished(rank, machine_.to_host(rank, machine_.step(machine_.process_of(rank), at)));
  }

  [[nodiscard]] const PlannedSlice& slice_of(int result) const {
    return plan_.slices[index(plan_.results[index(result)].slice)];
  }
  [[nodiscard]] std::int64_t fetch_key(int pull) const {
    return static_cast<std::int64_t>(planned(pull).from) * machine_.hosts() +
           machine_.host_of(planned(pull).to);
  }
  /// Whether this pull is the one that moves the bytes.
  [[nodiscard]] bool is_fetch(int pull) const {
    return !plan_.once_per_node || fetches_.find(fetch_key(pull))->second.pull == pull;
  }

  Plan plan_;
  std::vector<Rank> ranks_;
  std::vector<Machine::Passage> pulls_;
  std::vector<Machine::Passage> results_;
  std::vector<Sink> sinks_;
  std::vector<Slice> slices_;
  std::unordered_map<std::int64_t, Fetch> fetches_;  // once_per_node: by source and node
};

/// The members whose service process is given up, and when their hosts take over. A partner that has heard
/// nothing for the time of detection goes its own way; what is known already costs nothing more.
std::vector<bool> take_over(const PlatformSpec& spec, bool known_only, CollectiveRequest& request) {
  const FailureSpec& failure = spec.failure;
  std::vector<bool> host_run(request.members.size());
  if (failure.kind == Failure::kNone) return host_run;
  if (failure.kind == Failure::kStalls && failure.stall <= failure.detect) return host_run;
  const Placement placement = placement_of(spec);
  const Time known = failure.at + failure.detect;
  for (std::size_t i = 0; i < request.members.size(); ++i) {
    Member& member = request.members[i];
    if (placement.global_id(member.world_rank) != failure.process) continue;
    if (member.posted < known && known_only) continue;
    host_run[i] = true;
    if (member.posted < known) member.posted = later(member.posted, failure.at) + failure.detect;
  }
  return host_run;
}

bool gathers_everywhere(OperationKind kind) {
  return kind == OperationKind::kAllgather || kind == OperationKind::kAllgatherv;
}

/// Blocks that hosts deliver among themselves: everybody's, to each of the node's ranks.
Time delivery(const CardSpec& card, const CollectiveRequest& request, int local) {
  Time all;
  for (int from = 0; from < static_cast<int>(request.members.size()); ++from) {
    const std::int64_t bytes = request.block(from);
    const std::int64_t together = bytes * local;
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
  result.failed = machine.gave_up();
  const int ranks = static_cast<int>(request.members.size());
  for (int i = 0; i < ranks; ++i) {
    MemberResult member{.done = work.done(i),
                        .host_begin = request.members[static_cast<std::size_t>(i)].posted,
                        .host_work = host_delivery(spec, request, machine, i),
                        .process_free = machine.process_free(machine.process_of(i))};
    if (host_run[static_cast<std::size_t>(i)]) {
      ++result.rerouted;
      ++result.wire.rerouted;
      member.host_work += machine.process_busy(machine.process_of(i));
      member.process_free = {};
    }
    result.members.push_back(member);
  }
  return result;
}

std::unique_ptr<Offload> offload_of(const PlatformSpec& spec, const CollectiveRequest& request,
                                    const std::vector<bool>& host_run, Agenda* agenda,
                                    Offload::Observer* observer) {
  if (request.kind == OperationKind::kBarrier)
    return std::make_unique<Barrier>(spec, request, host_run, agenda, observer);
  return std::make_unique<Run>(spec, request, host_run, agenda, observer);
}

/// From the first arrival to the end.
std::unique_ptr<Offload> run_to_end(const PlatformSpec& spec, const CollectiveRequest& request,
                                    const std::vector<bool>& host_run) {
  std::unique_ptr<Offload> work = offload_of(spec, request, host_run, nullptr, nullptr);
  for (std::size_t i = 0; i < request.members.size(); ++i)
    work->submit(static_cast<int>(i), request.members[i].posted);
  while (!work->machine().idle()) {
    const auto [at, order, event] = work->machine().next();
    work->handle(event, at);
  }
  return work;
}

/// Counts and displacements: each rank's own (read in code); of a gather and a scatter the root's (inferred).
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
    default:
      return false;
  }
}

}  // namespace

bool sources_tell_sizes(OperationKind kind) {
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
  HostCost cost{.post = card.post, .copy = {}};
  if (has_vectors(kind, at_root)) cost.post += card.post_per_rank * ranks;
  if (gathers_everywhere(kind) && spec.host_delivers)
    cost.copy = later(card.core_copy.bytes(own), card.own_copy.bytes(own * spec.ranks_per_node));
  return cost;
}

void Offload::submit(int rank, Time posted) {
  const int ranks = static_cast<int>(request_.members.size());
  const std::int64_t payload = arrival_payload(request_.kind, ranks, rank == request_.root);
  machine_.schedule(machine_.from_host(rank, payload, posted), kArrive, rank);
}

std::unique_ptr<Offload> make_offload(const PlatformSpec& spec, const CollectiveRequest& request,
                                      Agenda& agenda, Offload::Observer& observer) {
  return offload_of(spec, request, std::vector<bool>(request.members.size()), &agenda, &observer);
}

Time host_delivery(const PlatformSpec& spec, const CollectiveRequest& request, const Machine& machine,
                   int rank) {
  if (!gathers_everywhere(request.kind) || !spec.host_delivers) return {};
  int local = 0;
  for (int i = 0; i < static_cast<int>(request.members.size()); ++i)
    local += machine.on_same_host(i, rank) ? 1 : 0;
  return local > 1 ? delivery(spec.card, request, local) : Time();
}

/// Once more with the hosts' help when a service process turns out to have failed.
CollectiveResult run_collective(const PlatformSpec& spec, const CollectiveRequest& request) {
  CollectiveRequest first = request;
  std::vector<bool> host_run = take_over(spec, true, first);
  const std::unique_ptr<Offload> work = run_to_end(spec, first, host_run);
  if (!work->machine().failure_met()) return results_of(spec, first, *work, host_run);
  CollectiveRequest second = request;
  host_run = take_over(spec, false, second);
  const std::unique_ptr<Offload> again = run_to_end(spec, second, host_run);
  CollectiveResult result = results_of(spec, second, *again, host_run);
  result.wire.lost += static_cast<std::uint64_t>(any(host_run));
  return result;
}

}  // namespace offramp::dpu
