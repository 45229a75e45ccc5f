#include "backends/aie/forecast.hpp"

#include <algorithm>
#include <string>

#include "backends/aie/aie.hpp"
#include "backends/aie/algorithms.hpp"
#include "backends/aie/messages.hpp"
#include "simulators/model/world.hpp"

namespace offramp::aie {
namespace {

/// The engine's part: what the array takes between the host's two commands.
Time engine_of_message(const Setup& setup, const Operation& operation) {
  const int destination = (operation.root + 1) % operation.ranks;
  const Message message = Messages(setup).simulate(operation.root, destination, operation.bytes);
  return later(message.last, message.complete);
}

/// Of the reduction's root, or of all kernels from the first one's begin to the last one's end.
Time engine_of(const Probe& probe, const Operation& operation) {
  if (operation.kind == OperationKind::kReduce) {
    const KernelTimes& root = probe.times[static_cast<std::size_t>(operation.root)];
    return root.end - root.begin;
  }
  KernelTimes all;
  for (const KernelTimes& one : probe.times) {
    all.begin = earlier(all.begin, one.begin);
    all.end = later(all.end, one.end);
  }
  return all.end - all.begin;
}

Task<void> one_rank(RankHandle& rank, const Operation& operation) {
  if (operation.kind != OperationKind::kSend) {
    (void)co_await rank.collective(operation);
    co_return;
  }
  const int destination = (operation.root + 1) % operation.ranks;
  if (rank.rank() == operation.root)
    (void)co_await rank.send(destination, operation.bytes, operation.tag, operation.element);
  if (rank.rank() == destination) (void)co_await rank.receive(operation.root, operation.bytes, operation.tag);
}

}  // namespace

Forecast forecast(const Operation& operation, const BackendContext& context) {
  const Setup setup(context.settings);
  const bool message = operation.kind == OperationKind::kSend;
  Forecast result;
  if (message) {
    const int ranks = std::max(operation.root, (operation.root + 1) % operation.ranks) + 1;
    if (ranks > setup.array.tiles()) result.declined = too_few_tiles(setup, ranks);
  } else {
    Planner planner(setup);
    result.declined = std::string(collective_decline(planner, operation));
  }
  if (!result.declined.empty()) return result;

  BackendDescription description = aie_backend();
  description.create = probed;
  Probe probe;
  probe.times.resize(static_cast<std::size_t>(operation.ranks));
  WorldOptions options;
  options.ranks = operation.ranks;
  options.faults = context.faults;
  options.spans = &probe;
  World world(options, {description, context.settings});
  result.declined = world.run([&](RankHandle& rank) { return one_rank(rank, operation); });
  result.time = world.end();
  result.engine = message ? engine_of_message(setup, operation) : engine_of(probe, operation);
  result.wire = world.wire();
  return result;
}

std::string too_few_tiles(const Setup& setup, int ranks) {
  return std::to_string(ranks) + " ranks, and the array has " + std::to_string(setup.array.tiles()) +
         " tiles";
}

std::string_view collective_decline(Planner& planner, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kAlltoall:
    case OperationKind::kReduceScatter:
      return "the original document has no such collective, and there are no kernels for it";
    case OperationKind::kReduce:
    case OperationKind::kAllreduce:
      if (element_bytes_of(operation.element) == 0)
        return "the kernels compute with integers of 8, 16 and 32 bits and floats of 32 bits";
      if (operations_of(operation.function) == 0)
        return "the kernels know sum, product, maximum, minimum, logical and bit functions";
      if (!operation.commutative)
        return "the tree combines in the order of its root's subtrees, not in that of the ranks";
      if (operation.element == ElementType::kFloat32 &&
          (is_logical(operation.function) || is_bitwise(operation.function)))
        return "the kernels have no logical or bit functions of floats";
      break;
    default:
      break;
  }
  return need_of(planner, operation).limit;
}

}  // namespace offramp::aie
