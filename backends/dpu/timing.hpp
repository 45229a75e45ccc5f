// The modelled time of a collective in a live run. Service processes are shared by ranks, and serve them in
// the order of their arrival: that takes all arrivals at one place. So the first rank of the communicator
// collects them, runs the platform once, and tells each rank its part. The stamps say when; the tokens that
// bring them cost nothing.
//
// Where blocks differ in size, no rank need know more than its own counts, which it posts to its service
// process. So each also tells the first rank what it knows, in stamps as well: in a world tokens have no
// data.
#pragma once

#include <set>
#include <vector>

#include "backends/dpu/world_collectives.hpp"
#include "offramp/model/backend.hpp"
#include "simulators/dpu/collective.hpp"
#include "simulators/model/direct_mapped_cache.hpp"

namespace offramp::dpu {

/// The sizes that a rank tells: of the blocks that it sends, or, where all ranks know them, those that the
/// first rank knows. In rank order, they are CollectiveRequest::sizes.
std::vector<std::int64_t> told_sizes(const Operation& operation, const Team& team,
                                     const CollectiveBuffers& buffers);
/// How many a rank tells, which all know alike.
std::size_t told_by(const Operation& operation, int rank);

class CollectiveTiming {
 public:
  explicit CollectiveTiming(const PlatformSpec& spec) : spec_(spec) {}

  /// posted: when this rank's host has handed over its notification. Between begin() and end() ranks may
  /// exchange other tokens, each pair in one order: towards the first rank the arrival comes before them,
  /// from it the answer after them.
  struct Exchange {
    PooledVector<Team::PendingToken> pending;
    Operation operation;
    CollectiveRequest request;  // at the first rank
  };
  /// fills_a_cache: if it is the first one of its communicator.
  void begin(Exchange& exchange, const Operation& operation, Team& team, const CollectiveBuffers& buffers,
             Time posted, Time process_free, bool fills_a_cache);
  Task<Completion> end(Exchange& exchange, Team& team);

  /// The communicator is gone.
  void forget(std::uint64_t context) { begun_.erase(context); }

  [[nodiscard]] const WireCounters& wire() const { return wire_; }

 private:
  struct RequestHash {
    std::size_t operator()(const CollectiveRequest& request) const;
  };

  /// A result whose times count from `begin` on; valid until the next one.
  struct Simulated {
    const CollectiveResult& result;
    Time begin;
    [[nodiscard]] MemberResult member(std::size_t rank) const;
  };

  Task<Completion> lead(Exchange& exchange, Team& team);
  /// Without faults, an operation takes the same time whenever it happens: looked up if it happened lately.
  Simulated simulate(CollectiveRequest& request);

  const PlatformSpec& spec_;
  DirectMappedCache<CollectiveRequest, CollectiveResult, 61, RequestHash> remembered_;
  CollectiveResult latest_;        // that is not remembered
  std::set<std::uint64_t> begun_;  // communicators that this rank leads, by context
  WireCounters wire_;
  std::uint64_t sequence_ = 0;  // of collectives that this rank led
};

}  // namespace offramp::dpu
