// What a world is made of, as the configuration says it: for forecasts and for replays.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "lib/programs/recording/reader.hpp"
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

/// The configuration for a program that ran over this MPI library ("Open MPI v4.0.3"): the baseline chooses
/// algorithms as that release does, unless the configuration says who chooses. Unchanged for a library that
/// is not known.
Configuration configuration_for_library(const Configuration& configuration, const Registry& registry,
                                        std::string_view library);
/// The library that a recording was made over; empty: it does not say.
std::string_view library_of(const recording::Description& description);

/// A backend with the host behind it, and the routes with the backends to which they lead, as in a run of so
/// many ranks.
Result<WorldSetting> world_setting(const Configuration& configuration, const Registry& registry,
                                   const BackendDescription& backend, int ranks);

/// What that many ranks stand on; without a text: the backend says nothing of it.
Deployment deployment_of(const WorldSetting& setting, int ranks);

/// The setting with the least or the most of what the baseline takes from a class of machines
/// (Deployment::bands). `nullopt`: it takes nothing from one.
std::optional<WorldSetting> at_end_of_band(const WorldSetting& setting, const BackendDescription& baseline,
                                           int ranks, bool most);

/// The setting lives as long as the world. observed: who is told of what; the rest of it is the setting's. An
/// error is of the network, which may have no room for the ranks.
Result<std::unique_ptr<World>> make_world(const WorldSetting& setting, int ranks,
                                          const WorldOptions& observed = {});

}  // namespace offramp
