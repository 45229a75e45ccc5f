// Selects an algorithm: by the settings, the rules of a release of Open MPI (decisions.cpp, openmpi_4_0.cpp),
// MPICH's rules (mpich.cpp), or trials (fastest.cpp). If it cannot run, Algorithm::instead is tried, until an
// algorithm without requirements ends the chain. Under Open MPI's rules libnbc carries nonblocking
// collectives (libnbc.cpp).
#include "backends/host/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "backends/host/fastest.hpp"
#include "backends/host/levels.hpp"
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

constexpr std::string_view kAuto = "auto";

/// From 5.0 on "han" carries all its collectives if ranks share nodes. In branch v6.0.x its priority and the
/// decisions of "tuned" are the same, and "acoll" and "xhc" are off; its new alltoall needs XPMEM.
Decision decide_as_openmpi_5(const Operation& operation, std::size_t, std::size_t, Nodes nodes) {
  using enum OperationKind;
  constexpr OperationKind kOfHan[] = {kBcast, kReduce, kAllreduce, kGather, kScatter, kAllgather, kBarrier};
  const bool has_han = std::find(std::begin(kOfHan), std::end(kOfHan), operation.kind) != std::end(kOfHan);
  return {has_han && nodes != Nodes::kAny ? "han" : ""};
}

constexpr Selection kSelections[] = {
    {kByOpenMpi, "chooses algorithms as Open MPI does"},
    {"openmpi-3.1", "chooses algorithms as Open MPI 3.1 does", decide_as_openmpi_4_0},
    {"openmpi-4.0", "chooses algorithms as Open MPI 4.0 does", decide_as_openmpi_4_0},
    {"openmpi-4.1", "chooses algorithms as Open MPI 4.1 does"},
    {"openmpi-5", "chooses algorithms as Open MPI 5 does", decide_as_openmpi_5, true, true},
    {"openmpi-6", "chooses algorithms as Open MPI 6 does", decide_as_openmpi_5, true, true},
    {"acoll", "chooses algorithms as Open MPI's component acoll does", decide_as_acoll, true, true},
    {"hcoll", "chooses algorithms as HCOLL does", decide_as_hcoll, false, true},
    {"mpich", "chooses algorithms as MPICH does", decide_as_mpich, false, true},
    {"node-wise", "chooses algorithms node by node, as MPICH's descendants do", decide_node_wise, false,
     true},
    {kByBest, "uses the fastest algorithms", nullptr, false, true}};

/// Returns nullptr if the name is unknown.
const Selection* find_selection(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kSelections), std::end(kSelections),
                                         [&](const Selection& one) { return one.name == name; });
  return found == std::end(kSelections) ? nullptr : found;
}

/// Returns nullptr for "by Open MPI's rules".
const Algorithm* find_algorithm(const CollectiveKind& kind, std::string_view name) {
  return name == kByOpenMpi ? nullptr : &algorithm_named(kind.kind, name);
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

/// Bytes of one rank's buffers.
std::size_t footprint_of(const CollectiveBuffers& buffers) {
  std::size_t bytes = buffers.send.size() + buffers.receive.size();
  for (const Bytes block : buffers.send_blocks) bytes += block.size();
  for (const MutableBytes block : buffers.receive_blocks) bytes += block.size();
  return bytes;
}

}  // namespace

// --- one rank's part ---

