// Collectives run by the service processes, from the arrivals of all ranks to their notifications of
// completion. Read in [ucc-offload]: allgatherv in UCC over the service (allgatherv_offload*.h), read in
// [ucc-dpu]: broadcast and sliding-window allreduce (contrib/dpu_daemon). The others are made by the same
// steps, inferred.
//
//   rank      ARRIVE -> its service process: import handles
//   source    RTS -> the service process of each rank (or slice owner) that needs its bytes
//   sink      RTS and own ARRIVE met: READ, at most `reads` at once; done: ACK -> source
//   owner     of a slice of a reduction: combine on Arm; all in: WRITE the result where it belongs, RESULT
//   rank      its READs are done and its own bytes ACKed: DONE -> host
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "offramp/model/backend.hpp"
#include "simulators/dpu/machine.hpp"

namespace offramp::dpu {

struct CollectiveRequest {
  OperationKind kind = OperationKind::kBarrier;
  std::int64_t bytes = 0;  // as Operation::bytes
  // Where blocks differ, one per rank; of alltoallv one per pair, by source, then by destination.
  std::vector<std::int64_t> sizes;
  int root = 0;
  std::vector<Member> members;  // by rank of the communicator
  std::uint64_t sequence = 0;   // with the fault script's seed it fixes what is lost
  bool populates = false;       // the first one of its communicator, whose endpoint cache is empty

  /// One rank's block; in an alltoall, what one rank has for another.
  [[nodiscard]] std::int64_t block(int rank) const {
    return sizes.empty() ? bytes : sizes[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::int64_t block(int from, int to) const {
    return sizes.empty()
               ? bytes
               : sizes[static_cast<std::size_t>(from) * members.size() + static_cast<std::size_t>(to)];
  }

  friend bool operator==(const CollectiveRequest&, const CollectiveRequest&) = default;
};

struct MemberResult {
  Time done;        // the host sees its notification
  Time host_begin;  // work that the host itself has to do, from when on
  Time host_work;
  Time process_free;  // its service process has nothing left of this operation
};

struct CollectiveResult {
  std::vector<MemberResult> members;
  WireCounters wire;
  bool failed = false;  // the transport gave up on a notification
  int rerouted = 0;     // members whose hosts did the work of a failed service process
};

/// Each collective has numbers of its own for the fault script.
inline std::uint64_t first_packet(const CollectiveRequest& request) {
  return (request.sequence + 1) << 32;
}

/// All by itself.
CollectiveResult run_collective(const PlatformSpec& spec, const CollectiveRequest& request);

/// Whether each rank posts the sizes of its own blocks, which the others learn by RTS: a plan need not know
/// them before. Other operations' sizes are known to all ranks.
bool sources_tell_sizes(OperationKind kind);

/// A collective on its way.
class Offload {
 public:
  /// Is told when a rank is done. It must not end the offload.
  class Observer {
   public:
    virtual void done(int rank) = 0;

   protected:
    ~Observer() = default;
  };

  virtual ~Offload() = default;
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;

  /// Where sources tell sizes, and the request has none: before a rank is submitted, the sizes of the blocks
  /// that it has for the others, and how many it gets.
  virtual void tell(int /*rank*/, std::span<const std::int64_t> /*sizes*/, int /*receives*/) {}
  /// The host of a rank hands over its notification.
  void submit(int rank, Time posted);
  /// What was scheduled for a moment. Kinds from kOthers on are not a collective's.
  void step(const Machine::Event& event, Time at) {
    if (!machine_.take(event, at)) handle(event, at);
  }
  static constexpr int kOthers = 16;

  [[nodiscard]] Machine& machine() { return machine_; }
  /// 0: not yet.
  [[nodiscard]] Time done(int rank) const { return done_[static_cast<std::size_t>(rank)]; }

 protected:
  static constexpr int kArrive = 0;  // the first kind of event
  virtual void handle(const Machine::Event& event, Time at) = 0;

  Offload(const PlatformSpec& spec, const CollectiveRequest& request, const std::vector<bool>& host_run,
          Agenda* agenda, Observer* observer)
      : spec_(spec),
        request_(request),
        machine_(spec, request.members, host_run, first_packet(request), agenda),
        done_(request.members.size()),
        observer_(observer) {}
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

/// In a world, whose agenda it follows. All references outlive it.
std::unique_ptr<Offload> make_offload(const PlatformSpec& spec, const CollectiveRequest& request,
                                      Agenda& agenda, Offload::Observer& observer);
/// What is left to the host of a rank: blocks that the ranks of a node deliver among themselves.
Time host_delivery(const PlatformSpec& spec, const CollectiveRequest& request, const Machine& machine,
                   int rank);

/// What the host does before the program goes on: it hands over the notification, then copies its own block
/// where that is its task.
struct HostCost {
  Time post;
  Time copy;
};
/// own: bytes of the rank's own block. at_root: of the operations that have one.
HostCost host_cost(const PlatformSpec& spec, OperationKind kind, std::int64_t own, int ranks, bool at_root);
/// Bytes of the arrival notification behind its header.
std::int64_t arrival_payload(OperationKind kind, int ranks, bool at_root);

}  // namespace offramp::dpu
