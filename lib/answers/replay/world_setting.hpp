// What a world is made of, as the configuration says it: for forecasts and for replays.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "simulators/world/world.hpp"

namespace offramp {

struct WorldSetting {
  const BackendDescription& backend;  // lives as long as the world
  Settings settings;
  FaultRates faults;
  MachineLayout machine = {};
  bool check = false;                          // a simulation that breaks one of its invariants is an error
  const BackendDescription* host = nullptr;    // carries what the backend declines; null: nothing does
  std::optional<Settings> host_settings = {};  // the defaults if not set
  std::vector<WorldBackend::Further> further = {};
  std::vector<RouteRule> rules = {};  // as WorldBackend has them
  NetworkOptions network = {};        // between the nodes
  StragglerOptions stragglers = {};
  const DataCarrier* judge = nullptr;  // WorldOptions::judge
};

/// A backend with the host behind it, and the routes with the backends to which they lead, as in a run of so
/// many ranks.
Result<WorldSetting> world_setting(const Configuration& configuration, const Registry& registry,
                                   const BackendDescription& backend, int ranks);

/// What that many ranks stand on; without a text: the backend says nothing of it.
Footing footing_of(const WorldSetting& setting, int ranks);

/// The setting lives as long as the world. observed: who is told of what; the rest of it is the setting's. An
/// error is of the network, which may have no room for the ranks.
Result<std::unique_ptr<World>> make_world(const WorldSetting& setting, int ranks,
                                          const WorldOptions& observed = {});

}  // namespace offramp
