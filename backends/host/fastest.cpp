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

/// Bytes of a segment that are tried for long messages.
constexpr std::size_t kSegments[] = {64 * kKi, 256 * kKi};

/// True for trees and pipelines, which forward one segment after the other.
bool is_segmented(OperationKind kind, std::string_view algorithm) {
  return (kind == OperationKind::kBcast || kind == OperationKind::kReduce) &&
         (algorithm == "pipeline" || algorithm.ends_with("nomial") ||
          algorithm.find("binary") != std::string_view::npos);
}

}  // namespace

std::optional<FastestAlgorithm> find_fastest(OperationKind kind, std::size_t bytes, double margin,
                                             const AlgorithmTrial& time_of) {
  const auto usual = time_of({}, 0, Time::never());
  if (!usual) return std::nullopt;
  FastestAlgorithm best{{}, 0, *usual, *usual};
  Time least = Time::ps(std::llround(static_cast<double>(usual->count()) / (1 + margin)));
  const auto attempt = [&](std::string_view algorithm, std::size_t segment) {
    const auto time = time_of(algorithm, segment, least);
    if (!time || *time >= least) return;
    least = *time;
    best = {algorithm, segment, *usual, *time};
  };
  for (const Algorithm& algorithm : collective_kind(kind).algorithms) {
    if (!algorithm.is_common) continue;
    attempt(algorithm.name, 0);
    for (const std::size_t segment : kSegments) {
      if (is_segmented(kind, algorithm.name) && bytes > segment) attempt(algorithm.name, segment);
    }
  }
  return best;
}

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
  const auto best = find_fastest(
      of.kind, of.bytes, settings_.real("best_margin"),
      [&](std::string_view algorithm, std::size_t segment, Time least) {
        return time_of(of, settings_by(of.kind, algorithm.empty() ? kByOpenMpi : algorithm, segment), least);
      });
  return by(of.kind, best->name.empty() ? kByOpenMpi : best->name, best->segment);
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
  WorldOptions options{.ranks = *std::max_element(of.ranks.begin(), of.ranks.end()) + 1, .machine = machine_};
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

Settings Fastest::settings_by(OperationKind kind, std::string_view algorithm, std::size_t segment) const {
  Settings settings = settings_;
  settings.set(std::string(to_string(kind)), {0, std::string(algorithm)});
  if (segment > 0) settings.set("segment", {static_cast<double>(segment), {}});
  return settings;
}

const Collectives& Fastest::by(OperationKind kind, std::string_view algorithm, std::size_t segment) {
  std::unique_ptr<Collectives>& made = made_[{kind, algorithm, segment}];
  if (made == nullptr)
    made = std::make_unique<Collectives>(settings_by(kind, algorithm, segment), costs_, machine_);
  return *made;
}

}  // namespace offramp::host
