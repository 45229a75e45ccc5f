// Collective algorithms in software, over the messages of a Team. Every one of them is right for any number
// of ranks, any root, zero bytes, and reductions that do not commute (operands are combined in rank order
// then).
#pragma once

#include "offramp/model/backend.hpp"

namespace offramp::host {

/// What local work costs whoever runs the algorithm, and who wants to know of it.
struct LocalCosts {
  Bandwidth copy;
  Bandwidth combine;
  SpanSink* spans = nullptr;
  std::string_view unit = "host.cpu";  // a literal
};

Task<Outcome> bcast_binomial(Team& team, MutableBytes buffer, int root);
Task<Outcome> reduce_binomial(Team& team, const LocalCosts& costs, CollectiveBuffers buffers, int root,
                              bool commutative);
Task<Outcome> gather_binomial(Team& team, const LocalCosts& costs, CollectiveBuffers buffers, int root);
Task<Outcome> scatter_binomial(Team& team, const LocalCosts& costs, CollectiveBuffers buffers, int root);
Task<Outcome> allgather_ring(Team& team, const LocalCosts& costs, CollectiveBuffers buffers);
Task<Outcome> allreduce_recursive_doubling(Team& team, const LocalCosts& costs, CollectiveBuffers buffers);
Task<Outcome> reduce_scatter_by_reduce(Team& team, const LocalCosts& costs, CollectiveBuffers buffers,
                                       bool commutative);
Task<Outcome> alltoall_pairwise(Team& team, const LocalCosts& costs, CollectiveBuffers buffers);
Task<Outcome> barrier_dissemination(Team& team);
/// Inclusive or exclusive; the first rank's result of an exclusive one stays as it is.
Task<Outcome> scan_recursive_doubling(Team& team, const LocalCosts& costs, CollectiveBuffers buffers,
                                      bool inclusive);
Task<Outcome> gatherv_linear(Team& team, const LocalCosts& costs, CollectiveBuffers buffers, int root);
Task<Outcome> scatterv_linear(Team& team, const LocalCosts& costs, CollectiveBuffers buffers, int root);
Task<Outcome> allgatherv_ring(Team& team, const LocalCosts& costs, CollectiveBuffers buffers);
Task<Outcome> reduce_scatterv_by_reduce(Team& team, const LocalCosts& costs, CollectiveBuffers buffers,
                                        bool commutative);
/// The blocks of one call never overlap.
Task<Outcome> alltoallv_pairwise(Team& team, const LocalCosts& costs, CollectiveBuffers buffers);

}  // namespace offramp::host
