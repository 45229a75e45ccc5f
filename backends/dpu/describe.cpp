// Addresses and ports are those of a generic platform with as many DPUs; only names and the number of DPUs
// per host come from the words. The comments use the Placement of the model, so they show the DPU that a rank
// has in a run. The text is parsed again before it is returned, since names are user input.
#include "backends/dpu/describe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "simulators/dpu_protocol/config_file.hpp"

namespace offramp::dpu {
namespace {

constexpr int kMostNodes = 1024;
constexpr int kMostHosts = 10'000;

// A host as the words describe it.
struct Host {
  std::string name;
  std::vector<std::string> dpus;
  std::vector<int> dpu_nodes;  // NUMA
  std::vector<int> cores;      // their NUMA nodes
  std::vector<int> distances;

  [[nodiscard]] int numa_nodes() const {
    int most = 0;
    for (const std::vector<int>* list : {&dpu_nodes, &cores}) {
      for (const int node : *list) most = std::max(most, node);
    }
    return most + 1;
  }
  /// The distance of two NUMA nodes; nullopt if it is unknown.
  [[nodiscard]] std::optional<int> distance(int from, int to) const {
    const int all = numa_nodes();
    if (static_cast<int>(distances.size()) != all * all) return std::nullopt;
    return distances[static_cast<std::size_t>(from) * static_cast<std::size_t>(all) +
                     static_cast<std::size_t>(to)];
  }
};

// Whole numbers from 0 to `most`.
std::optional<int> number(std::string_view text, int most) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most)
    return std::nullopt;
  return value;
}

// Numbers separated by commas. Returns false for other texts.
bool numbers(std::string_view text, int most, std::vector<int>& values) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::optional<int> value = number(text.substr(0, comma), most);
    if (!value) return false;
    values.push_back(*value);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return !values.empty();
}

// Adds one word to the list. Returns false if it is no part of a host.
bool parse_hosts(std::string_view key, std::string_view value, std::vector<Host>& hosts) {
  if (value.empty()) return false;
  if (key == "host") {
    hosts.emplace_back().name = value;
    return true;
  }
  // All other words describe the last host.
  if (hosts.empty()) return false;
  Host& host = hosts.back();
  if (key == "dpu") {
    const std::size_t at = value.rfind('@');
    const std::optional<int> node =
        at == std::string_view::npos ? std::nullopt : number(value.substr(at + 1), kMostNodes);
    if (!node || at == 0) return false;
    host.dpus.emplace_back(value.substr(0, at));
    host.dpu_nodes.push_back(*node);
    return true;
  }
  if (key == "cores") return numbers(value, kMostNodes, host.cores);
  return key == "distances" && numbers(value, 1'000'000, host.distances);
}

/// Lists the DPU of each local rank, if ranks use the cores in order.
std::string comments(const PlatformSpec& spec, const Host& host) {
  const Placement placement{spec.ranks_per_node, spec.processes, static_cast<int>(host.dpus.size())};
  const auto dpu_of = [&](int rank) { return static_cast<std::size_t>(placement.dpu(rank)); };
  std::string text = fmt::format("# {}: addresses and ports are examples\n", host.name);
  if (host.cores.empty()) return text;
  int far = 0;
  int far_by_node = 0;
  const int nodes = host.numa_nodes();
  for (int rank = 0; rank < spec.ranks_per_node; ++rank) {
    // More ranks than cores share them in turn.
    const int own = host.cores[static_cast<std::size_t>(rank) % host.cores.size()];
    const int its = host.dpu_nodes[dpu_of(rank)];
    text += fmt::format("# {}: local rank {} (NUMA node {}): {} (NUMA node {}), local id {}", host.name, rank,
                        own, host.dpus[dpu_of(rank)], its, placement.local_id(rank));
    if (own != its) text += ", far";
    const std::optional<int> away = host.distance(own, its);
    const std::optional<int> near = host.distance(own, own);
    if (own != its && away && near) text += fmt::format(" (distance {} instead of {})", *away, *near);
    text += '\n';
    far += own != its ? 1 : 0;
    // -map-by numa places ranks round-robin.
    far_by_node += rank % nodes != its ? 1 : 0;
  }
  return text + fmt::format("# {}: {} of {} ranks are far from their DPU; with mpirun --map-by numa {}\n",
                            host.name, far, spec.ranks_per_node, far_by_node);
}

}  // namespace

Described describe_hosts(const PlatformSpec& spec, std::span<const std::string> words) {
  Described described;
  std::vector<Host> hosts;
  for (const std::string& word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view key = std::string_view(word).substr(0, equals);
    const std::string_view value = std::string_view(word).substr(std::min(equals + 1, word.size()));
    if (key == "hosts" && words.size() == 1) {
      const std::optional<int> count = number(value, kMostHosts);
      if (count && *count > 0) {
        described.text = write_config(describe_platform(*count, spec.processes, spec.dpus));
      } else {
        described.error = fmt::format("hosts={}: not a whole number from 1 to {}", value, kMostHosts);
      }
      return described;
    }
    if (!parse_hosts(key, value, hosts)) {
      described.error = fmt::format(
          "\"{}\" does not describe a host; arguments: hosts=N, machine, topology=FILE.xml, the name of a "
          "configuration file, or host=NAME dpu=NAME@NODE cores=NODE,... distances=N,...",
          word);
      return described;
    }
  }
  int all = 0;
  for (const Host& host : hosts) all += static_cast<int>(host.dpus.size());
  // Addresses must differ between all DPUs.
  const ConfigFile examples = describe_platform(all, spec.processes);
  ConfigFile file;
  std::string remarks;
  std::size_t next = 0;
  for (const Host& host : hosts) {
    if (host.dpus.empty()) {
      described.error = fmt::format("host {} has no DPU", host.name);
      return described;
    }
    ConfiguredHost& written = file.hosts.emplace_back();
    written.name = host.name;
    for (const std::string& name : host.dpus) {
      written.dpus.push_back(examples.hosts[next++].dpus.front());
      written.dpus.back().name = name;
    }
    remarks += comments(spec, host);
  }
  const std::string text = write_config(file);
  // Names are user input: only a file that can be parsed again is returned.
  described.error = parse_config(text, "the description").error();
  const std::size_t first = text.find('\n') + 1;
  if (described.error.empty()) described.text = text.substr(0, first) + remarks + text.substr(first);
  return described;
}

}  // namespace offramp::dpu
