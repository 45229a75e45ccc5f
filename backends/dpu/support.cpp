#include "backends/dpu/support.hpp"

namespace offramp::dpu {
namespace {

// Limits of the published service (read in code).
constexpr int kMostProcesses = 256;
constexpr int kMostPeers = 10000;

// No service is known for prefix reductions.
constexpr OperationSet kCarried = kRegularOperations | kVectorCollectives;

std::string_view objection_to_reduction(const Operation& operation) {
  if (operation.function == ReduceFunction::kUser)
    return "a reduction of the program is host code, which an Arm core cannot run";
  if (!operation.commutative) return "the service processes combine in the order of arrival";
  if (operation.element == ElementType::kFloatExtended)
    return "long double has 80 bits on the host and 128 on Arm";
  if (operation.element == ElementType::kMixed)
    return "the service processes reduce elements of predefined types only";
  return {};
}

}  // namespace

Verdict supports(const PlatformSpec& spec, int ranks, const Operation& operation) {
  const Verdict verdict = Verdict::accept(operation, kCarried);
  if (!verdict.yes()) return verdict;
  const Placement placement = placement_of(spec);
  if (placement.nodes(ranks) * placement.per_node() > kMostProcesses)
    return Verdict::decline("the service knows 256 service processes");
  if (ranks > kMostPeers) return Verdict::decline("the service knows 10000 peers");
  if (!reduces(operation.kind)) return verdict;
  return verdict.unless(objection_to_reduction(operation));
}

}  // namespace offramp::dpu
