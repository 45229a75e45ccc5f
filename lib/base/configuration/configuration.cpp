// Helpers of Configuration, and the parts of the key table that depend on the backends.
#include "lib/base/configuration/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "lib/base/configuration/configuration_keys.hpp"
#include "offramp/kernel/immortal.hpp"

namespace offramp {

MachineLayout MachineOptions::layout(int ranks) const {
  // Rounded up, so that no rank is left without a node.
  const int dealt = nodes > 0 ? (ranks - 1) / nodes + 1 : 1;
  return {ranks_per_node > 0 ? ranks_per_node : dealt, sockets_per_node, cards_per_node, links_per_card};
}

Result<void> MachineOptions::fits(int ranks) const {
  const MachineLayout machine = layout(ranks);
  if (nodes == 0 || machine.nodes(ranks) <= nodes) return {};
  return failure(fmt::format("machine.nodes: {} ranks with {} per node need {} nodes, but the machine has {}",
                             ranks, machine.ranks_per_node, machine.nodes(ranks), nodes));
}

std::optional<CallRange> parse_calls(std::string_view text) {
  if (text == "none") return CallRange();
  CallRange calls{1, std::numeric_limits<std::uint64_t>::max()};
  if (text == "all") return calls;
  const char* const end = text.data() + text.size();
  // A single call is a range of one.
  auto [stop, error] = std::from_chars(text.data(), end, calls.first);
  calls.last = calls.first;
  if (error == std::errc() && stop != end && *stop == '-') {
    const auto last = std::from_chars(stop + 1, end, calls.last);
    stop = last.ptr;
    error = last.ec;
  }
  if (error != std::errc() || stop != end || calls.first == 0 || calls.first > calls.last)
    return std::nullopt;
  return calls;
}

std::vector<std::string> Configuration::settled_backends() const {
  std::vector<std::string> names = {backend};
  const auto add = [&names](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  if (!compared.empty()) add(std::string(baseline_name()));
  for (const std::string& name : compared) add(name);
  return names;
}

std::vector<std::string> Configuration::backends_in_use() const {
  std::vector<std::string> names = settled_backends();
  for (const Route& route : routes) {
    if (std::find(names.begin(), names.end(), route.backend) == names.end()) names.push_back(route.backend);
  }
  return names;
}

Result<Settings> Configuration::settings_for(const BackendDescription& description) const {
  const auto section = sections.find(std::string(description.name));
  return read_settings(description, section == sections.end() ? Section() : section->second);
}

std::span<const Key> configuration_keys() {
  static const auto& keys =
      // Never destroyed: threads may still ask at the exit.
      immortal(std::vector<Key>(configuration_rows().begin(), configuration_rows().end()));
  return keys;
}

std::string allowed_text(const Key& key, const Registry& registry) {
  std::string text(key.allowed);
  if (const auto at = text.find(kBackends); at != std::string::npos) {
    text.replace(at, kBackends.size(), fmt::format("{}", fmt::join(registry.names(), ", ")));
  }
  return text;
}

std::map<std::string, std::string> variables_by_key(const Registry& registry) {
  std::map<std::string, std::string> variables;
  for (const Row& row : configuration_rows()) {
    if (!row.variable.empty() && !row.path.empty()) variables.emplace(row.path, row.variable);
  }
  for (const BackendDescription* description : registry.all()) {
    for (const Parameter& parameter : description->parameters) {
      variables.emplace(fmt::format("{}.{}", description->name, parameter.name),
                        variable_name(description->name, parameter.name));
    }
  }
  return variables;
}

}  // namespace offramp
