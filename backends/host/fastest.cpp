// Each rank calls with its own view, so a case contains only what all ranks agree on: kind, operation, size
// in four steps per power of two, and the ranks' locations relative to their first node. The settings of a
// trial name no "best", which prevents trials within trials.
#include "backends/host/fastest.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "backends/host/host.hpp"

namespace offramp::host {
namespace {

/// Rounds to four sizes per power of two. The fastest algorithm of one size is used up to the next.
std::size_t rounded_down(std::size_t bytes) {
  std::size_t step = 1;
  while (bytes / step >= 8) step *= 2;
  return bytes / step * step;
}

}  // namespace

Fastest::Fastest(Settings settings, const LocalCosts& costs, const MachineLayout& machine)
    : settings_(std::move(settings)), costs_(costs), machine_(machine) {
  const std::string openmpi(kByOpenMpi);
  if (settings_.choice("collectives") == kByBest) settings_.set("collectives", {0, openmpi});
  for (const CollectiveKind& kind : collective_kinds()) {
    const std::string name(to_string(kind.kind));
    if (kind.algorithms.size() > 1 && settings_.choice(name) == kByBest) settings_.set(name, {0, openmpi});
  }
}

const Collectives& Fastest::choose(const AlgorithmCall& call) {
  if (call.operation.kind == OperationKind::kAlltoallv) return by(call.operation.kind, kByOpenMpi);
  Case key = case_of(call);
  const auto known = known_.find(key);
  if (known != known_.end()) return *known->second;
  const Collectives& found = fastest(key);
  known_.emplace(std::move(key), &found);
  return found;
}

Fastest::Case Fastest::case_of(const AlgorithmCall& call) const {
  const Operation& operation = call.operation;
  const std::size_t element = reduces(operation.kind) ? call.element() : 1;
  const std::size_t bytes = rounded_down(size_for_rules(operation, call.buffers) / element) * element;
  Case found{operation.kind,
             operation.nonblocking,
             operation.commutative,
             operation.function,
             has_root(operation.kind) ? operation.root : 0,
             bytes,
             element,
             {}};
  for (int rank = 0; rank < call.size(); ++rank) found.ranks.push_back(call.team.world_rank(rank));
  const int first = *std::min_element(found.ranks.begin(), found.ranks.end());
  const int of_node = first / machine_.ranks_per_node * machine_.ranks_per_node;
  for (int& rank : found.ranks) rank -= of_node;
  return found;
}

const Collectives& Fastest::fastest(const Case& of) {
  std::string_view best = kByOpenMpi;  // preferred if no other one is faster by the margin
  const Time usual = time_of(of, settings_by(of.kind, best), Time::never());
  Time least =
      Time::ps(std::llround(static_cast<double>(usual.count()) / (1 + settings_.real("best_margin"))));
  for (const Algorithm& algorithm : collective_kind(of.kind).algorithms) {
    const Time time = time_of(of, settings_by(of.kind, algorithm.name), least);
    if (time >= least) continue;
    least = time;
    best = algorithm.name;
  }
  return by(of.kind, best);
}

Time Fastest::time_of(const Case& of, const Settings& settings, Time least) const {
  Operation operation;
  operation.kind = of.kind;
  operation.ranks = static_cast<int>(of.ranks.size());
  operation.root = of.root;
  operation.nonblocking = of.nonblocking;
  operation.commutative = of.commutative;
  operation.function = of.function;
  operation.bytes = has_blocks_of_different_sizes(of.kind) ? 0 : of.bytes;
  operation.elements = of.bytes / of.element;
  WorldOptions options;
  options.ranks = *std::max_element(of.ranks.begin(), of.ranks.end()) + 1;
  options.machine = machine_;
  // A ring of many ranks needs quadratically many messages, but a few of them suffice to see that it is
  // slower.
  options.stop_at = least;
  World world(options, WorldBackend(host_backend(), settings));
  const std::string stuck = world.run(
      [&](RankHandle& rank) -> Task<void> {
        const Communicator all = rank.communicator(of.ranks, 1);
        RankRequest request =
            rank.start(all, operation, sizes_of_equal_blocks(operation, of.bytes, all.rank()));
        (void)co_await rank.wait(request);
      },
      of.ranks);
  return stuck.empty() ? world.end() : least;
}

Settings Fastest::settings_by(OperationKind kind, std::string_view algorithm) const {
  Settings settings = settings_;
  settings.set(std::string(to_string(kind)), {0, std::string(algorithm)});
  return settings;
}

const Collectives& Fastest::by(OperationKind kind, std::string_view algorithm) {
  std::unique_ptr<Collectives>& made = made_[{kind, algorithm}];
  if (made == nullptr) made = std::make_unique<Collectives>(settings_by(kind, algorithm), costs_, machine_);
  return *made;
}

}  // namespace offramp::host
