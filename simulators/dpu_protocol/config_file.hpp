// The configuration file of the offload service, format version 1: which DPUs a host has, and at which ports
// their service processes listen.
//
//   # Format version: 1
//   node0,dpu0:10.0.0.1:7100&7101:9100&9101
//   host , DPU : address : ports for service processes : ports for ranks; & separates service processes
//
// Errors are refused with file, line and reason; where the published parser takes garbage, this one does not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp::dpu {

struct ConfiguredDpu {
  std::string name;
  std::string address;                       // IPv4
  std::vector<std::uint16_t> process_ports;  // by local id, for other service processes
  std::vector<std::uint16_t> rank_ports;     // by local id, for the host's ranks
};
struct ConfiguredHost {
  std::string name;
  std::vector<ConfiguredDpu> dpus;
};
struct ConfigFile {
  std::vector<ConfiguredHost> hosts;
  /// Per DPU; the same for all of them.
  [[nodiscard]] int processes() const;
  [[nodiscard]] const ConfiguredDpu* dpu(std::string_view name) const;
  /// Of a DPU of this file.
  [[nodiscard]] const ConfiguredHost* host_of(const ConfiguredDpu& dpu) const;
  /// By the whole name, or by the name without its domain where the file has none. Null: not in the file.
  [[nodiscard]] const ConfiguredHost* host(std::string_view name) const;
};

/// A failure is "NAME:LINE: reason".
Result<ConfigFile> parse_config(std::string_view text, std::string_view name);
Result<ConfigFile> load_config(const std::string& path);
/// The text of a file; parse_config() gives it back.
std::string write_config(const ConfigFile& file);
/// The same for files that say the same. Never 0.
std::uint64_t fingerprint_of(const ConfigFile& file);
/// A platform of equal hosts: nodeN with its DPUs (dpuN, counted through) at 10.0.x.y, ports from 7100 and
/// 9100 on.
ConfigFile describe_platform(int hosts, int processes, int dpus_per_host = 1);

/// One service process of a job.
struct ListedProcess {
  int global_id = 0;
  int local_id = 0;
  int host = 0;  // of its DPU, in the order of the list
  const ConfiguredDpu* dpu = nullptr;
};
using ProcessList = std::vector<ListedProcess>;
/// The service processes of the DPUs in a comma-separated list, whose order gives the global ids. A failure
/// names the entry that is not in the file.
Result<ProcessList> list_processes(const ConfigFile& file, std::string_view dpu_list);
/// The same for lists with the same DPUs in the same order. Never 0.
std::uint64_t fingerprint_of(const ProcessList& list);

/// The DPU that serves a rank of a host: local ranks take all service processes of the first one, then of the
/// next. dpu_list: the DPUs of the job, of which the host may have more; empty: all. Null: the host has none.
const ConfiguredDpu* dpu_of_rank(const ConfiguredHost& host, std::string_view dpu_list, int processes,
                                 std::int64_t local_rank);

// --- Environment, with the published names. ---

using Lookup = std::function<const char*(const char* name)>;

/// OFFLOAD_CONFIG_FILE_PATH, then DPU_OFFLOAD_CONFIG_FILE_PATH; empty: neither is set.
std::string config_path(const Lookup& lookup);

/// Whether the environment stands for a configuration file: INTER_DPU_CONN_ADDR is set.
bool has_connection(const Lookup& lookup);
/// The file that INTER_DPU_CONN_ADDR and INTER_DPU_CONN_PORT stand for (not set: kConnectionPort). They name
/// one address, at which the second DPU of a list listens for the first: so a list has one or two, with one
/// service process each. Ranks then connect by DPU_OFFLOAD_SERVER_ADDR.
Result<ConfigFile> connection_of(const Lookup& lookup);
inline constexpr int kConnectionPort = 11111;  // read in [dpu-service-src]

/// Who a service process is: global id, local id and number per DPU, all three or none.
struct ServiceIdentity {
  int global_id = 0;
  int local_id = 0;
  int per_dpu = 1;
  std::string dpu_list;
};
/// dpu: the name of the DPU it runs on.
Result<ServiceIdentity> service_identity(const Lookup& lookup, std::string_view dpu);

}  // namespace offramp::dpu
