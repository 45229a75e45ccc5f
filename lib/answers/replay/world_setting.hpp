// The configuration of a world, for forecasts and replays.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "lib/programs/recording/reader.hpp"
#include "simulators/world/world.hpp"

namespace offramp {

/// Everything that determines a world's times. Copies share the descriptions, which are never freed.
struct WorldSetting {
  const BackendDescription& backend;  // must outlive the world
  Settings settings;
  FaultRates faults;
  MachineLayout machine = {};
  bool check = false;                          // treat a broken invariant of the simulation as an error
  const BackendDescription* host = nullptr;    // carries what the backend declines; null: nothing does
  std::optional<Settings> host_settings = {};  // `nullopt`: its defaults
  std::vector<WorldBackend::Further> further = {};
  std::vector<RouteRule> rules = {};  // see WorldBackend
  NetworkOptions network = {};        // between the nodes
  StragglerOptions stragglers = {};
  const DataCarrier* judge = nullptr;  // WorldOptions::judge
};

/// The configuration for a program recorded over this MPI library ("Open MPI v4.0.3"): the baseline chooses
/// algorithms as that release does, unless configured otherwise. Unchanged for an unknown library.
Configuration configuration_for_library(const Configuration& configuration, const Registry& registry,
                                        std::string_view library);
/// The MPI library of a recording. Empty if unknown.
std::string_view library_of(const recording::Description& description);

/// The assumed machine of the baseline: "4 nodes of 1 rank, 100 Gb/s, one switch; MPICH's algorithms".
std::string machine_text(const WorldSetting& baseline, int ranks);

/// A backend's setting on this many ranks, with the host, the configured routes, and their backends.
Result<WorldSetting> world_setting(const Configuration& configuration, const Registry& registry,
                                   const BackendDescription& backend, int ranks);

/// Sets the network: see network_for(). Without a rate of the user's choice, its cables are no slower than
/// the links of the setting's hardware.
void set_network(WorldSetting& setting, const Configuration& configuration, int ranks);

/// The setting's backend on these ranks, which is asked for verdicts and orders and carries nothing. The
/// setting must outlive it.
std::unique_ptr<Backend> asked_backend(const WorldSetting& setting, int ranks);

/// The hardware that this many ranks occupy. Its text is empty if the backend does not describe it.
Deployment deployment_of(const WorldSetting& setting, int ranks);

/// The setting with the lowest or highest values of the parameters that the baseline derives from a class of
/// machines (Deployment::bands). `nullopt` if there are none.
std::optional<WorldSetting> at_end_of_band(const WorldSetting& setting, const BackendDescription& baseline,
                                           int ranks, bool most);

/// The setting must outlive the world. observed: the observers; the setting determines all other options. An
/// error comes from the network, for example if it has no room for the ranks.
Result<std::unique_ptr<World>> make_world(const WorldSetting& setting, int ranks,
                                          const WorldOptions& observed = {});

}  // namespace offramp
