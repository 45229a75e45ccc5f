// What a world is made of, as the configuration says it: for forecasts and for replays.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/core/configuration.hpp"
#include "simulators/model/world.hpp"

namespace offramp {

struct WorldSetting {
  const BackendDescription& backend;  // lives as long as the world
  Settings settings;
  FaultRates faults;
  int ranks_per_node = 1;                      // neighbouring ranks share a node's resources
  bool check = false;                          // a simulation that breaks one of its invariants is an error
  const BackendDescription* host = nullptr;    // carries what the backend declines; null: nothing does
  std::optional<Settings> host_settings = {};  // the defaults if not set
  std::vector<RouteRule> rules = {};           // 0 is the host, 1 the backend
};

/// A backend with the host behind it and the routes between the two, as in a run. An error: a route names a
/// third one, which a world does not have.
Result<WorldSetting> world_setting(const Configuration& configuration, const Registry& registry,
                                   const BackendDescription& backend);

/// The setting lives as long as the world.
std::unique_ptr<World> make_world(const WorldSetting& setting, int ranks, Choices* choices = nullptr);

RouteRule rule_of(const Route& route, std::uint8_t backend);

}  // namespace offramp
