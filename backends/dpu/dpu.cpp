// Verdicts of the service, and the time at which a rank's endpoint cache is populated. The rest of the class
// is in messages.cpp and collectives.cpp.
#include "backends/dpu/dpu.hpp"

#include "backends/dpu/backend.hpp"
#include "offramp/kernel/immortal.hpp"

namespace offramp {
namespace dpu {
namespace {

// Limits of the published service (read in [dpu-service-src]).
constexpr int kMostProcesses = 256;
constexpr int kMostPeers = 10000;

// No known service offers prefix reductions.
constexpr OperationSet kCarried = kRegularOperations | kVectorCollectives;

std::string_view objection_to_reduction(const Operation& operation) {
  if (operation.function == ReduceFunction::kUser)
    return "a user-defined reduction is host code, which an Arm core cannot run";
  if (!operation.commutative) return "the service processes combine in the order of arrival";
  if (operation.element == ElementType::kFloatExtended)
    return "long double has 80 bits on the host and 128 on Arm";
  if (operation.element == ElementType::kMixed)
    return "the service processes reduce elements of predefined types only";
  return {};
}

}  // namespace

DpuBackend::DpuBackend(const BackendContext& context)
    : driver_(driver_of(context.settings, context.faults, context.ranks, context.machine, context.host)),
      node_(driver_.platform),
      path_(driver_.platform, node_, driver_.emit),
      shared_(driver_.platform),
      ranks_(context.ranks),
      spans_(context.spans) {}

Verdict DpuBackend::supports(const Operation& operation) const {
  const Verdict verdict = Verdict::accept(operation, kCarried);
  if (!verdict.yes()) return verdict;
  const Placement placement = placement_of(driver_.platform);
  if (placement.nodes(ranks_) * placement.per_node() > kMostProcesses)
    return Verdict::decline("the service supports at most 256 service processes");
  if (ranks_ > kMostPeers) return Verdict::decline("the service supports at most 10000 peers");
  if (operation.on_one_node && !driver_.carries_within_node)
    return Verdict::decline("messages within a node use its memory (within_node)");
  if (!reduces(operation.kind)) return verdict;
  return verdict.unless(objection_to_reduction(operation));
}

/// All ranks begin with the set-up at time 0; later operations need not wait.
DpuBackend::Ready DpuBackend::ready(int world_rank) {
  if (driver_.platform.setup != Setup::kAll) return {};
  // All ranks start at once, so one simulation is enough.
  if (!start_) start_ = start_service(driver_.platform);
  const auto rank = static_cast<std::size_t>(world_rank);
  return {start_->connected[rank], start_->populated[rank]};
}

void DpuBackend::record_setup(const Ready& ready, Time issued, std::uint64_t operation, int rank) {
  span("bootstrap", "connect to the service process", issued, ready.connected, operation, rank);
  span("endpoint cache", "populate, all ranks", later(issued, ready.connected), ready.populated, operation,
       rank);
}

// Messages and collectives count separately.
WireCounters DpuBackend::wire() const {
  WireCounters wire = wire_;
  wire += shared_.wire();
  return wire;
}

void DpuBackend::span(std::string_view unit, std::string_view what, Time begin, Time end,
                      std::uint64_t operation, int rank) {
  if (spans_ != nullptr && begin < end) spans_->record({unit, what, begin, end, operation, rank});
}

}  // namespace dpu

const BackendDescription& dpu_backend() {
  static constexpr std::string_view kInProduction[] = {"service_processes", "reads"};
  static const auto& description = immortal(BackendDescription{
      .name = "dpu",
      .description =
          "Edge-INC: service processes on BlueField-class DPUs, which make progress while the host computes",
      .parameters = dpu::parameters(),
      .create = make_backend<dpu::DpuBackend>,
      .topics = dpu::topics(),
      .validation = dpu::validation,
      .without_effect = dpu::without_effect,
      .deployment = dpu::deployment,
      .in_production = kInProduction});
  return description;
}

}  // namespace offramp
