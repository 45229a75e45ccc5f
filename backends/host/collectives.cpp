#include "backends/host/collectives.hpp"

#include <algorithm>
#include <cassert>

#include "backends/host/levels.hpp"
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

/// Null: kAuto.
const Algorithm* find_algorithm(const CollectiveKind& kind, std::string_view name) {
  return name == kAuto ? nullptr : &algorithm_named(kind.kind, name);
}

const Algorithm* algorithm_of_rules(const CollectiveKind& kind, const Operation& operation,
                                    std::size_t bytes) {
  const bool in_order = !operation.commutative && !kind.ordered_rules.empty();
  std::string_view name;
  for (const Rule& rule : in_order ? kind.ordered_rules : kind.rules) {
    name = rule.algorithm;
    if (operation.ranks < rule.ranks && bytes < rule.bytes) break;
  }
  return find_algorithm(kind, name);
}

bool can_run(const Algorithm& algorithm, const Operation& operation, std::size_t elements, Nodes nodes) {
  const auto at_least = [&](int parts) { return elements >= static_cast<std::size_t>(parts); };
  const int power = Positions(operation.ranks).count();
  const bool ranks = algorithm.ranks == Ranks::kAny ||
                     (algorithm.ranks == Ranks::kEven && operation.ranks % 2 == 0) ||
                     (algorithm.ranks == Ranks::kPowerOfTwo && operation.ranks == power);
  const bool long_enough = algorithm.elements == Elements::kAny ||
                           (algorithm.elements == Elements::kOnePerRank && at_least(operation.ranks)) ||
                           (algorithm.elements == Elements::kOnePerPowerOfTwo && at_least(power));
  return ranks && long_enough && nodes >= algorithm.nodes &&
         (operation.commutative || !algorithm.commutative);
}

}  // namespace

// --- one rank's part ---

const LocalCosts& Call::costs() const {
  return collectives.costs();
}
std::size_t Call::segment() const {
  return collectives.segment();
}
std::size_t Call::element() const {
  const std::size_t bytes = operation.bytes > 0 ? operation.bytes : buffers.send.size();
  return std::max<std::size_t>(operation.elements > 0 ? bytes / operation.elements : bytes, 1);
}
Bytes send_block(const CollectiveBuffers& buffers, int rank) {
  const auto index = static_cast<std::size_t>(rank);
  return buffers.send_blocks.empty() ? buffers.send.subspan(buffers.block * index, buffers.block)
                                     : buffers.send_blocks[index];
}
MutableBytes receive_block(const CollectiveBuffers& buffers, int rank) {
  const auto index = static_cast<std::size_t>(rank);
  return buffers.receive_blocks.empty() ? buffers.receive.subspan(buffers.block * index, buffers.block)
                                        : buffers.receive_blocks[index];
}

// --- choices ---

const CollectiveKind& collective_kind(OperationKind kind) {
  const std::span<const CollectiveKind> kinds = collective_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const CollectiveKind& one) { return one.kind == kind; });
  assert(found != kinds.end());
  return *found;
}

const Algorithm& algorithm_named(OperationKind kind, std::string_view name) {
  const std::span<const Algorithm> all = collective_kind(kind).algorithms;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Algorithm& one) { return one.name == name; });
  assert(found != all.end());
  return *found;
}

std::size_t size_for_rules(const Operation& operation, const CollectiveBuffers& buffers) {
  if (operation.kind == OperationKind::kReduceScatterv) return buffers.send.size();
  if (operation.kind != OperationKind::kAllgatherv) return operation.bytes;
  std::size_t sum = 0;
  for (const MutableBytes block : buffers.receive_blocks) sum += block.size();
  return sum / std::max<std::size_t>(buffers.receive_blocks.size(), 1);
}

std::vector<Parameter> algorithm_parameters() {
  std::vector<Parameter> all;
  for (const CollectiveKind& kind : collective_kinds()) {
    if (kind.algorithms.size() == 1) continue;
    std::vector<std::string_view> names{kAuto};
    for (const Algorithm& algorithm : kind.algorithms) names.push_back(algorithm.name);
    all.push_back(choice(to_string(kind.kind), kAuto, std::move(names),
                         kind.kind == OperationKind::kScan || kind.kind == OperationKind::kExscan
                             ? "Open MPI 4.1: coll/basic"
                             : "Open MPI 4.1: fixed decisions of coll/tuned",
                         "algorithm; auto: by the number of ranks and bytes"));
  }
  return all;
}

Collectives::Collectives(const Settings& settings, const LocalCosts& costs, const MachineLayout& machine)
    : costs_(costs),
      segment_(static_cast<std::size_t>(settings.integer("segment"))),
      han_segment_(static_cast<std::size_t>(settings.integer("han_segment"))),
      machine_(machine) {
  for (const CollectiveKind& kind : collective_kinds()) {
    if (kind.algorithms.size() == 1) continue;
    named_[static_cast<std::size_t>(kind.kind)] =
        find_algorithm(kind, settings.choice(std::string(to_string(kind.kind))));
  }
}

const Algorithm& Collectives::choose(const Operation& operation, std::size_t bytes, std::size_t elements,
                                     Nodes nodes) const {
  Choice& last = chosen_[static_cast<std::size_t>(operation.kind)];
  if (last.algorithm == nullptr || last.bytes != bytes || last.elements != elements ||
      last.ranks != operation.ranks || last.commutative != operation.commutative || last.nodes != nodes)
    last = {bytes,           elements,
            operation.ranks, operation.commutative,
            nodes,           &find(operation, bytes, elements, nodes)};
  return *last.algorithm;
}

const Algorithm& Collectives::find(const Operation& operation, std::size_t bytes, std::size_t elements,
                                   Nodes nodes) const {
  const CollectiveKind& kind = collective_kind(operation.kind);
  const Algorithm* algorithm = named(operation.kind);
  for (;;) {
    if (algorithm == nullptr) algorithm = algorithm_of_rules(kind, operation, bytes);
    if (can_run(*algorithm, operation, elements, nodes)) return *algorithm;
    algorithm = find_algorithm(kind, algorithm->instead);
  }
}

Task<Outcome> Collectives::run(Call call) const {
  call.operation.ranks = call.size();
  const std::size_t elements =
      reduces(call.operation.kind) ? call.buffers.send.size() / call.element() : call.operation.bytes;
  const Algorithm* const wanted = named(call.operation.kind);
  if (call.operation.nonblocking && wanted == nullptr) return run_of_libnbc(call);
  call.operation.nonblocking = false;  // of what the algorithm consists of
  const bool by_nodes = wanted != nullptr && wanted->nodes != Nodes::kAny;
  const Nodes nodes = by_nodes ? NodeMap(call.team, machine_).kind() : Nodes::kAny;
  return choose(call.operation, size_for_rules(call.operation, call.buffers), elements, nodes).run(call);
}

}  // namespace offramp::host
