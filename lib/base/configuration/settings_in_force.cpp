// Lists every effective setting with its source, and the settings without effect.
#include <fmt/format.h>

#include <algorithm>

#include "lib/base/configuration/configuration.hpp"
#include "lib/base/configuration/configuration_keys.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {

namespace {

using std::string;
using std::string_view;

/// Converts a value to the key's unit.
string text_in_unit(const Key& key, string_view written) {
  const auto number = key.unit.empty() ? std::nullopt : parse_quantity(written, key.unit);
  return number ? fmt::format("{} {}", *number, key.unit) : string(written);
}

// Only limits that the route has. Also compared between ranks.
string route_text(const Route& route) {
  string text = route.operation ? string(to_string(*route.operation)) : "any";
  if (route.min_bytes > 0) text += fmt::format(", from {} B", route.min_bytes);
  if (route.max_bytes < std::numeric_limits<std::size_t>::max())
    text += fmt::format(", up to {} B", route.max_bytes);
  if (route.min_ranks > 0) text += fmt::format(", from {} ranks", route.min_ranks);
  if (route.max_ranks < std::numeric_limits<int>::max())
    text += fmt::format(", up to {} ranks", route.max_ranks);
  return text + ": " + route.backend;
}

}  // namespace

std::vector<SettingInForce> settings_in_force(const Configuration& configuration, const Registry& registry) {
  std::vector<SettingInForce> all;
  const auto add = [&all](string key, string value, const Section& written, const string& name) {
    const auto found = written.find(name);
    all.push_back(
        {std::move(key), std::move(value), found == written.end() ? "default" : found->second.origin});
  };
  for (const Row& row : configuration_rows()) {
    const string path(row.path);
    // Routes are listed below, each as one line.
    if (path.empty() || section_of(path) == "route") continue;
    const auto found = configuration.written.find(path);
    const string_view text =
        found == configuration.written.end() ? row.default_text : string_view(found->second.text);
    add(path, text_in_unit(row, text), configuration.written, path);
  }
  for (std::size_t i = 0; i < configuration.routes.size(); ++i)
    all.push_back({fmt::format("route {}", i + 1), route_text(configuration.routes[i]),
                   configuration.routes[i].origin});
  for (const string& name : configuration.backends_in_use()) {
    const BackendDescription* const backend = registry.find(name);
    if (backend == nullptr) continue;
    const Result<Settings> settings = configuration.settings_for(*backend);
    if (!settings) continue;
    const auto section = configuration.sections.find(name);
    for (const Parameter& parameter : backend->parameters)
      add(fmt::format("{}.{}", name, parameter.name), value_with_unit(parameter, *settings),
          section == configuration.sections.end() ? Section() : section->second, string(parameter.name));
  }
  return all;
}

string agreed_settings(const Configuration& configuration) {
  string text;
  for (const Row& row : configuration_rows()) {
    if (row.agreed != nullptr) text += fmt::format("{}={};", row.path, row.agreed(configuration));
  }
  for (const Route& route : configuration.routes) text += fmt::format("route={};", route_text(route));
  for (const auto& [name, section] : configuration.sections) {
    for (const auto& [key, written] : section) text += fmt::format("{}.{}={};", name, key, written.text);
  }
  return text;
}

std::vector<string> settings_without_effect(const Configuration& configuration,
                                            const BackendDescription& description) {
  std::vector<string> texts;
  const auto section = configuration.sections.find(string(description.name));
  // Only values that the user wrote are worth a remark.
  if (description.without_effect == nullptr || section == configuration.sections.end()) return texts;
  const Result<Settings> settings = configuration.settings_for(description);
  if (!settings) return texts;
  for (const auto& [parameter, reason] : description.without_effect(*settings)) {
    const auto written = section->second.find(string(parameter));
    if (written == section->second.end()) continue;
    texts.push_back(fmt::format("{}: {}.{} = {} {}", written->second.origin, description.name, parameter,
                                written->second.text, reason));
  }
  return texts;
}

std::vector<string> settings_without_effect(const Configuration& configuration) {
  std::vector<string> texts;
  const auto note = [&](std::initializer_list<const char*> keys, const string& reason) {
    for (const char* key : keys) {
      const auto written = configuration.written.find(key);
      if (written != configuration.written.end())
        texts.push_back(
            fmt::format("{}: {} = {} {}", written->second.origin, key, written->second.text, reason));
    }
  };
  const NetworkOptions& network = configuration.network;
  if (network.is_star())
    note({"network.link", "network.hop", "network.routing", "network.sharing"},
         "has no effect in a star, where messages share only the backend's own links; see --network");
  if (network.platform != nullptr)
    note({"network.link", "network.hop", "network.routing"},
         fmt::format("has no effect with {}, which defines its own rates, latencies, and routes",
                     printable(network.topology)));
  if (network.platform != nullptr) {
    for (const string& unread : network.platform->notes())
      texts.push_back(fmt::format("network.topology: {}", printable(unread, 1000)));
  }
  const StragglerOptions& stragglers = configuration.stragglers;
  if (!stragglers.noise.any()) note({"stragglers.noise_phase"}, "has no effect without stragglers.noise");
  if (!stragglers.any()) note({"stragglers.seed"}, "has no effect without stragglers");
  if (stragglers.slow.any() && configuration.compute.kind == Compute::Mode::kNone)
    note({"stragglers.slow_nodes"}, "has no effect: slow nodes compute longer, and compute is \"none\"");
  return texts;
}

std::vector<string> settings_of_others(const Configuration& configuration, const std::vector<string>& names) {
  std::vector<string> texts;
  for (const auto& [backend, section] : configuration.sections) {
    // The host carries what hardware declines.
    const bool used = is_baseline(backend) || std::find(names.begin(), names.end(), backend) != names.end() ||
                      std::any_of(configuration.routes.begin(), configuration.routes.end(),
                                  [&name = backend](const Route& route) { return route.backend == name; });
    for (const auto& [parameter, written] : section) {
      // Values in a file may be meant for other runs.
      if (used || written.origin.find("--set ") == string::npos) continue;
      texts.push_back(fmt::format("{}: {}.{} = {} has no effect: {} carries nothing here", written.origin,
                                  backend, parameter, written.text, backend));
    }
  }
  return texts;
}

string settings_read(const Configuration& configuration) {
  std::vector<string> sources;
  if (!configuration.file.empty())
    sources.push_back(fmt::format("{} ({} {})", printable(configuration.file), configuration.file_keys,
                                  configuration.file_keys == 1 ? "key" : "keys"));
  sources.insert(sources.end(), configuration.variables.begin(), configuration.variables.end());
  return sources.empty() ? string() : fmt::format("settings: {}", fmt::join(sources, ", "));
}

}  // namespace offramp
