// A setting is complete before a world is made. The baseline carries what the backend declines. Further
// backends are numbered in the order of their first routes, as WorldBackend counts them. The library of a
// recording selects the baseline's algorithms only where the configuration does not.
#include "lib/answers/replay/world_setting.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "lib/base/configuration/job_places.hpp"
#include "simulators/world/deployment.hpp"

namespace offramp {
namespace {

/// A library's algorithm selection, by the beginning of its name and release. Default: Open MPI 4.1.
struct LibraryChoice {
  std::string_view library;
  std::string_view selection;  // value of the baseline's `collectives`
};
constexpr LibraryChoice kLibraries[] = {
    {"Open MPI v6", "openmpi-6"},   {"Open MPI v5", "openmpi-5"},   {"Open MPI v4.0", "openmpi-4.0"},
    {"Open MPI v3", "openmpi-3.1"}, {"Open MPI v2", "openmpi-3.1"}, {"MPICH ", "mpich"},
    {"CRAY MPICH", "node-wise"},    {"Intel(R) MPI", "node-wise"},  {"MVAPICH", "node-wise"}};

/// The library that lends the baseline its algorithms, by its choice of `collectives`.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"openmpi", "Open MPI 4.1's"},
                                                                    {"openmpi-3.1", "Open MPI 3.1's"},
                                                                    {"openmpi-4.0", "Open MPI 4.0's"},
                                                                    {"openmpi-4.1", "Open MPI 4.1's"},
                                                                    {"openmpi-5", "Open MPI 5's"},
                                                                    {"openmpi-6", "Open MPI 6's"},
                                                                    {"acoll", "acoll's"},
                                                                    {"hcoll", "HCOLL's"},
                                                                    {"mpich", "MPICH's"},
                                                                    {"best", "the fastest"}};

}  // namespace

// Refers to the description.
std::string_view library_of(const recording::Description& description) {
  for (const auto& [key, value] : description.facts) {
    if (key == "mpi") return value;
  }
  return {};
}

Configuration configuration_for_library(const Configuration& configuration, const Registry& registry,
                                        std::string_view library) {
  Configuration followed = configuration;
  const auto* const found = std::find_if(std::begin(kLibraries), std::end(kLibraries),
                                         [&](const auto& one) { return library.starts_with(one.library); });
  if (found == std::end(kLibraries)) return followed;
  // A plugin may replace the baseline, and have other choices.
  const Parameter* const parameter = find_parameter(registry.baseline().parameters, "collectives");
  if (parameter == nullptr || std::find(parameter->choices.begin(), parameter->choices.end(),
                                        found->selection) == parameter->choices.end())
    return followed;
  // The user's own choice stays.
  followed.sections[std::string(registry.baseline().name)].try_emplace(
      "collectives", RawValue{std::string(found->selection), RawValue::Type::kText,
                              "the recording, made over " + std::string(library)});
  return followed;
}

Result<WorldSetting> world_setting(const Configuration& configuration, const Registry& registry,
                                   const BackendDescription& backend, int ranks) {
  Result<Settings> settings = configuration.settings_for(backend);
  if (!settings) return failure(settings.error());
  if (const Result<void> fits = configuration.machine.fits(ranks); !fits) return failure(fits.error());
  WorldSetting setting{backend, std::move(*settings), configuration.faults,
                       configuration.machine.layout(ranks)};
  setting.stragglers = configuration.stragglers;
  setting.host = &registry.baseline();
  Result<Settings> host_settings = configuration.settings_for(*setting.host);
  if (!host_settings) return failure(host_settings.error());
  setting.host_settings = std::move(*host_settings);
  // The numbers of backends in rules: positions in this list.
  std::vector<std::string_view> names = {setting.host->name};
  if (backend.name != names.front()) names.push_back(backend.name);
  for (const Route& route : configuration.routes) {
    auto known = std::find(names.begin(), names.end(), route.backend);
    if (known == names.end()) {
      const BackendDescription* const further = registry.find(route.backend);
      if (further == nullptr)
        return failure(
            fmt::format("the route at {} names {}, which is not a backend", route.origin, route.backend));
      Result<Settings> further_settings = configuration.settings_for(*further);
      if (!further_settings) return failure(further_settings.error());
      setting.further.push_back({further, std::move(*further_settings)});
      known = names.insert(names.end(), further->name);
    }
    setting.rules.push_back(route.rule(static_cast<std::uint8_t>(known - names.begin())));
  }
  set_network(setting, configuration, ranks);
  return setting;
}