const LocalCosts& AlgorithmCall::costs() const {
  return collectives.costs();
}
std::size_t AlgorithmCall::segment() const {
  return chosen_segment > 0 ? chosen_segment : collectives.segment();
}
std::size_t AlgorithmCall::element() const {
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

CollectiveSizes sizes_of_equal_blocks(const Operation& operation, std::size_t bytes, int rank) {
  const auto ranks = static_cast<std::size_t>(operation.ranks);
  CollectiveSizes sizes;
  if (operation.kind == OperationKind::kAllgatherv) {
    sizes.send = bytes;
    sizes.receive = bytes * ranks;
    sizes.receive_blocks.assign(ranks, bytes);
  } else if (operation.kind == OperationKind::kReduceScatterv) {
    sizes.send = bytes;
    sizes.receive = bytes / ranks;
    sizes.send_blocks.assign(ranks, sizes.receive);
  } else {
    Operation sized = operation;
    sized.bytes = bytes;
    sizes = sizes_of(sized, rank);
  }
  return sizes;
}

std::vector<Parameter> algorithm_parameters() {
  std::vector<std::string_view> selections;
  for (const Selection& one : kSelections) selections.push_back(one.name);
  std::vector<Parameter> all{
      choice("collectives", kByOpenMpi, selections,
             "[openmpi]: fixed decisions of coll/tuned, and coll/basic; [mpich]; inferred: hcoll, from [ucc]",
             "rules that choose the algorithms of collectives; openmpi: release 4.1; node-wise: one rank per "
             "node acts for its ranks; best: the fastest algorithm in the model")};
  for (const CollectiveKind& kind : collective_kinds()) {
    if (kind.algorithms.size() == 1) continue;
    std::vector<std::string_view> names{kAuto};
    names.insert(names.end(), selections.begin(), selections.end());
    for (const Algorithm& algorithm : kind.algorithms) names.push_back(algorithm.name);
    all.push_back(choice(to_string(kind.kind), kAuto, std::move(names), "design: the same for all",
                         "algorithm, or the rules that choose it; auto: as in `collectives`"));
  }
  return all;
}

std::string selection_text(const Settings& settings) {
  std::string others;
  for (const CollectiveKind& kind : collective_kinds()) {
    if (kind.algorithms.size() == 1) continue;
    const std::string& name = settings.choice(std::string(to_string(kind.kind)));
    if (name != kAuto)
      others += fmt::format("{}{} = {}", others.empty() ? "" : ", ", to_string(kind.kind), name);
  }
  return fmt::format("and {}{}", find_selection(settings.choice("collectives"))->text,
                     others.empty() ? "" : fmt::format(" ({})", others));
}

Collectives::Collectives(const Settings& settings, const LocalCosts& costs, const MachineLayout& machine)
    : costs_(costs),
      segment_(static_cast<std::size_t>(settings.integer("segment"))),
      han_segment_(static_cast<std::size_t>(settings.integer("han_segment"))),
      machine_(machine) {
  for (const CollectiveKind& kind : collective_kinds()) {
    if (kind.algorithms.size() == 1) continue;
    const std::string& own = settings.choice(std::string(to_string(kind.kind)));
    const std::string& name = own == kAuto ? settings.choice("collectives") : own;
    Wanted& wanted = wanted_[static_cast<std::size_t>(kind.kind)];
    wanted.selection = find_selection(name);
    if (wanted.selection == nullptr) wanted.named = &algorithm_named(kind.kind, name);
    if (name == kByBest && fastest_ == nullptr)
      fastest_ = std::make_unique<Fastest>(settings, costs, machine);
  }
}

Collectives::~Collectives() = default;

const Collectives::Choice& Collectives::choose(const Operation& operation, std::size_t bytes,
                                               std::size_t elements, Nodes nodes) const {
  LastChoice& last = chosen_[static_cast<std::size_t>(operation.kind)];
  if (last.choice.algorithm == nullptr || last.bytes != bytes || last.elements != elements ||
      last.ranks != operation.ranks || last.commutative != operation.commutative || last.nodes != nodes)
    last = {bytes,           elements,
            operation.ranks, operation.commutative,
            nodes,           find(operation, bytes, elements, nodes)};
  return last.choice;
}

Collectives::Choice Collectives::find(const Operation& operation, std::size_t bytes, std::size_t elements,
                                      Nodes nodes) const {
  const CollectiveKind& kind = collective_kind(operation.kind);
  const Wanted& from = wanted(operation.kind);
  Choice choice{from.named};
  if (from.selection != nullptr && from.selection->decide != nullptr) {
    const Decision decision = from.selection->decide(operation, bytes, elements, nodes);
    if (!decision.algorithm.empty())
      choice = {&algorithm_named(operation.kind, decision.algorithm), decision.segment};
  }
  for (;;) {
    if (choice.algorithm == nullptr) choice.algorithm = algorithm_of_rules(kind, operation, bytes);
    if (can_run(*choice.algorithm, operation, elements, nodes)) return choice;
    choice.algorithm = find_algorithm(kind, choice.algorithm->instead);
  }
}

Task<Outcome> Collectives::run(AlgorithmCall&& call) const {
  call.operation.ranks = call.size();
  if (call.team.footprint == 0) call.team.footprint = footprint_of(call.buffers);
  const Wanted& from = wanted(call.operation.kind);
  if (from.selection != nullptr && from.selection->name == kByBest) {
    const Collectives& fastest = fastest_->choose(call);
    return fastest.run({call.team, fastest, call.operation, call.buffers});
  }
  const std::size_t elements =
      reduces(call.operation.kind) ? call.buffers.send.size() / call.element() : call.operation.bytes;
  // Kinds with a single algorithm have no setting.
  const bool by_libnbc = from.named == nullptr && (from.selection == nullptr || from.selection->has_libnbc);
  if (call.operation.nonblocking && by_libnbc) return run_of_libnbc(call);
  call.operation.nonblocking = false;  // for the parts of the algorithm
  const bool by_nodes = from.named != nullptr ? from.named->nodes != Nodes::kAny
                                              : from.selection != nullptr && from.selection->by_nodes;
  const Nodes nodes = by_nodes ? NodeMap(call.team, machine_).kind() : Nodes::kAny;
  const Choice& choice =
      choose(call.operation, size_for_rules(call.operation, call.buffers), elements, nodes);
  call.chosen_segment = choice.segment;
  return choice.algorithm->run(call);
}

}  // namespace offramp::host
