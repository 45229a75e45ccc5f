// Parser reads the configuration file line by line and refuses it at the first error. The other functions
// read the alternatives in environment variables: config_path(), connection_of(), and service_identity().
// They use a Lookup, so that arguments can override the environment and tests need none.
#include "simulators/dpu_protocol/config_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>

#include "offramp/kernel/hash.hpp"

namespace offramp::dpu {
namespace {

constexpr std::size_t kMostProcesses = 256;  // limit of the published service
constexpr std::string_view kVersionText = "Format version:";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

void skip_spaces(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

/// The whole text must be a decimal number.
std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The allowed characters exclude all separators of the format.
bool is_name(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  };
  return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), allowed);
}

bool is_address(std::string_view text) {
  const auto parts = split(text, '.');
  return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
           const auto value = number(part);
           return part.size() <= 3 && value && *value >= 0 && *value <= 255;
         });
}

std::string text_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

/// For messages, since the file's content is arbitrary.
std::string quoted(std::string_view text) {
  std::string shown = "\"";
  for (const char c : text.substr(0, 60)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown + '"';
}

/// Counts lines for its messages.
class Parser {
 public:
  explicit Parser(std::string_view name) : name_(name) {}

  Result<ConfigFile> parse(std::string_view text) {
    for (const std::string_view raw : split(text, '\n')) {
      ++line_;
      std::string_view line = raw;
      // Lines may end with CR LF.
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      const Result<void> taken = line_ == 1 ? check_version(line) : parse_line(line);
      if (!taken) return failure(text_of({name_, ":", std::to_string(line_), ": ", taken.error()}));
    }
    return std::move(file_);
  }

 private:
  static Result<void> check_version(std::string_view line) {
    skip_spaces(line);
    const bool comment = !line.empty() && line.front() == '#';
    if (comment) line.remove_prefix(1);
    skip_spaces(line);
    if (!comment || !line.starts_with(kVersionText))
      return failure("the first line must be \"# Format version: 1\"");
    line.remove_prefix(kVersionText.size());
    skip_spaces(line);
    const auto value = number(line);
    if (!value) return failure(text_of({"the format version ", quoted(line), " is not a number"}));
    if (*value != 1)
      return failure(text_of({"format version ", std::to_string(*value), " is unknown; only 1 is"}));
    return {};
  }

  Result<void> parse_line(std::string_view line) {
    std::string_view begin = line;
    skip_spaces(begin);
    if (begin.empty() || begin.front() == '#') return {};
    const auto fields = split(line, ',');
    ConfiguredHost host;
    host.name = fields.front();
    if (!is_name(host.name))
      return failure(text_of({"host name ", quoted(fields.front()), " is not a name"}));
    if (fields.size() < 2) return failure(text_of({"host ", quoted(host.name), " has no DPU"}));
    for (const ConfiguredHost& other : file_.hosts) {
      if (other.name == host.name) return failure(text_of({"host ", quoted(host.name), " is listed twice"}));
    }
    for (std::size_t i = 1; i < fields.size(); ++i) {
      if (const Result<void> done = parse_dpu(fields[i], host); !done) return done;
    }
    file_.hosts.push_back(std::move(host));
    return {};
  }

  Result<void> parse_dpu(std::string_view text, ConfiguredHost& host) {
    const auto fields = split(text, ':');
    if (fields.size() != 4) {
      return failure(text_of({"DPU ", quoted(text), " has ", std::to_string(fields.size()),
                              " fields instead of four: name:IPv4 address:ports:ports"}));
    }
    ConfiguredDpu dpu;
    dpu.name = fields[0];
    dpu.address = fields[1];
    if (!is_name(dpu.name)) return failure(text_of({"DPU name ", quoted(dpu.name), " is not a name"}));
    if (!is_address(dpu.address)) return failure(text_of({quoted(dpu.address), " is not an IPv4 address"}));
    const auto same_name = [&dpu](const ConfiguredDpu& other) { return other.name == dpu.name; };
    // A list of DPUs contains only names, so they are unique in the whole file.
    if (file_.dpu(dpu.name) != nullptr || std::any_of(host.dpus.begin(), host.dpus.end(), same_name))
      return failure(text_of({"DPU ", quoted(dpu.name), " is listed twice"}));
    for (auto* ports : {&dpu.process_ports, &dpu.rank_ports}) {
      const std::string_view list = ports == &dpu.process_ports ? fields[2] : fields[3];
      if (const Result<void> done = parse_ports(list, *ports); !done) return done;
    }
    return parse_counts(std::move(dpu), host);
  }

  static Result<void> parse_ports(std::string_view list, std::vector<std::uint16_t>& ports) {
    for (const std::string_view text : split(list, '&')) {
      const auto port = number(text);
      if (!port || *port < 1 || *port > 65535)
        return failure(text_of({"port ", quoted(text), " is not in 1 .. 65535"}));
      ports.push_back(static_cast<std::uint16_t>(*port));
    }
    return {};
  }

  Result<void> parse_counts(ConfiguredDpu dpu, ConfiguredHost& host) {
    const std::size_t count = dpu.process_ports.size();
    if (count != dpu.rank_ports.size()) {
      return failure(text_of({"DPU ", quoted(dpu.name), " has ", std::to_string(count),
                              " ports for service processes and ", std::to_string(dpu.rank_ports.size()),
                              " for ranks; each service process needs one of each"}));
    }
    if (count > kMostProcesses) return failure("a DPU has at most 256 service processes");
    // Global ids require equal numbers on all DPUs, see service_identity().
    if (processes_ == 0) processes_ = count;
    if (count != processes_) {
      return failure(text_of({"DPU ", quoted(dpu.name), " has ", std::to_string(count),
                              " service processes, others have ", std::to_string(processes_)}));
    }
    // Each process listens on two ports of its own.
    std::vector<std::uint16_t> all = dpu.process_ports;
    all.insert(all.end(), dpu.rank_ports.begin(), dpu.rank_ports.end());
    // All service processes of a DPU share its address.
    std::sort(all.begin(), all.end());
    if (std::adjacent_find(all.begin(), all.end()) != all.end())
      return failure(text_of({"DPU ", quoted(dpu.name), " uses a port twice"}));
    host.dpus.push_back(std::move(dpu));
    return {};
  }

  std::string name_;
  ConfigFile file_;
  std::size_t processes_ = 0;
  int line_ = 0;
};

std::string joined(const std::vector<std::uint16_t>& ports) {
  std::string text;
  for (const std::uint16_t port : ports) {
    if (!text.empty()) text += '&';
    text += std::to_string(port);
  }
  return text;
}

}  // namespace

