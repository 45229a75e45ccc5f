// The configuration file of the offload service, format version 1: the DPUs of each host, and the ports of
// their service processes.
//
//   # Format version: 1
//   node0,dpu0:10.0.0.1:7100&7101:9100&9101
//   host , DPU : address : ports for service processes : ports for ranks; & separates service processes
//
// Errors contain file, line, and reason. Malformed input that the published parser accepts is refused.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp::dpu {

/// One DPU. Both lists of ports have one entry per service process.
struct ConfiguredDpu {
  std::string name;
  std::string address;                       // IPv4
  std::vector<std::uint16_t> process_ports;  // by local id, for other service processes
  std::vector<std::uint16_t> rank_ports;     // by local id, for the host's ranks
};
/// A host and its DPUs, in order of the file.
struct ConfiguredHost {
  std::string name;
  std::vector<ConfiguredDpu> dpus;
};
/// The content of a configuration file, with hosts in its order.
struct ConfigFile {
  std::vector<ConfiguredHost> hosts;
  /// Service processes per DPU, equal for all DPUs.
  [[nodiscard]] int processes() const;
  /// Finds a DPU on any host. Null if it is not in the file.
  [[nodiscard]] const ConfiguredDpu* dpu(std::string_view name) const;
  /// The host of a DPU of this file.
  [[nodiscard]] const ConfiguredHost* host_of(const ConfiguredDpu& dpu) const;
  /// Finds a host by its full name, otherwise by its name without domain. Null if it is not in the file.
  [[nodiscard]] const ConfiguredHost* host(std::string_view name) const;
};

/// Failures are "NAME:LINE: reason".
Result<ConfigFile> parse_config(std::string_view text, std::string_view name);
/// Reads only regular files of up to 16 MiB.
Result<ConfigFile> load_config(const std::string& path);
/// The file as text that parse_config() reads back.
std::string write_config(const ConfigFile& file);
/// Equal for files with equal content. Never 0.
std::uint64_t fingerprint_of(const ConfigFile& file);
/// A platform of identical hosts: nodeN with dpuN (numbered across hosts), 10.0.x.y, ports from 7100 and
/// 9100.
ConfigFile describe_platform(int hosts, int processes, int dpus_per_host = 1);

/// One service process of a job.
/// `dpu` points into the ConfigFile, which must outlive this object.
struct ListedProcess {
  int global_id = 0;
  int local_id = 0;
  int host = 0;  // its DPU's host, in order of the list
  const ConfiguredDpu* dpu = nullptr;
};
/// In order of global ids. Refers to the ConfigFile, which must outlive it.
using ProcessList = std::vector<ListedProcess>;
/// The service processes of a comma-separated list of DPUs, whose order determines the global ids. A failure
/// names the DPU that is missing from the file or listed twice.
Result<ProcessList> list_processes(const ConfigFile& file, std::string_view dpu_list);
/// Equal for lists with the same DPUs in the same order. Never 0.
std::uint64_t fingerprint_of(const ProcessList& list);

/// The DPU that serves a rank of a host: local ranks fill the service processes of the first DPU, then those
/// of the next. dpu_list: the DPUs of the job; empty: all. Returns null if the host has none of them.
/// The result points into `host`.
const ConfiguredDpu* dpu_of_rank(const ConfiguredHost& host, std::string_view dpu_list, int processes,
                                 std::int64_t local_rank);

// --- Environment variables, with the published names. ---

/// As getenv(): returns null for a variable that is not set.
using Lookup = std::function<const char*(const char* name)>;

/// OFFLOAD_CONFIG_FILE_PATH, or else DPU_OFFLOAD_CONFIG_FILE_PATH. Empty if neither is set.
std::string config_path(const Lookup& lookup);

/// Returns whether INTER_DPU_CONN_ADDR is set and replaces the configuration file.
bool has_connection(const Lookup& lookup);
/// The configuration that INTER_DPU_CONN_ADDR and INTER_DPU_CONN_PORT (default kConnectionPort) describe.
/// They name the one address at which the second DPU of a list listens for the first. The list therefore has
/// at most two DPUs, with one service process each. Ranks then connect to DPU_OFFLOAD_SERVER_ADDR.
Result<ConfigFile> connection_of(const Lookup& lookup);
inline constexpr int kConnectionPort = 11111;  // read in [dpu-service-src]

/// A service process: global id, local id, and number per DPU. All three must be set, or none.
struct ServiceIdentity {
  int global_id = 0;
  int local_id = 0;
  int per_dpu = 1;
  std::string dpu_list;
};
/// dpu: the name of the DPU that it runs on.
/// Without the three variables, the process is the only one of its DPU.
Result<ServiceIdentity> service_identity(const Lookup& lookup, std::string_view dpu);

}  // namespace offramp::dpu
