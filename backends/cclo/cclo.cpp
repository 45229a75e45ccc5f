// Verdicts of the engine, by generation, types and functions, size of the byte count register, and space for
// communicators in its exchange memory. The rest of the class is in messages.cpp and collectives.cpp.
#include "backends/cclo/cclo.hpp"

#include <fmt/core.h>

#include <bit>
#include <memory>
#include <string>

#include "backends/cclo/backend.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/world/deployment.hpp"

namespace offramp {
namespace cclo {
namespace {

constexpr std::uint64_t kMostBytes = 0xffffffff;  // limit of the register byte_count

}  // namespace

CcloBackend::CcloBackend(const BackendContext& context)
    : configuration_(configuration_of(context.settings)),
      spec_(configuration_.spec),
      ranks_(context.ranks),
      machine_(context.machine),
      first_(&engine(context.rank)),
      plans_(spec_, configuration_.layout),
      faults_(context.faults),
      spans_(context.spans),
      tap_(context.packets == nullptr ? nullptr : std::make_unique<PacketTap>(*context.packets, spec_)),
      world_fits_(fits(context.ranks)) {}

Verdict CcloBackend::supports(const Operation& operation) const {
  const Verdict verdict = Verdict::accept(operation, kRegularOperations);
  if (!driver().problem().empty())
    // More memory only helps if the buffers are the problem.
    return verdict.unless(driver().problem(), driver().buffers_fit() ? nullptr : &larger_memory(ranks_));
  if (operation.bytes > kMostBytes) return verdict.unless("byte_count has 32 bits: 4294967295 at most");
  // Messages make do with a communicator of two ranks.
  if (operation.kind == OperationKind::kSend) return verdict;
  if (!fits(operation.ranks))
    return verdict.unless(too_large(operation.ranks), &larger_memory(operation.ranks));
  return verdict.unless(objection_to_call(operation));
}

bool CcloBackend::fits(int ranks) const {
  return driver().words(static_cast<std::uint64_t>(ranks)) <= driver().free_words();
}

std::string_view CcloBackend::too_large(int ranks) const {
  // Verdicts refer to the text, so it is stored.
  std::string& text = reasons_[ranks];
  if (text.empty())
    text = fmt::format("a communicator of {} ranks needs {} words, {} free", ranks,
                       driver().words(static_cast<std::uint64_t>(ranks)), driver().free_words());
  return text;
}

const Remedy& CcloBackend::larger_memory(int ranks) const {
  Remedy& remedy = remedies_[ranks];
  if (remedy.note.empty()) {
    // Memories have sizes of powers of two.
    const std::uint64_t bytes = std::bit_ceil(4096 + 4 * (5 * static_cast<std::uint64_t>(ranks) + 64));
    remedy = {"exchange_memory", static_cast<double>(bytes),
              fmt::format("with an exchange memory of {} bytes", bytes)};
  }
  return remedy;
}

std::string_view CcloBackend::objection_to_call(const Operation& operation) const {
  const bool first = spec_.generation == Generation::kFirst;
  if (operation.kind == OperationKind::kAlltoall || operation.kind == OperationKind::kBarrier) {
    if (first) return "the first generation has no ALLTOALL and no BARRIER call";
    // Rendezvous writes into the peer's memory.
    return spec_.transport == Transport::kRdma ? ""
                                               : "ALLTOALL and BARRIER need rendezvous, which only RDMA has";
  }
  if (!reduces(operation.kind) ||
      find_lane(spec_.generation, operation.element, operation.function) != nullptr)
    return {};
  return first ? "the arithmetic unit has SUM of fp32, fp64, int32 and int64 only"
               : "the arithmetic unit has SUM and MAX of fp32, fp64, int32 and int64 only";
}

std::string_view CcloBackend::failure(std::uint8_t reason) const {
  // Losses without a code of their own show as timeouts.
  const bool known = reason != 0 && reason < static_cast<std::uint8_t>(Error::kNumber);
  return to_string(known ? static_cast<Error>(reason) : Error::kReceiveTimeout);
}

namespace {

// For all ranks, with the engines that share a card.
Deployment deployment(const Settings& settings, const MachineLayout& machine, int ranks) {
  const Bandwidth link = configuration_of(settings).spec.link;
  // The shell connects one port to the network.
  Deployment deployment = deployment_on_nodes(machine, ranks, "FPGA", link, 1);
  if (machine.ranks_per_card() > 1)
    deployment.text += fmt::format(", {} engines on each", machine.ranks_per_card());
  deployment.text += call_interface_text(settings);
  return deployment;
}

}  // namespace

}  // namespace cclo

const BackendDescription& cclo_backend() {
  static constexpr std::string_view kInProduction[] = {"rx_buffers", "exchange_memory"};
  static const auto& description = immortal(BackendDescription{
      .name = "cclo",
      .description = "Edge-INC: ACCL's collectives offload engine on an FPGA, 100 Gb/s TCP, UDP or RDMA",
      .parameters = cclo::parameters(),
      .create = make_backend<cclo::CcloBackend>,
      .clock_parameter = "clock",
      .topics = cclo::topics(),
      .validation = cclo::validation,
      .without_effect = cclo::without_effect,
      .deployment = cclo::deployment,
      .in_production = kInProduction});
  return description;
}

}  // namespace offramp