int ConfigFile::processes() const {
  // Parser ensures that each host has a DPU, and that all numbers are equal.
  return hosts.empty() ? 0 : static_cast<int>(hosts.front().dpus.front().process_ports.size());
}

const ConfiguredDpu* ConfigFile::dpu(std::string_view name) const {
  for (const ConfiguredHost& each : hosts) {
    for (const ConfiguredDpu& one : each.dpus) {
      if (one.name == name) return &one;
    }
  }
  return nullptr;
}

const ConfiguredHost* ConfigFile::host_of(const ConfiguredDpu& dpu) const {
  for (const ConfiguredHost& host : hosts) {
    for (const ConfiguredDpu& each : host.dpus) {
      if (&each == &dpu) return &host;
    }
  }
  return nullptr;
}

const ConfiguredHost* ConfigFile::host(std::string_view name) const {
  // Host names may include a domain that the file omits.
  const std::string_view bare = name.substr(0, name.find('.'));
  // The full name takes precedence on all hosts.
  for (const std::string_view wanted : {name, bare}) {
    for (const ConfiguredHost& each : hosts) {
      if (each.name == wanted) return &each;
    }
  }
  return nullptr;
}

Result<ConfigFile> parse_config(std::string_view text, std::string_view name) {
  return Parser(name).parse(text);
}

