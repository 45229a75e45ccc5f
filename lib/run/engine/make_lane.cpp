// The host is member 0, and the primary backend follows if it is another one; backends of routes come in the
// order of the configuration. Each member keeps its settings, to which its backend may refer. Only faults
// that name no time apply (timeless()).
#include "lib/run/engine/make_lane.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "lib/base/configuration/job_places.hpp"

namespace offramp {
namespace {

/// Returns the index of a name in the list. Appends the name if it is new.
std::uint8_t index_of(std::vector<std::string>& names, const std::string& name) {
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) found = names.insert(names.end(), name);
  return static_cast<std::uint8_t>(found - names.begin());
}

}  // namespace

Result<std::unique_ptr<Lane>> make_lane(const LaneRequest& request) {
  const Configuration& configuration = request.configuration;
  std::vector<std::string> names = {std::string(baseline_name())};
  const std::uint8_t primary = index_of(names, configuration.backend);
  std::vector<RouteRule> rules;
  for (const Route& route : configuration.routes) rules.push_back(route.rule(index_of(names, route.backend)));
  if (const Result<void> fits = configuration.machine.fits(request.ranks); !fits)
    return failure(fits.error());
  // A run has no modelled time, so faults with a time act in worlds only.
  const FaultRates faults = configuration.faults.timeless();
  MachineLayout machine = configuration.machine.layout(request.ranks);
  machine.switches = switches_of(network_for(configuration, request.ranks), request.ranks, machine);
  std::vector<Lane::Member> members;
  for (const std::string& name : names) {
    const BackendDescription* const description = request.registry.find(name);
    if (description == nullptr) return failure(fmt::format("unknown backend {}", name));
    Result<Settings> settings = configuration.settings_for(*description);
    if (!settings) return failure(settings.error());
    auto kept = std::make_unique<Settings>(std::move(*settings));
    const BackendContext context{request.rank, request.ranks, *kept, faults, nullptr, nullptr, machine};
    std::unique_ptr<Backend> backend = description->create(context);
    if (backend == nullptr) return failure(fmt::format("backend {} could not be created", name));
    members.emplace_back(name, std::move(backend), std::move(kept));
  }
  auto lane = std::make_unique<Lane>(std::move(members), primary, std::move(rules), request.functions);
  lane->faulty = faults.any();
  lane->machine = std::move(machine);
  return lane;
}

}  // namespace offramp
