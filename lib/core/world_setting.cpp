#include "lib/core/world_setting.hpp"

#include <fmt/core.h>

namespace offramp {

RouteRule rule_of(const Route& route, std::uint8_t backend) {
  RouteRule rule;
  rule.operation = route.operation.value_or(OperationKind::kCount);
  rule.min_bytes = route.min_bytes;
  rule.max_bytes = route.max_bytes;
  rule.min_ranks = route.min_ranks;
  rule.max_ranks = route.max_ranks;
  rule.backend = backend;
  return rule;
}

Result<WorldSetting> world_setting(const Configuration& configuration, const Registry& registry,
                                   const BackendDescription& backend) {
  using Failure = Result<WorldSetting>;
  Result<Settings> settings = configuration.settings_for(backend);
  if (!settings) return Failure::failure(settings.error());
  WorldSetting setting{backend, std::move(*settings), configuration.faults, configuration.ranks_per_node};
  setting.host = registry.find("host");
  if (setting.host == nullptr) return Failure::failure("there is no backend host");
  Result<Settings> host_settings = configuration.settings_for(*setting.host);
  if (!host_settings) return Failure::failure(host_settings.error());
  setting.host_settings = std::move(*host_settings);
  for (const Route& route : configuration.routes) {
    if (route.backend != setting.host->name && route.backend != backend.name)
      return Failure::failure(fmt::format("the route at {} names {}: a world has {} and the host behind it",
                                          route.origin, route.backend, backend.name));
    setting.rules.push_back(rule_of(route, route.backend == setting.host->name ? 0 : 1));
  }
  return setting;
}

std::unique_ptr<World> make_world(const WorldSetting& setting, int ranks, Choices* choices) {
  WorldOptions options;
  options.ranks = ranks;
  options.ranks_per_node = setting.ranks_per_node;
  options.faults = setting.faults;
  options.check = setting.check;
  options.choices = choices;
  WorldBackend hardware(setting.backend, setting.settings);
  hardware.host = setting.host;
  hardware.host_settings = setting.host_settings;
  hardware.rules = setting.rules;
  return std::make_unique<World>(options, hardware);
}

}  // namespace offramp