Result<ConfigFile> load_config(const std::string& path) {
  constexpr off_t kLargestFile = 16 << 20;
  const Failure refused = failure(text_of({path, ":0: cannot be read"}));
  struct stat status {};
  // Pipes and devices may be endless.
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return refused;
  if (status.st_size > kLargestFile) return failure(text_of({path, ":0: is larger than 16 MiB"}));
  std::ifstream file(path, std::ios::binary);
  if (!file) return refused;
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return refused;
  return parse_config(text, path);
}

std::string write_config(const ConfigFile& file) {
  std::string text = "# Format version: 1\n";
  for (const ConfiguredHost& host : file.hosts) {
    text += host.name;
    for (const ConfiguredDpu& dpu : host.dpus) {
      text += text_of(
          {",", dpu.name, ":", dpu.address, ":", joined(dpu.process_ports), ":", joined(dpu.rank_ports)});
    }
    text += '\n';
  }
  return text;
}

ConfigFile describe_platform(int hosts, int processes, int dpus_per_host) {
  constexpr int kProcessPorts = 7100;
  constexpr int kRankPorts = 9100;
  ConfigFile file;
  for (int i = 0; i < hosts * dpus_per_host; ++i) {
    if (i % dpus_per_host == 0)
      file.hosts.push_back({text_of({"node", std::to_string(i / dpus_per_host)}), {}});
    ConfiguredDpu& dpu = file.hosts.back().dpus.emplace_back();
    dpu.name = text_of({"dpu", std::to_string(i)});
    // 250 addresses per third number avoid 0 and 255 at the end.
    dpu.address = text_of({"10.0.", std::to_string(i / 250), ".", std::to_string(i % 250 + 1)});
    for (int id = 0; id < processes; ++id) {
      dpu.process_ports.push_back(static_cast<std::uint16_t>(kProcessPorts + id));
      dpu.rank_ports.push_back(static_cast<std::uint16_t>(kRankPorts + id));
    }
  }
  return file;
}

Result<ProcessList> list_processes(const ConfigFile& file, std::string_view dpu_list) {
  ProcessList list;
  std::vector<std::string_view> seen;
  std::vector<const ConfiguredHost*> hosts;
  for (const std::string_view name : split(dpu_list, ',')) {
    const ConfiguredDpu* const dpu = file.dpu(name);
    if (dpu == nullptr || std::find(seen.begin(), seen.end(), name) != seen.end())
      return failure(text_of({"DPU ", quoted(name), " of the list ",
                              dpu == nullptr ? "is not in the configuration file" : "occurs twice"}));
    seen.push_back(name);
    const ConfiguredHost* const host = file.host_of(*dpu);
    // Hosts are numbered in the order in which the list first reaches them.
    auto place = std::find(hosts.begin(), hosts.end(), host);
    if (place == hosts.end()) place = hosts.insert(place, host);
    for (int id = 0; id < file.processes(); ++id)
      list.push_back({static_cast<int>(list.size()), id, static_cast<int>(place - hosts.begin()), dpu});
  }
  return list;
}

const ConfiguredDpu* dpu_of_rank(const ConfiguredHost& host, std::string_view dpu_list, int processes,
                                 std::int64_t local_rank) {
  const auto names = split(dpu_list, ',');
  std::vector<const ConfiguredDpu*> own;
  for (const ConfiguredDpu& dpu : host.dpus) {
    if (dpu_list.empty() || std::find(names.begin(), names.end(), dpu.name) != names.end())
      own.push_back(&dpu);
  }
  if (own.empty() || processes < 1) return nullptr;
  const auto place = static_cast<std::uint64_t>(std::max<std::int64_t>(local_rank, 0) / processes);
  // Ranks beyond the last DPU begin again with the first.
  return own[place % own.size()];
}

namespace {

std::uint64_t fingerprint(std::string_view text) {
  const std::uint64_t hash = fnv1a_64(bytes_of(text));
  return hash == 0 ? 1 : hash;
}

}  // namespace

std::uint64_t fingerprint_of(const ConfigFile& file) {
  return fingerprint(write_config(file));
}

