// Several engines of the service library in this process, without a network.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "offramp/dpu/service.h"

namespace offramp::dpu_service {

// A type of the tests' own: the service reserves lower ones.
inline constexpr std::uint64_t kType = 1001;
// Two hosts, each with one DPU of two service processes.
inline constexpr const char* kPlatform =
    "# Format version: 1\n"
    "node0,dpu0:10.0.0.1:7100&7101:9100&9101\n"
    "node1,dpu1:10.0.0.2:7100&7101:9100&9101\n";

// Handlers are C functions, so they record what they see here.
/// The messages and states of one test. InProcess clears it.
struct Seen {
  std::vector<int> numbers;
  std::vector<am_header_t> headers;
  std::vector<int> states;
};
inline Seen& seen() {
  static Seen all;
  return all;
}

/// A handler that records the message. Messages shorter than a number are recorded as -1.
inline int keep(dpu_offload_ev_sys_t*, execution_context_t*, am_header_t* header, size_t length, void* data,
                size_t bytes) {
  int number = -1;
  if (bytes >= sizeof number) std::memcpy(&number, data, sizeof number);
  EXPECT_EQ(length, 56U);
  seen().numbers.push_back(number);
  seen().headers.push_back(*header);
  return 0;
}

/// A handler that also answers with the next number.
inline int answer(dpu_offload_ev_sys_t* system, execution_context_t* context, am_header_t* header,
                  size_t length, void* data, size_t bytes) {
  keep(system, context, header, length, data, bytes);
  dpu_offload_event_t* event = nullptr;
  EXPECT_EQ(event_get(system, nullptr, &event), DO_SUCCESS);
  int number = seen().numbers.back() + 1;
  EXPECT_EQ(event_channel_emit_with_payload(&event, kType + 1, nullptr, header->client_id, nullptr, &number,
                                            sizeof number),
            EVENT_DONE);
  return 0;
}

/// A test with its own fabric and configuration file. Engines live until its end.
class InProcess : public testing::Test {
 protected:
  InProcess() : fabric(offload_fabric_create()) {
    seen() = {};
    path = testing::TempDir() + "offramp_dpu_service.conf";
    std::FILE* const file = std::fopen(path.c_str(), "w");
    std::fputs(kPlatform, file);
    std::fclose(file);
  }
  ~InProcess() override {
    for (offloading_config_t& config : configs) offload_config_free(&config);
    for (offloading_engine_t*& engine : engines) {
      if (engine != nullptr) offload_engine_fini(&engine);
    }
    offload_fabric_destroy(fabric);
    std::remove(path.c_str());
  }

  /// Adds an engine. The reference stays valid while engines are added.
  offloading_engine_t*& engine() {
    offload_engine_info_t info{};
    info.fabric = fabric;
    EXPECT_EQ(offload_engine_init_with_info(&engines.emplace_back(), &info), DO_SUCCESS);
    return engines.back();
  }

  /// Lets all engines progress. passes: rounds over the engines.
  void turn(int passes = 8) {
    for (int i = 0; i < passes; ++i) {
      for (offloading_engine_t* each : engines) offload_engine_progress(each);
    }
  }

  /// Opens a server at a port of this fabric.
  execution_context_t* serve(offloading_engine_t* at, int port = 5000) {
    init_params_t params;
    conn_params_t where;
    RESET_INIT_PARAMS(&params);
    RESET_CONN_PARAMS(&where);
    where.port = port;
    params.conn_params = &where;
    return server_init(at, &params);
  }

  /// Connects to a port of this fabric. limit, stall_limit: milliseconds; 0 selects the library's default.
  execution_context_t* join(offloading_engine_t* from, int port = 5000, rank_info_t* rank = nullptr,
                            int limit = 0, int stall_limit = 0) {
    init_params_t params;
    conn_params_t where;
    RESET_INIT_PARAMS(&params);
    RESET_CONN_PARAMS(&where);
    where.addr_str = "127.0.0.1";
    where.port = port;
    params.conn_params = &where;
    params.proc_info = rank;
    params.connect_timeout_ms = limit;
    params.stall_timeout_ms = stall_limit;
    from->client = client_init(from, &params);
    return from->client;
  }

