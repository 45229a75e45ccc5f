#include "lib/core/make_lanes.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "lib/core/world_setting.hpp"

namespace offramp {
namespace {

using LaneResult = Result<std::unique_ptr<Lane>>;

/// The place of a name in the list, to whose end it is added if need be.
std::uint8_t index_of(std::vector<std::string>& names, const std::string& name) {
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) found = names.insert(names.end(), name);
  return static_cast<std::uint8_t>(found - names.begin());
}

LaneResult make_lane(const LanesRequest& request, const std::string& backend_name, SpanSink* spans,
                     PacketSink* packets) {
  const Configuration& configuration = request.configuration;
  std::vector<std::string> names = {"host"};
  const std::uint8_t primary = index_of(names, backend_name);
  std::vector<RouteRule> rules;
  for (const Route& route : configuration.routes)
    rules.push_back(rule_of(route, index_of(names, route.backend)));
  std::vector<Lane::Member> members;
  for (const std::string& name : names) {
    const BackendDescription* const description = request.registry.find(name);
    if (description == nullptr) return LaneResult::failure(fmt::format("there is no backend {}", name));
    Result<Settings> settings = configuration.settings_for(*description);
    if (!settings) return LaneResult::failure(settings.error());
    auto kept = std::make_unique<Settings>(std::move(*settings));
    const BackendContext context{request.rank, request.ranks, *kept, configuration.faults, spans, packets};
    std::unique_ptr<Backend> backend = description->create(context);
    if (backend == nullptr) return LaneResult::failure(fmt::format("backend {} could not be created", name));
    members.emplace_back(name, std::move(backend), std::move(kept));
  }
  return std::make_unique<Lane>(std::move(members), primary, std::move(rules), request.functions);
}

}  // namespace

Result<std::vector<std::unique_ptr<Lane>>> make_lanes(const LanesRequest& request) {
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const std::string& backend : request.configuration.lane_backends()) {
    SpanSink* const spans = request.spans ? request.spans(lanes.size()) : nullptr;
    LaneResult lane = make_lane(request, backend, spans, lanes.empty() ? request.packets : nullptr);
    if (!lane) return Result<std::vector<std::unique_ptr<Lane>>>::failure(lane.error());
    if (!request.configuration.report.empty()) {
      (*lane)->sizes = std::make_unique<SizeTable>();
      if (request.configuration.details) (*lane)->path = std::make_unique<PathLog>();
    }
    lanes.push_back(std::move(*lane));
  }
  return lanes;
}

}  // namespace offramp
