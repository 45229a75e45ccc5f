// Selections that depend on the ranks' nodes, as tables of sizes.
//
// - node-wise: MPICH's descendants (inferred from the structure of MPICH's devices).
// - acoll: Open MPI's component for AMD's processors, as in ompi/mca/coll/acoll of
//   [openmpi]'s branch v6.0.x. It is off unless its priority is raised. Above 64 KiB its broadcast sends from
//   the root to each node in turn.
// - hcoll: inferred, as HCOLL's code is not published. Its successor [ucc] works by levels up to 4 KiB
//   (cl/hier), and beyond that and between the leaders by trees, scatters, and exchanges of radix 4 (tl/ucp
//   of it). Here scatters have radix 2, and so have exchanges if ranks or leaders are no power of
//   two.
//
// What a table leaves open is chosen by MPICH's rules for node-wise, else by Open MPI's. Reductions that do
// not commute are in no table.

#include "backends/host/collectives.hpp"

namespace offramp::host {
namespace {

/// For up to so many bytes, of the message or the block, where the ranks' nodes are such.
struct SizeRule {
  OperationKind kind;
  Nodes nodes;
  std::size_t most;
  std::string_view algorithm;
};
constexpr std::size_t kAnySize = SIZE_MAX;

Decision by_table(std::span<const SizeRule> table, const Operation& operation, std::size_t bytes,
                  Nodes nodes) {
  if (reduces(operation.kind) && !operation.commutative) return {};
  for (const SizeRule& rule : table) {
    if (rule.kind == operation.kind && nodes >= rule.nodes && bytes <= rule.most) return {rule.algorithm};
  }
  return {};
}

}  // namespace

Decision decide_node_wise(const Operation& operation, std::size_t bytes, std::size_t elements, Nodes nodes) {
  using enum OperationKind;
  static constexpr SizeRule kRules[] = {{kBcast, Nodes::kEqual, kAnySize, kByNodes},
                                        {kReduce, Nodes::kEqual, kAnySize, kByNodes},
                                        {kAllreduce, Nodes::kSeveral, kAnySize, kByNodes}};
  const Decision decision = by_table(kRules, operation, bytes, nodes);
  return decision.algorithm.empty() ? decide_as_mpich(operation, bytes, elements, nodes) : decision;
}

Decision decide_as_acoll(const Operation& operation, std::size_t bytes, std::size_t /*elements*/,
                         Nodes nodes) {
  using enum OperationKind;
  static constexpr SizeRule kRules[] = {{kAllreduce, Nodes::kSeveral, 16 * kKi, kByNodes},
                                        {kAllreduce, Nodes::kAny, 16 * kKi, "recursive_doubling"},
                                        {kAllreduce, Nodes::kAny, kAnySize, "rabenseifner"},
                                        {kBcast, Nodes::kAny, 64 * kKi, "knomial"},
                                        {kBcast, Nodes::kEqual, kAnySize, kByNodes},
                                        {kBcast, Nodes::kAny, kAnySize, "basic_linear"}};
  return by_table(kRules, operation, bytes, nodes);
}

Decision decide_as_hcoll(const Operation& operation, std::size_t bytes, std::size_t /*elements*/,
                         Nodes nodes) {
  using enum OperationKind;
  static constexpr SizeRule kRules[] = {
      {kBcast, Nodes::kEqual, 4 * kKi, kByNodes},           {kBcast, Nodes::kAny, 32 * kKi, "knomial"},
      {kBcast, Nodes::kAny, kAnySize, "scatter_allgather"}, {kReduce, Nodes::kEqual, 4 * kKi, kByNodes},
      {kReduce, Nodes::kAny, 32 * kKi, "binomial"},         {kReduce, Nodes::kAny, kAnySize, "rabenseifner"},
      {kAllreduce, Nodes::kSeveral, 4 * kKi, kByNodes},     {kAllreduce, Nodes::kAny, 4 * kKi, "knomial"},
      {kAllreduce, Nodes::kAny, kAnySize, "rabenseifner"},  {kAlltoall, Nodes::kAny, 128, "modified_bruck"},
      {kAlltoall, Nodes::kAny, kAnySize, "pairwise"},       {kBarrier, Nodes::kSeveral, kAnySize, "han"}};
  return by_table(kRules, operation, bytes, nodes);
}

}  // namespace offramp::host
