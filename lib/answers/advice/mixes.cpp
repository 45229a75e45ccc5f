// The best mix of hardware: adds each backend that the nodes hold to the best mix so far, by kind of
// operation and by size class.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/answers/advice/advice.hpp"

namespace offramp {
namespace {

/// The largest time of a mix, as a share of the best single backend's time.
constexpr double kBetterMix = 0.995;
/// Classes of sizes that a mix may route differently: latency dominates the first, bandwidth the last.
struct SizeClass {
  std::size_t from;
  std::size_t to;
};
constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();
constexpr SizeClass kSizes[] = {{0, 1024}, {1025, 65536}, {65537, kAnySize}};

Route route_of(OperationKind kind, const SizeClass& sizes, std::string backend) {
  Route route;
  route.operation = kind;
  route.min_bytes = sizes.from;
  route.max_bytes = sizes.to;
  route.backend = std::move(backend);
  route.origin = "advice";
  return route;
}

/// The mix in as few routes as possible, without routes to the backend that carries the rest anyway.
std::vector<Route> fewest_routes(const Mix& mix, const std::vector<OperationKind>& kinds) {
  std::vector<Route> routes;
  for (const OperationKind kind : kinds) {
    const std::size_t first = routes.size();
    for (const SizeClass& sizes : kSizes) {
      const auto found = std::find_if(mix.routes.begin(), mix.routes.end(), [&](const Route& route) {
        return route.operation == kind && route.min_bytes <= sizes.from && route.max_bytes >= sizes.to;
      });
      if (found == mix.routes.end() || found->backend == mix.backend) continue;
      const bool goes_on = routes.size() > first && routes.back().backend == found->backend &&
                           routes.back().max_bytes + 1 == sizes.from;
      if (goes_on) {
        routes.back().max_bytes = sizes.to;
      } else {
        routes.push_back(route_of(kind, sizes, found->backend));
      }
    }
  }
  return routes;
}

}  // namespace

/// Routes operations of one kind and size range to each backend with a result, and keeps the best.
void Advisor::try_routes(Mix& best, OperationKind kind, std::size_t min_bytes, std::size_t max_bytes) {
  std::vector<Trial> trials;
  std::vector<std::vector<Route>> routes;  // by trial
  for (const Candidate& candidate : candidates_) {
    // What stands beside the nodes does not fit into a machine with other hardware.
    const bool is_beside =
        candidate.deployment.node_bits_per_second == 0 && !candidate.deployment.text.empty();
    if (!candidate.problem.empty() || is_beside) continue;
    Configuration configuration = equal_links_;
    configuration.routes = best.routes;
    configuration.routes.insert(configuration.routes.begin(),
                                route_of(kind, {min_bytes, max_bytes}, candidate.backend));
    trials.push_back({fmt::format("{} over {}", to_string(kind), candidate.backend),
                      setting_with(configuration, *registry_.find(best.backend))});
    routes.push_back(std::move(configuration.routes));
  }
  const auto ends = ends_of(trials);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (!ends[i] || ends[i]->seconds() >= kBetterMix * best.end.seconds()) continue;
    best.routes = routes[i];
    best.end = *ends[i];
  }
}

void Advisor::find_mix() {
  if (candidates_.empty() || !candidates_.front().counts() || !configuration_.routes.empty()) return;
  read_traffic();
  // A mix begins with hardware that the nodes hold.
  const auto within = std::ranges::find_if(candidates_, [](const Candidate& one) {
    return one.counts() && (one.deployment.node_bits_per_second > 0 || one.deployment.text.empty());
  });
  if (within == candidates_.end()) return;
  const Candidate& fastest = *within;
  Mix best{fastest.backend, {}, fastest.fair().end()};
  std::vector<OperationKind> kinds;
  for (const Traffic& traffic : traffic_) {
    if (std::find(kinds.begin(), kinds.end(), traffic.operation.kind) == kinds.end())
      kinds.push_back(traffic.operation.kind);
  }
  for (const OperationKind kind : kinds) {
    try_routes(best, kind, 0, kAnySize);
    for (const SizeClass& sizes : kSizes) {
      const auto is_in = [&](const Traffic& traffic) {
        return traffic.operation.kind == kind && traffic.operation.bytes >= sizes.from &&
               traffic.operation.bytes <= sizes.to;
      };
      const auto is_other = [&](const Traffic& traffic) {
        return traffic.operation.kind == kind && !is_in(traffic);
      };
      if (std::any_of(traffic_.begin(), traffic_.end(), is_in) &&
          std::any_of(traffic_.begin(), traffic_.end(), is_other))
        try_routes(best, kind, sizes.from, sizes.to);
    }
  }
  knows_mix_ = !cut_short_;
  best.routes = fewest_routes(best, kinds);
  if (best.routes.empty()) return;
  Configuration configuration = equal_links_;
  configuration.routes = best.routes;
  const auto setting = world_setting(configuration, registry_, *registry_.find(best.backend), source_.ranks);
  const auto end = setting ? end_of(*setting) : std::nullopt;
  if (!end) return;
  best.end = *end;
  mix_ = std::move(best);
  weighing_.sides.mix = *end;
  if (kind_of(weighing_.sides) == AnswerKind::kMix) weigh_mix(*setting);
}

/// The certainty of a mix is that of its least certain model. What the baseline carries in the mix has the
/// same error on both sides.
void Advisor::weigh_mix(const WorldSetting& mixed) {
  weighing_.kind = AnswerKind::kMix;
  weighing_.holds = false;
  weighing_.range = weighing_.memory = {};
  const auto factor_of = [&](const std::string& model) {
    const RatioError error = error_of(model);
    return error.is_known() ? error.hardware_factor(1) : std::numeric_limits<double>::infinity();
  };
  std::string worst;
  for (const std::string& name : mix_->backends()) {
    if (!is_baseline(name) && (worst.empty() || factor_of(name) > factor_of(worst))) worst = name;
  }
  double share = 1;
  ReplayOptions how = options_.replay;
  how.compare_undisturbed = false;
  if (is_baseline(mix_->backend) && may_go_on("what the mix carries")) {
    if (const Result<ReplayResult> result = replay(mixed, source_, how); result && !result->stopped) {
      const CarriedTime times{result->total().times};
      share = 1 - times.share().value_or(0);
    }
  }
  find_range(mixed, worst, share);
}

}  // namespace offramp
