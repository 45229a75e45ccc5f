#include "backends/dpu/support.hpp"

namespace offramp::dpu {
namespace {

// Limits of the published service (read in code).
constexpr int kMostProcesses = 256;
constexpr int kMostPeers = 10000;

bool reduces(OperationKind kind) {
  return kind == OperationKind::kReduce || kind == OperationKind::kAllreduce ||
         kind == OperationKind::kReduceScatter || kind == OperationKind::kReduceScatterv;
}

}  // namespace

bool knows(OperationKind kind) {
  return kind != OperationKind::kScan && kind != OperationKind::kExscan;
}

Verdict supports(const PlatformSpec& spec, int ranks, const Operation& operation) {
  const Placement placement = placement_of(spec);
  if (placement.nodes(ranks) * placement.per_node() > kMostProcesses)
    return Verdict::decline("the service knows 256 service processes");
  if (ranks > kMostPeers) return Verdict::decline("the service knows 10000 peers");
  if (!reduces(operation.kind)) return {};
  if (operation.function == ReduceFunction::kUser)
    return Verdict::decline("a reduction of the program is host code, which an Arm core cannot run");
  if (!operation.commutative)
    return Verdict::decline("the service processes combine in the order of arrival");
  if (operation.element == ElementType::kFloatExtended)
    return Verdict::decline("long double has 80 bits on the host and 128 on Arm");
  if (operation.element == ElementType::kMixed)
    return Verdict::decline("the service processes reduce elements of predefined types only");
  return {};
}

}  // namespace offramp::dpu
