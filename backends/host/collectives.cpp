// The choice of an algorithm: by the settings, else by Open MPI's rules (decisions.cpp), MPICH's
// (mpich.cpp) or by trial (fastest.cpp), and in each case on to Algorithm::instead until one can run. Each
// chain of those ends at an algorithm without needs. Nonblocking collectives by Open MPI's rules are
// libnbc's (libnbc.cpp).
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
// In the order of Selection.
constexpr std::string_view kSelections[] = {kByOpenMpi, "mpich", kByBest};

/// Null: as Open MPI's rules have it.
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
  const std::vector<std::string_view> selections(std::begin(kSelections), std::end(kSelections));
  std::vector<Parameter> all{
      choice("collectives", kByOpenMpi, selections,
             "[openmpi]: fixed decisions of coll/tuned, and coll/basic; [mpich]",
             "who chooses the algorithms of collectives; best: the fastest of each, as "
             "the model has it")};
  for (const CollectiveKind& kind : collective_kinds()) {
    if (kind.algorithms.size() == 1) continue;
    std::vector<std::string_view> names{kAuto};
    names.insert(names.end(), selections.begin(), selections.end());
    for (const Algorithm& algorithm : kind.algorithms) names.push_back(algorithm.name);
    all.push_back(choice(to_string(kind.kind), kAuto, std::move(names), "design: one for all",
                         "algorithm, or who chooses it; auto: as `collectives` says"));
  }
  return all;
}

std::string selection_text(const Settings& settings) {
  constexpr std::string_view kTexts[] = {"chooses algorithms as Open MPI does",
                                         "chooses algorithms as MPICH does", "takes the fastest algorithms"};
  const auto place =
      std::find(std::begin(kSelections), std::end(kSelections), settings.choice("collectives"));
  std::string others;
  for (const CollectiveKind& kind : collective_kinds()) {
    if (kind.algorithms.size() == 1) continue;
    const std::string& name = settings.choice(std::string(to_string(kind.kind)));
    if (name != kAuto)
      others += fmt::format("{}{} = {}", others.empty() ? "" : ", ", to_string(kind.kind), name);
  }
  return fmt::format("and {}{}", kTexts[place - std::begin(kSelections)],
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
    const auto selection = std::find(std::begin(kSelections), std::end(kSelections), name);
    if (selection == std::end(kSelections)) {
      wanted.named = &algorithm_named(kind.kind, name);
    } else {
      wanted.selection = static_cast<Selection>(selection - std::begin(kSelections));
    }
    if (wanted.selection == Selection::kBest && fastest_ == nullptr)
      fastest_ = std::make_unique<Fastest>(settings, costs, machine);
  }
}

Collectives::~Collectives() = default;

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
  const Wanted& from = wanted(operation.kind);
  const Algorithm* algorithm = from.selection == Selection::kMpich
                                   ? &algorithm_of_mpich(operation, bytes, elements, nodes)
                                   : from.named;
  for (;;) {
    if (algorithm == nullptr) algorithm = algorithm_of_rules(kind, operation, bytes);
    if (can_run(*algorithm, operation, elements, nodes)) return *algorithm;
    algorithm = find_algorithm(kind, algorithm->instead);
  }
}

Task<Outcome> Collectives::run(Call&& call) const {
  call.operation.ranks = call.size();
  const Wanted& from = wanted(call.operation.kind);
  if (from.selection == Selection::kBest) {
    const Collectives& fastest = fastest_->of(call);
    return fastest.run({call.team, fastest, call.operation, call.buffers});
  }
  const std::size_t elements =
      reduces(call.operation.kind) ? call.buffers.send.size() / call.element() : call.operation.bytes;
  const bool by_rules = from.named == nullptr && from.selection == Selection::kOpenMpi;
  if (call.operation.nonblocking && by_rules) return run_of_libnbc(call);
  call.operation.nonblocking = false;  // of what the algorithm consists of
  const bool by_nodes = from.named != nullptr ? from.named->nodes != Nodes::kAny : !by_rules;
  const Nodes nodes = by_nodes ? NodeMap(call.team, machine_).kind() : Nodes::kAny;
  return choose(call.operation, size_for_rules(call.operation, call.buffers), elements, nodes).run(call);
}

}  // namespace offramp::host
