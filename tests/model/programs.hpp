// Random programs for a world. A schedule lists the steps of all ranks; each rank executes its part of every
// step in the same order, so that every program ends.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "simulators/world/world.hpp"

namespace offramp::test {

/// One step of a schedule. Which fields apply depends on the kind.
struct Step {
  enum class Kind : std::uint8_t {
    kMessage,      // from `from` to `to`
    kBatch,        // several nonblocking ones, received in the opposite order
    kGathering,    // `senders` send to `to`, which takes them from any source
    kShift,        // all ranks sendrecv
    kCollective,   // nonblocking or not
    kCancel,       // of a receive that nothing matches
    kCompute,      //
    kSplit,        // by colors and keys
    kDuplicate,    //
    kSynchronize,  //
    kWait,         // for all requests that `to` has started
    kNeighbours,  // a graph: `colors` has the number of messages, `sizes` their bytes, by sender and receiver
    kAccess,      // of `from` to the memory of `to`: `operation` has its kind
    kEpoch,       // `to` exposes its memory, `from` accesses it, and both wait for each other
    kCount
  };
  enum class Send : std::uint8_t {
    kBlocking,
    kSynchronous,
    kNonblocking,
    kNonblockingSynchronous,
    kPersistent
  };
  enum class Receive : std::uint8_t { kBlocking, kProbed, kPolled, kNonblocking, kPersistent };
  enum class Wait : std::uint8_t { kAll, kAny, kEach, kTest };

  Kind kind = Kind::kCompute;
  int communicator = 0;  // its number
  int from = 0;          // ranks of the communicator
  int to = 0;
  int tag = 0;
  bool any_tag = false;
  std::size_t room = 0;
  std::vector<std::size_t> sizes;  // of the messages, or of a collective's blocks
  std::vector<int> senders;
  Send send = Send::kBlocking;
  Receive receive = Receive::kBlocking;
  Wait wait = Wait::kAll;
  Operation operation;
  bool in_place = false;
  Time duration;
  std::vector<int> colors;  // by rank of the communicator
  std::vector<int> keys;
  int made = 0;  // number of the first communicator that the step makes
};

/// One line, for failures.
std::string describe(const Step& step);

/// A program of all ranks. Equal seeds give equal schedules.
struct Schedule {
  int ranks = 2;
  int ranks_per_node = 1;
  std::vector<std::vector<int>> communicators;  // world ranks, in order; the first communicator has all
  std::vector<Step> steps;
};

/// kinds: the collectives to draw from. beside: also collectives of neighbours, and accesses.
Schedule draw_schedule(std::uint64_t seed, const std::vector<OperationKind>& kinds, bool beside = false);

/// The messages that a rank sends in Step::Kind::kNeighbours, or receives.
std::vector<RankHandle::Block> blocks_of(const Step& step, int ranks, int own, bool sent);
/// The tags of the messages without data of Step::Kind::kEpoch.
inline constexpr int kPostTag = 201;
inline constexpr int kCompleteTag = 202;
/// What an access moves to its target, and back.
inline std::size_t access_bytes(const Step& step, std::size_t size, bool back) {
  const Access access = step.operation.access;
  if (access == Access::kAtomic) return 8;
  return (access == Access::kRead) == back || (back && step.any_tag && access == Access::kCombine) ? size : 0;
}

/// The record of one rank in a run.
struct Log {
  struct Entry {
    std::size_t step = 0;
    Received received;
    Time clock;
  };
  std::vector<Entry> entries;
  std::string error;  // the first deviation from the schedule
};

/// Executes a rank's part of the first `steps` steps.
Task<void> play(RankHandle& rank, const Schedule& schedule, std::size_t steps, Log& log);

}  // namespace offramp::test
