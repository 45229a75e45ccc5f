// Verdicts: by kind, by the elements and functions that the generation combines, and by size, which selects
// between low-latency and streaming operations.
#include "backends/sharp/sharp.hpp"

#include "backends/sharp/backend.hpp"
#include "offramp/kernel/immortal.hpp"

namespace offramp {
namespace sharp {
namespace {

// SHARP's largest streaming operation [sharp-docs].
constexpr std::size_t kLongestStream = (std::size_t{1} << 30) - 32;

constexpr OperationSet kReductions{OperationKind::kAllreduce, OperationKind::kReduce, OperationKind::kBcast,
                                   OperationKind::kBarrier};
constexpr OperationSet kOfBlocks{OperationKind::kReduceScatter, OperationKind::kAllgather};

constexpr bool is_minimum_or_maximum(ReduceFunction function) {
  return function == ReduceFunction::kMinimum || function == ReduceFunction::kMaximum;
}

constexpr bool is_of_8_or_16_bits(ElementType element) {
  return element == ElementType::kInt8 || element == ElementType::kUint8 || element == ElementType::kInt16 ||
         element == ElementType::kUint16;
}
constexpr bool is_unsigned(ElementType element) {
  return element == ElementType::kUint8 || element == ElementType::kUint16 ||
         element == ElementType::kUint32 || element == ElementType::kUint64;
}

/// By the enumerations of [sharp-api].
std::string_view objection_of_sharp(const Operation& operation, Generation generation) {
  const bool has_bits = is_integer(operation.element) || operation.element == ElementType::kByte;
  if (is_bitwise(operation.function) || is_logical(operation.function)) {
    if (!has_bits) return "the switches have bitwise functions of integers only";
  } else if (operation.function == ReduceFunction::kSum || is_minimum_or_maximum(operation.function)) {
    if (!is_integer(operation.element) && operation.element != ElementType::kFloat32 &&
        operation.element != ElementType::kFloat64)
      return "the switches add and compare integers, float and double only";
  } else {
    return "the switches have only sums, minima, maxima, logical, and bitwise functions";
  }
  if (generation == Generation::kSwitchIb2 &&
      (is_of_8_or_16_bits(operation.element) || operation.element == ElementType::kByte))
    return "switches of this generation combine elements of 32 and 64 bits only";
  return {};
}

/// By the table of fi_cxi(7) [libfabric].
std::string_view objection_of_slingshot(const Operation& operation, bool reproducible) {
  if (is_bitwise(operation.function))
    return is_unsigned(operation.element) || operation.element == ElementType::kByte
               ? std::string_view()
               : "these switches have bitwise functions of unsigned integers only";
  if (operation.function != ReduceFunction::kSum && !is_minimum_or_maximum(operation.function))
    return "these switches have only sums, minima, maxima, and bitwise functions";
  if (operation.element != ElementType::kInt64 && operation.element != ElementType::kFloat64)
    return "these switches add and compare int64 and double only";
  const bool adds_doubles =
      operation.function == ReduceFunction::kSum && operation.element == ElementType::kFloat64;
  if (reproducible && adds_doubles && operation.bytes > sizeof(double))
    return "reproducible sums of these switches are limited to one double";
  return {};
}

}  // namespace

SharpBackend::SharpBackend(const BackendContext& context)
    : driver_(driver_of(context.settings)),
      node_(node_costs_of(context)),
      machine_(context.machine),
      // The order is that of Index.
      resources_{{{"sharp.link", Scope::kLink, Occupation::kForAWhile, driver_.spec.link.count()},
                  {"sharp.link in", Scope::kLink, Occupation::kForAWhile, driver_.spec.link.count()},
                  {"sharp.memory", Scope::kNode, Occupation::kForAWhile, node_.memory.count()}}},
      fabric_(context.machine.switches),
      offloads_(driver_.spec),
      spans_(context.spans) {}

Verdict SharpBackend::supports(const Operation& operation) const {
  if (operation.kind == OperationKind::kSend)
    return Verdict::decline("switches carry no messages: the adapter sends them, as the host's does");
  const Verdict verdict = Verdict::accept(operation, kReductions | kOfBlocks);
  if (!verdict.yes()) return verdict;
  if (!fabric_.is_known()) return Verdict::decline("the platform file does not describe switches");
  if (operation.ranks < driver_.least_ranks)
    return Verdict::decline("too few ranks: the host carries them (least_ranks)");
  if (reduces(operation.kind)) {
    if (!operation.commutative) return Verdict::decline("the switches combine in their own order");
    const std::string_view objection = driver_.generation == Generation::kSlingshot
                                           ? objection_of_slingshot(operation, driver_.spec.reproducible)
                                           : objection_of_sharp(operation, driver_.generation);
    if (!objection.empty()) return Verdict::decline(objection);
  }
  return size_verdict(operation);
}

Verdict SharpBackend::size_verdict(const Operation& operation) const {
  const Verdict yes = Verdict::accept(operation, kReductions | kOfBlocks);
  const auto ranks = static_cast<std::size_t>(operation.ranks);
  const bool has_blocks = kOfBlocks.contains(operation.kind);
  // Compared by division, which cannot overflow.
  if (has_blocks && operation.bytes > kLongestStream / ranks)
    return Verdict::decline("a stream is limited to less than 1 GiB");
  const std::size_t bytes = has_blocks ? operation.bytes * ranks : operation.bytes;
  if (driver_.stream_from > 0 && bytes >= driver_.stream_from)
    return yes.unless(bytes > kLongestStream ? "a stream is limited to less than 1 GiB" : std::string_view());
  if (has_blocks) return Verdict::decline("operations with blocks need a stream, and this one is too short");
  if (bytes <= driver_.low_latency_limit) return yes;
  return Verdict::decline(driver_.stream_from > 0
                              ? "too long for a low-latency operation and too short for a stream"
                              : "too long for a low-latency operation (low_latency_limit)");
}

bool SharpBackend::streams(const Operation& operation) const {
  if (kOfBlocks.contains(operation.kind)) return true;
  return driver_.stream_from > 0 && operation.kind != OperationKind::kBarrier &&
         operation.bytes >= driver_.stream_from;
}

}  // namespace sharp

const BackendDescription& sharp_backend() {
  static constexpr std::string_view kInProduction[] = {"trees", "transactions", "job_share", "reproducible"};
  static const auto& description = immortal(BackendDescription{
      .name = "sharp",
      .description =
          "Core-INC: switches reduce in aggregation trees over the network, low-latency and streaming",
      .parameters = sharp::parameters(),
      .create = make_backend<sharp::SharpBackend>,
      .topics = sharp::topics(),
      .validation = sharp::validation,
      .without_effect = sharp::without_effect,
      .deployment = sharp::deployment,
      .in_force = sharp::in_force,
      .in_production = kInProduction});
  return description;
}

}  // namespace offramp