std::uint64_t fingerprint_of(const ProcessList& list) {
  std::string text;
  for (const ListedProcess& process : list) text += process.dpu->name + ',';
  return fingerprint(text);
}

std::string config_path(const Lookup& lookup) {
  for (const char* name : {"OFFLOAD_CONFIG_FILE_PATH", "DPU_OFFLOAD_CONFIG_FILE_PATH"}) {
    if (const char* value = lookup(name); value != nullptr && *value != '\0') return value;
  }
  return {};
}

bool has_connection(const Lookup& lookup) {
  const char* const address = lookup("INTER_DPU_CONN_ADDR");
  return address != nullptr && *address != '\0';
}

Result<ConfigFile> connection_of(const Lookup& lookup) {
  const char* const address = lookup("INTER_DPU_CONN_ADDR");
  const char* const port_text = lookup("INTER_DPU_CONN_PORT");
  const char* const list = lookup("DPU_OFFLOAD_LIST_DPUS");
  const auto port = port_text == nullptr ? std::optional<int>(kConnectionPort) : number(port_text);
  if (address == nullptr || !is_address(address))
    return failure(text_of(
        {"INTER_DPU_CONN_ADDR is ", quoted(address == nullptr ? "" : address), ", not an IPv4 address"}));
  if (!port || *port < 1 || *port > 65535)
    return failure(text_of({"INTER_DPU_CONN_PORT is ", quoted(port_text), ", not 1 to 65535"}));
  if (list == nullptr) return failure("DPU_OFFLOAD_LIST_DPUS is not set");
  const auto names = split(list, ',');
  if (names.size() > 2)
    return failure(text_of({"INTER_DPU_CONN_ADDR names one address: with ", std::to_string(names.size()),
                            " DPUs a configuration file is needed"}));
  ConfigFile file;
  for (const std::string_view name : names) {
    ConfiguredDpu dpu;
    dpu.name = name;
    dpu.address = address;
    dpu.process_ports = {static_cast<std::uint16_t>(*port)};
    dpu.rank_ports = {0};  // set in the environment
    file.hosts.push_back({"", {std::move(dpu)}});
  }
  return file;
}

Result<ServiceIdentity> service_identity(const Lookup& lookup, std::string_view dpu) {
  constexpr std::array<const char*, 3> kNames = {"DPU_OFFLOAD_SERVICE_PROCESS_GLOBAL_ID",
                                                 "DPU_OFFLOAD_SERVICE_PROCESS_LOCAL_ID",
                                                 "DPU_OFFLOAD_SERVICE_PROCESSES_PER_DPU"};
  ServiceIdentity identity;
  const char* const list = lookup("DPU_OFFLOAD_LIST_DPUS");
  if (list == nullptr) return failure("DPU_OFFLOAD_LIST_DPUS is not set");
  identity.dpu_list = list;
  const auto dpus = split(identity.dpu_list, ',');
  const auto own = std::find(dpus.begin(), dpus.end(), dpu);
  if (own == dpus.end()) return failure(text_of({"DPU ", quoted(dpu), " is not in DPU_OFFLOAD_LIST_DPUS"}));
  const int place = static_cast<int>(own - dpus.begin());
  // Without these variables, each DPU has one process, numbered by the list.
  std::array<int, 3> values = {place, 0, 1};
  int set = 0;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const char* const text = lookup(kNames[i]);
    if (text == nullptr) continue;
    ++set;
    const auto value = number(text);
    if (!value || *value < 0) return failure(text_of({std::string(kNames[i]), " is ", quoted(text)}));
    values[i] = *value;
  }
  if (set != 0 && set != 3)
    return failure("set all or none of the three variables of a service process's ids");
  const auto [global_id, local_id, per_dpu] = values;
  if (per_dpu < 1 || local_id >= per_dpu || global_id != place * per_dpu + local_id)
    return failure("the ids are inconsistent: global id = index of the DPU x processes per DPU + local id");
  identity.global_id = global_id;
  identity.local_id = local_id;
  identity.per_dpu = per_dpu;
  return identity;
}

}  // namespace offramp::dpu
