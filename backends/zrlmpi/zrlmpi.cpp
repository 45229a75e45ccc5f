// Verdicts, the choice of the collective, and the description of the backend.
#include "backends/zrlmpi/zrlmpi.hpp"

#include <fmt/core.h>

#include <memory>
#include <string>

#include "backends/zrlmpi/backend.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/world/deployment.hpp"

namespace offramp {
namespace zrlmpi {

ZrlmpiBackend::ZrlmpiBackend(const BackendContext& context)
    : spec_(spec_of(context.settings)),
      runner_(spec_),
      header_time_(spec_.iterations(spec_.header_iterations())),
      ranks_(context.ranks),
      inputs_(static_cast<std::size_t>(ranks_)),
      strict_(context.settings.flag("strict")),
      eager_limit_(static_cast<std::uint64_t>(context.settings.integer("eager_limit"))),
      command_(context.settings.nanoseconds("command")),
      bounce_(context.settings.gigabits("bounce_bandwidth")),
      bounce_latency_(spec_.cycles(context.settings.integer("bounce_latency"))),
      faults_(context.faults),
      spans_(context.spans),
      packets_(context.packets),
      seen_(context.spans == nullptr ? nullptr : std::make_unique<SeenSpans>()),
      faulty_(faults_.any() ? std::make_unique<FaultyCalls>() : nullptr) {
  collectives_.order = context.settings.choice("collectives") == "linear" ? Order::kLinear : Order::kTree;
  // The bus width limits streams through the engine, but not the role's work in its own memory.
  collectives_.copy = collectives_.combine = Bandwidth::bits_per_second(spec_.clock.count() * kRoleWordBits);
  collectives_.spans = spans_;
}

Verdict ZrlmpiBackend::supports(const Operation& operation) const {
  return Verdict::accept(operation, kRegularOperations).unless(objection_to(operation));
}

std::string_view ZrlmpiBackend::objection_to(const Operation& operation) const {
  if (ranks_ > kMaximumNodes) return "the shell supports at most 64 nodes";
  if (operation.kind == OperationKind::kReduceScatter || operation.kind == OperationKind::kAlltoall)
    return "the tool chain has no such collective";
  if (operation.bytes > kMaximumMessageBytes) return "a message is at most 2^32 - 1 words of 32 bits";
  if (longest_message(operation) > kMaximumMessageBytes)
    return "a message of several ranks' blocks is at most 2^32 - 1 words of 32 bits";
  return strict_ ? strict_objection_to(operation) : std::string_view();
}

std::uint64_t ZrlmpiBackend::longest_message(const Operation& operation) const {
  const auto ranks = static_cast<std::uint64_t>(operation.ranks);
  if (operation.kind == OperationKind::kGather || operation.kind == OperationKind::kScatter)
    return saturated(operation.bytes, most_blocks(collectives_.order, operation.ranks));
  return operation.kind == OperationKind::kAllgather ? saturated(operation.bytes, ranks) : operation.bytes;
}

std::string_view ZrlmpiBackend::strict_objection_to(const Operation& operation) {
  if (operation.kind == OperationKind::kBarrier) return {};  // the protocol has a call for it
  if (operation.tag != 0) return "the strict header has no tag";
  if (operation.bytes > 0 && operation.element != ElementType::kInt32 &&
      operation.element != ElementType::kFloat32)
    return "the strict header has only INT and FLOAT";
  if (reduces(operation.kind) && operation.function != ReduceFunction::kSum)
    return "the tool chain has only SUM reductions";
  return {};
}

std::uint64_t ZrlmpiBackend::saturated(std::uint64_t bytes, std::uint64_t blocks) {
  return bytes > kMaximumMessageBytes ? bytes : bytes * blocks;
}

Task<Outcome> ZrlmpiBackend::collective(const Operation& operation, Team& team, CollectiveBuffers buffers) {
  return run_collective(collectives_, operation, team, buffers);
}

namespace {

Deployment deployment(const Settings& settings, const MachineLayout&, int ranks) {
  const std::string link = gigabits_text(spec_of(settings).line.bandwidth.count());
  return Deployment{fmt::format("{} network-attached FPGAs of {}, one for each rank", ranks, link)};
}

}  // namespace

}  // namespace zrlmpi

const BackendDescription& zrlmpi_backend() {
  static constexpr std::string_view kInProduction[] = {"strict"};
  static const auto& description = immortal(BackendDescription{
      .name = "zrlmpi",
      .description = "Edge-INC: IBM cloudFPGA's message passing engine, handshake and UDP over 10 Gb/s",
      .parameters = zrlmpi::parameters(),
      .create = make_backend<zrlmpi::ZrlmpiBackend>,
      .clock_parameter = "clock",
      .topics = zrlmpi::topics(),
      .validation = zrlmpi::validation,
      .deployment = zrlmpi::deployment,
      .in_production = kInProduction});
  return description;
}

}  // namespace offramp
