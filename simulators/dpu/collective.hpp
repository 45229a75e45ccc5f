// Collectives run by the service processes, from the arrivals of all ranks to their notifications of
// completion (fact sheet 5.2, 5.3: allgatherv, broadcast and sliding-window allreduce as published; the
// others are made by the same steps, inferred).
//
//   rank      ARRIVE -> its service process: import handles
//   source    RTS -> the service process of each rank (or slice owner) that needs its bytes
//   sink      RTS and own ARRIVE met: READ, at most `reads` at once; done: ACK -> source
//   owner     of a slice of a reduction: combine on Arm; all in: WRITE the result where it belongs, RESULT
//   rank      its READs are done and its own bytes ACKed: DONE -> host
#pragma once

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

CollectiveResult run_collective(const PlatformSpec& spec, const CollectiveRequest& request);

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