void set_network(WorldSetting& setting, const Configuration& configuration, int ranks) {
  setting.network = network_for(configuration, ranks);
  const Deployment own = deployment_of(setting, ranks);
  bool is_beside = own.node_bits_per_second == 0 && !own.text.empty();  // hardware with links of its own
  for (const WorldBackend::Further& one : setting.further)
    is_beside = is_beside || !one.backend->deployment ||
                one.backend->deployment(one.settings, setting.machine, ranks).node_bits_per_second == 0;
  // Networks inferred for hosts do not fit hardware with its own links.
  if (is_beside) setting.network.topology = configuration.network.topology;
  const std::int64_t rate = own.node_bits_per_second / setting.machine.links_per_node();
  if (!configuration.written.contains("network.link") && setting.network.link.count() < rate)
    setting.network.link = Bandwidth::bits_per_second(rate);
}

std::string machine_text(const WorldSetting& baseline, int ranks) {
  const int nodes = baseline.machine.nodes(ranks);
  const std::string_view network =
      baseline.network.is_star() ? std::string_view("one switch") : baseline.network.topology;
  std::string_view library = baseline.settings.choice("collectives");
  const auto* const known = std::find_if(std::begin(kNames), std::end(kNames),
                                         [&](const auto& one) { return one.first == library; });
  if (known != std::end(kNames)) library = known->second;
  return fmt::format("{} of {}, {}{}; {} algorithms", counted(nodes, "node"),
                     counted(std::min(baseline.machine.ranks_per_node, ranks), "rank"),
                     gigabits_text(deployment_of(baseline, ranks).node_bits_per_second),
                     nodes == 1 ? "" : fmt::format(", {}", network), library);
}

std::unique_ptr<Backend> asked_backend(const WorldSetting& setting, int ranks) {
  MachineLayout machine = setting.machine;
  machine.switches = switches_of(setting.network, ranks, machine);
  return setting.backend.create({0, ranks, setting.settings, setting.faults, nullptr, nullptr, machine,
                                 setting.host_settings ? &*setting.host_settings : nullptr});
}

Deployment deployment_of(const WorldSetting& setting, int ranks) {
  if (setting.backend.deployment == nullptr) return {};
  return setting.backend.deployment(setting.settings, setting.machine, ranks);
}

std::optional<WorldSetting> at_end_of_band(const WorldSetting& setting, const BackendDescription& baseline,
                                           int ranks, bool most) {
  const bool is_baseline = setting.backend.name == baseline.name;
  const Settings* const settings = is_baseline             ? &setting.settings
                                   : setting.host_settings ? &*setting.host_settings
                                                           : nullptr;
  if (settings == nullptr || baseline.deployment == nullptr) return std::nullopt;
  const Deployment deployment = baseline.deployment(*settings, setting.machine, ranks);
  if (deployment.bands.empty()) return std::nullopt;
  WorldSetting end = setting;
  for (const ParameterBand& band : deployment.bands) {
    const Settings::Value value{most ? band.most : band.least, {}};
    if (is_baseline) end.settings.set(band.parameter, value);
    if (end.host_settings) end.host_settings->set(band.parameter, value);
  }
  return end;
}

static Result<std::shared_ptr<const Stragglers>> make_stragglers(const WorldSetting& setting, int ranks) {
  auto found = place_in_network(setting.network, ranks, setting.machine);
  if (!found) return failure(found.error());
  // Slow nodes are numbered in the network, where jobs are placed.
  auto made = Stragglers::make(setting.stragglers, found->places, found->nodes, setting.machine);
  return made ? made : failure("stragglers.slow_nodes: " + made.error());
}

Result<std::unique_ptr<World>> make_world(const WorldSetting& setting, int ranks,
                                          const WorldOptions& observed) {
  WorldOptions options = observed;
  options.ranks = ranks;
  options.machine = setting.machine;
  // Ranks behind one switch may use it for reductions.
  options.machine.switches = switches_of(setting.network, ranks, setting.machine);
  options.faults = setting.faults;
  options.check = setting.check;
  options.judge = setting.judge;
  auto network = make_network(setting.network, ranks, setting.machine);
  if (!network) return failure(network.error());
  options.network = std::move(*network);
  if (setting.stragglers.any()) {
    auto stragglers = make_stragglers(setting, ranks);
    if (!stragglers) return failure(stragglers.error());
    options.stragglers = std::move(*stragglers);
  }
  WorldBackend hardware(setting.backend, setting.settings);
  hardware.host = setting.host;
  hardware.host_settings = setting.host_settings;
  hardware.further = setting.further;
  hardware.rules = setting.rules;
  return std::make_unique<World>(options, hardware);
}

}  // namespace offramp