  /// Emits a number. Returns the result of event_channel_emit(), and owns no event afterwards.
  static int emit(execution_context_t* from, int number, std::uint64_t type = kType, std::uint64_t to = 0) {
    dpu_offload_event_info_t info{};
    info.payload_size = sizeof number;
    dpu_offload_event_t* event = nullptr;
    EXPECT_EQ(event_get(from->event_channels, &info, &event), DO_SUCCESS);
    std::memcpy(event->payload, &number, sizeof number);
    const int result = event_channel_emit(&event, type, nullptr, to, nullptr);
    if (result < 0) {
      EXPECT_EQ(event_return(&event), DO_SUCCESS);
    }
    EXPECT_EQ(event, nullptr);
    return result;
  }

  /// A service process of the platform. A stall_timeout_ms of 0 selects the library's default.
  offloading_engine_t* process(int id, int stall_timeout_ms = 0) {
    offloading_engine_t* const own = engine();
    offloading_config_t& config = configs.emplace_back();
    INIT_DPU_CONFIG_DATA(&config);
    config.cfg_file = path.c_str();
    config.list_dpus = "dpu0,dpu1";
    config.dpu_name = id < 2 ? "dpu0" : "dpu1";
    config.global_id = id;
    config.local_id = id % 2;
    config.service_procs_per_dpu = 2;
    EXPECT_EQ(get_dpu_config(own, &config), DO_SUCCESS) << config.error;
    if (stall_timeout_ms > 0)
      config.local_service_proc.inter_dpu_init_params.stall_timeout_ms = stall_timeout_ms;
    EXPECT_EQ(inter_dpus_connect_mgr(own, &config), DO_SUCCESS);
    return own;
  }

  /// Opens a service process to the ranks of its host.
  execution_context_t* open_to_ranks(int id) {
    init_params_t& params = configs[static_cast<std::size_t>(id)].local_service_proc.host_init_params;
    SET_DEFAULT_DPU_HOST_SERVER_CALLBACKS(&params);
    params.id = engines[static_cast<std::size_t>(id)]->num_service_procs;
    params.id_set = true;
    return server_init(engines[static_cast<std::size_t>(id)], &params);
  }

  /// A rank that connects to its service process, as the configuration file or the environment says.
  execution_context_t* rank_of(int rank, int per_host, int size) {
    offloading_engine_t* const own = engine();
    offloading_config_t& config = configs.emplace_back();
    INIT_DPU_CONFIG_DATA(&config);
    config.offloading_engine = own;
    config.cfg_file = std::getenv("DPU_OFFLOAD_SERVER_ADDR") != nullptr ? nullptr : path.c_str();
    config.host_name = rank < per_host ? "node0" : "node1.cluster";
    EXPECT_EQ(get_host_config(&config), DO_SUCCESS) << config.error;
    rank_info_t info;
    RESET_RANK_INFO(&info);
    info.group_id = 1;
    info.group_rank = rank;
    info.group_size = size;
    info.n_local_ranks = static_cast<std::uint64_t>(per_host);
    info.local_rank = rank % per_host;
    init_params_t params;
    RESET_INIT_PARAMS(&params);
    params.proc_info = &info;
    EXPECT_EQ(get_local_service_proc_connect_info(&config, &info, &params), DO_SUCCESS);
    own->client = client_init(own, &params);
    return own->client;
  }

  offload_fabric_t* fabric;
  std::string path;
  // In deques, because engine() returns references to elements.
  std::deque<offloading_engine_t*> engines;
  std::deque<offloading_config_t> configs;
};

}  // namespace offramp::dpu_service
