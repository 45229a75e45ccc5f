// Collectives of the service processes, from the arrivals of all ranks to their completion notifications.
// Read in [ucc-offload]: allgatherv in UCC over the service (allgatherv_offload*.h); read in [ucc-dpu]:
// broadcast and sliding-window allreduce (contrib/dpu_daemon). The others use the same steps (inferred).
//
//   rank      ARRIVE -> its service process: import handles
//   source    RTS -> the service process of each rank (or slice owner) that needs its bytes
//   sink      after RTS and its own ARRIVE: READ, at most `reads` at once; then ACK -> source
//   owner     of a slice of a reduction: combines on Arm; once complete: WRITEs the result to its ranks,
//   RESULT rank      after its READs and the ACKs of its own bytes: DONE -> host
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "offramp/model/backend.hpp"
#include "simulators/dpu/machine.hpp"

namespace offramp::dpu {

/// One collective of a communicator.
struct CollectiveRequest {
  OperationKind kind = OperationKind::kBarrier;
  std::int64_t bytes = 0;  // see Operation::bytes
  // Block sizes if they differ: one per rank; for alltoallv one per pair, by source, then by destination.
  std::vector<std::int64_t> sizes;
  int root = 0;
  std::vector<Member> members;  // by communicator rank
  std::uint64_t sequence = 0;   // selects the lost packets, with the fault script's seed
  bool populates = false;       // the first of its communicator, whose endpoint cache is still empty

  /// One rank's block; for an alltoall, the block for one destination.
  [[nodiscard]] std::int64_t block(int rank) const {
    return sizes.empty() ? bytes : sizes[static_cast<std::size_t>(rank)];
  }
  /// The block from one rank to another. If sizes differ, only for alltoallv.
  [[nodiscard]] std::int64_t block(int from, int to) const {
    return sizes.empty()
               ? bytes
               : sizes[static_cast<std::size_t>(from) * members.size() + static_cast<std::size_t>(to)];
  }

  friend bool operator==(const CollectiveRequest&, const CollectiveRequest&) = default;
};

/// The outcome for one member.
struct MemberResult {
  Time done;        // the host sees the notification
  Time host_begin;  // start of the host's own work
  Time host_work;
  Time process_free;  // its service process has completed this operation
};

/// The outcome of a collective that ran alone.
struct CollectiveResult {
  std::vector<MemberResult> members;
  WireCounters wire;
  bool failed = false;  // notifications exceeded the transport's retries
  int rerouted = 0;     // members whose hosts replaced a failed service process
};

/// The first packet number of a collective in the fault script. Each collective has its own range.
inline std::uint64_t first_packet(const CollectiveRequest& request) {
  return (request.sequence + 1) << 32;
}

/// Runs one collective on an otherwise idle platform.
/// Not for worlds: its resources are private, so other operations do not compete.
CollectiveResult run_collective(const PlatformSpec& spec, const CollectiveRequest& request);

/// Returns whether each rank posts only the sizes of its own blocks, which others learn through RTS. A plan
/// can then be made without the sizes. For other operations, every rank knows all sizes.
bool sources_advertise_sizes(OperationKind kind);

/// A collective in progress.
class Offload {
 public:
  /// Notified when a rank is done. It must not destroy the offload.
  class Observer {
   public:
    /// Called once per rank. Offload::done() then returns the time.
    virtual void done(int rank) = 0;

   protected:
    ~Observer() = default;
  };

  virtual ~Offload() = default;
  Offload& operator=(Offload&&) = delete;

  /// For requests without sizes (see sources_advertise_sizes()): the sizes of a rank's blocks for the others,
  /// and how many blocks it receives. Called before submit() of the rank.
  virtual void set_sizes(int /*rank*/, std::span<const std::int64_t> /*sizes*/, int /*receives*/) {}
  /// The host of a rank posts its arrival notification at `posted`.
  /// Call it once per rank, in any order of ranks.
  void submit(int rank, Time posted);
  /// Handles a scheduled event. Kinds from kOthers on do not belong to collectives.
  void step(const Machine::Event& event, Time at) {
    if (!machine_.handle(event, at)) handle(event, at);
  }
  static constexpr int kOthers = 16;

  /// The service processes and hosts of this collective's members.
  [[nodiscard]] Machine& machine() { return machine_; }
  /// 0 if the rank is not done.
  [[nodiscard]] Time done(int rank) const { return done_[static_cast<std::size_t>(rank)]; }

 protected:
  static constexpr int kArrive = 0;  // the first kind of event
  /// Handles the collective's own kinds of events.
  virtual void handle(const Machine::Event& event, Time at) = 0;

  /// References and pointers must outlive the offload. observer: may be null.
  Offload(const PlatformSpec& spec, const CollectiveRequest& request, const std::vector<bool>& host_run,
          EventSink* event_sink, Observer* observer)
      : spec_(spec),
        request_(request),
        machine_(spec, request.members, host_run, first_packet(request), event_sink),
        done_(request.members.size()),
        observer_(observer) {}
  /// The host of a rank sees its completion at `at`.
  void finished(int rank, Time at) {
    done_[static_cast<std::size_t>(rank)] = at;
    if (observer_ != nullptr) observer_->done(rank);
  }

  const PlatformSpec& spec_;
  const CollectiveRequest& request_;
  Machine machine_;

 private:
  std::vector<Time> done_;
  Observer* observer_;
};

/// An offload in a world, scheduled on its agenda. All references must outlive it.
std::unique_ptr<Offload> make_offload(const PlatformSpec& spec, const CollectiveRequest& request,
                                      EventSink& event_sink, Offload::Observer& observer);
/// The host's remaining work for a rank: copying blocks between the ranks of a node.
/// 0 unless hosts deliver the blocks of an allgather.
Time host_delivery(const PlatformSpec& spec, const CollectiveRequest& request, const Machine& machine,
                   int rank);

/// Host time before the program continues: posting, and copying the rank's own block if necessary.
struct HostCost {
  Time post;
  Time copy;
};
/// own: bytes of the rank's own block. at_root: only for operations with a root.
HostCost host_cost(const PlatformSpec& spec, OperationKind kind, std::int64_t own, int ranks, bool at_root);
/// Payload bytes of the arrival notification, without its header.
std::int64_t arrival_payload(OperationKind kind, int ranks, bool at_root);

}  // namespace offramp::dpu
