// The C interface of engines, configurations, and contexts. One object (Loaded) owns all data to which a
// loaded configuration's C structures point, until offload_config_free(). Members of the structure override
// the environment (class Settings), which overrides defaults.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "lib/services/dpu_service/engine.hpp"
#include "simulators/dpu_protocol/config_file.hpp"

using namespace offramp::dpu;

namespace {

/// The data of a loaded configuration; conn_params and texts point into it.
struct Loaded {
  ConfigFile file;
  bool from_environment = false;  // without a file: INTER_DPU_CONN_ADDR
  ServiceIdentity identity;
  ProcessList list;
  std::deque<std::string> texts;
  std::deque<conn_params_t> params;

  conn_params_t* params_for(const std::string& address, std::uint16_t port) {
    return &params.emplace_back(conn_params_t{texts.emplace_back(address).c_str(), nullptr, port});
  }
};

Loaded& loaded_of(const offloading_config_t& config) {
  return *static_cast<Loaded*>(config.loaded);
}

dpu_offload_status_t refuse(offloading_config_t& config, const std::string& reason) {
  std::snprintf(config.error, sizeof config.error, "%s", reason.c_str());
  if (config.offloading_engine != nullptr) engine_of(config.offloading_engine).fail(reason);
  return DO_ERROR;
}

/// Reads members of the configuration, then the environment.
class Settings {
 public:
  explicit Settings(const offloading_config_t& config)
      : config_(config),
        ids_{number(config.global_id), number(config.local_id), number(config.service_procs_per_dpu)} {}

  const char* operator()(std::string_view name) const {
    if (name == "DPU_OFFLOAD_LIST_DPUS" && config_.list_dpus != nullptr) return config_.list_dpus;
    constexpr std::array<std::string_view, 3> kIds = {"DPU_OFFLOAD_SERVICE_PROCESS_GLOBAL_ID",
                                                      "DPU_OFFLOAD_SERVICE_PROCESS_LOCAL_ID",
                                                      "DPU_OFFLOAD_SERVICE_PROCESSES_PER_DPU"};
    for (std::size_t i = 0; i < kIds.size(); ++i) {
      if (name == kIds[i] && !ids_[i].empty()) return ids_[i].c_str();
    }
    return secure_getenv(std::string(name).c_str());
  }
  static std::string name_of(const char* given, const char* variable) {
    if (given != nullptr) return given;
    if (const char* value = secure_getenv(variable)) return value;
    std::array<char, 256> name{};
    (void)gethostname(name.data(), name.size() - 1);
    return name.data();
  }

 private:
  static std::string number(std::int64_t value) { return value < 0 ? std::string() : std::to_string(value); }
  const offloading_config_t& config_;
  std::array<std::string, 3> ids_;
};

dpu_offload_status_t load(offloading_config_t& config) {
  offload_config_free(&config);
  config.error[0] = '\0';
  const Settings settings(config);
  const std::string path = config.cfg_file != nullptr ? config.cfg_file : config_path(settings);
  const bool connection = path.empty() && has_connection(settings);
  if (path.empty() && !connection)
    return refuse(config,
                  "no configuration file: neither cfg_file nor OFFLOAD_CONFIG_FILE_PATH nor "
                  "INTER_DPU_CONN_ADDR is set");
  offramp::Result<ConfigFile> file = connection ? connection_of(settings) : load_config(path);
  if (!file) return refuse(config, file.error());
  auto loaded = std::make_unique<Loaded>();
  loaded->from_environment = connection;
  loaded->file = std::move(*file);
  config.loaded = loaded.release();
  return DO_SUCCESS;
}

dpu_offload_status_t find_process(offloading_config_t& config) {
  Loaded& loaded = loaded_of(config);
  const Settings settings(config);
  offramp::Result<ServiceIdentity> identity =
      service_identity([&settings](const char* name) { return settings(name); },
                       Settings::name_of(config.dpu_name, "DPU_OFFLOAD_DPU_NAME"));
  if (!identity) return refuse(config, identity.error());
  offramp::Result<ProcessList> list = list_processes(loaded.file, identity->dpu_list);
  if (!list) return refuse(config, list.error());
  if (identity->per_dpu != loaded.file.processes())
    return refuse(config, "the file has " + std::to_string(loaded.file.processes()) +
                              " service processes per DPU, not " + std::to_string(identity->per_dpu));
  loaded.identity = std::move(*identity);
  loaded.list = std::move(*list);
  return DO_SUCCESS;
}

}  // namespace

offload_fabric_t* offload_fabric_create(void) {
  return new (std::nothrow) offload_fabric;
}

void offload_fabric_destroy(offload_fabric_t* fabric) {
  delete fabric;
}

dpu_offload_status_t offload_engine_init(offloading_engine_t** engine) {
  const offload_engine_info_t info{};
  return offload_engine_init_with_info(engine, &info);
}

dpu_offload_status_t offload_engine_init_with_info(offloading_engine_t** engine,
                                                   const offload_engine_info_t* info) {
  if (engine == nullptr || info == nullptr) return DO_ERROR;
  *engine = new (std::nothrow) ServiceEngine(*info);
  return *engine == nullptr ? DO_ERROR : DO_SUCCESS;
}

dpu_offload_status_t offload_engine_fini(offloading_engine_t** engine) {
  if (engine == nullptr || *engine == nullptr) return DO_ERROR;
  delete &engine_of(*engine);
  *engine = nullptr;
  return DO_SUCCESS;
}

void offload_engine_progress(offloading_engine_t* engine) {
  if (engine != nullptr) engine_of(engine).progress();
}

void lib_progress(execution_context_t* econtext) {
  if (econtext != nullptr) offload_engine_progress(econtext->engine);
}

const char* offload_engine_error(const offloading_engine_t* engine) {
  return engine == nullptr ? "no engine" : static_cast<const ServiceEngine*>(engine)->error().c_str();
}

dpu_offload_status_t get_dpu_config(offloading_engine_t* engine, offloading_config_t* config) {
  if (engine == nullptr || config == nullptr) return DO_ERROR;
  config->offloading_engine = engine;
  if (load(*config) != DO_SUCCESS || find_process(*config) != DO_SUCCESS) return DO_ERROR;
  Loaded& loaded = loaded_of(*config);
  const auto id = static_cast<std::size_t>(loaded.identity.global_id);
  const auto local = static_cast<std::size_t>(loaded.identity.local_id);
  const ListedProcess& own = loaded.list[id];
  config->num_service_procs = loaded.list.size();
  local_service_proc_t& process = config->local_service_proc;
  process.global_id = id;
  process.local_id = local;
  RESET_INIT_PARAMS(&process.inter_dpu_init_params);
  RESET_INIT_PARAMS(&process.host_init_params);
  process.inter_dpu_init_params.scope_id = SCOPE_INTER_SERVICE_PROCS;
  process.inter_dpu_init_params.conn_params =
      loaded.params_for(own.dpu->address, own.dpu->process_ports[local]);
  process.inter_dpu_init_params.id = id;
  process.inter_dpu_init_params.id_set = true;
  // Without a file: DPU_OFFLOAD_SERVER_ADDR and DPU_OFFLOAD_SERVER_PORT.
  if (!loaded.from_environment)
    process.host_init_params.conn_params = loaded.params_for(own.dpu->address, own.dpu->rank_ports[local]);
  Hello agreed;
  agreed.per_dpu = static_cast<std::uint64_t>(loaded.identity.per_dpu);
  agreed.config = fingerprint_of(loaded.file);
  agreed.list = fingerprint_of(loaded.list);
  std::vector<ProcessPlace> places;
  for (const ListedProcess& each : loaded.list) {
    const auto port = each.dpu->rank_ports[static_cast<std::size_t>(each.local_id)];
    places.push_back({each.host, each.dpu->address, port});
  }
  engine_of(engine).become_service_process(id, std::move(places), agreed);
  return DO_SUCCESS;
}

dpu_offload_status_t get_host_config(offloading_config_t* config) {
  if (config == nullptr) return DO_ERROR;
  const Settings settings(*config);
  const bool file = config->cfg_file != nullptr || !config_path(settings).empty();
  if (file || settings("DPU_OFFLOAD_SERVER_ADDR") == nullptr) return load(*config);
  // A rank only needs the address of its service process.
  offload_config_free(config);
  config->error[0] = '\0';
  auto loaded = std::make_unique<Loaded>();
  loaded->from_environment = true;
  config->loaded = loaded.release();
  return DO_SUCCESS;
}

dpu_offload_status_t get_local_service_proc_connect_info(const offloading_config_t* config,
                                                         const rank_info_t* rank, init_params_t* params) {
  if (config == nullptr || config->loaded == nullptr || rank == nullptr || params == nullptr) return DO_ERROR;
  Loaded& loaded = loaded_of(*config);
  if (loaded.from_environment) {
    params->conn_params = nullptr;
    return DO_SUCCESS;
  }
  const auto fail = [config](const std::string& reason) {
    if (config->offloading_engine != nullptr) engine_of(config->offloading_engine).fail(reason);
    return DO_ERROR;
  };
  const std::string name = Settings::name_of(config->host_name, "DPU_OFFLOAD_HOST_NAME");
  const ConfiguredHost* const host = loaded.file.host(name);
  if (host == nullptr) return fail("host \"" + name + "\" is not in the configuration file");
  const Settings settings(*config);
  const char* const list = settings("DPU_OFFLOAD_LIST_DPUS");
  const ConfiguredDpu* const chosen =
      dpu_of_rank(*host, list == nullptr ? "" : list, loaded.file.processes(), rank->local_rank);
  if (chosen == nullptr) return fail("no DPU of host \"" + name + "\" is in DPU_OFFLOAD_LIST_DPUS");
  const ConfiguredDpu& dpu = *chosen;
  const auto all = static_cast<std::int64_t>(dpu.rank_ports.size());
  const auto local = static_cast<std::size_t>(rank->local_rank < 0 ? 0 : rank->local_rank % all);
  conn_params_t* const found = loaded.params_for(dpu.address, dpu.rank_ports[local]);
  if (params->conn_params == nullptr) {
    params->conn_params = found;
  } else {
    *params->conn_params = *found;
  }
  params->sps_per_dpu = dpu.rank_ports.size();
  params->config_fingerprint = fingerprint_of(loaded.file);
  return DO_SUCCESS;
}

dpu_offload_status_t get_num_connecting_ranks(uint64_t service_procs_per_dpu, uint64_t n_local_ranks,
                                              uint64_t local_id, uint64_t* n_ranks) {
  if (n_ranks == nullptr || service_procs_per_dpu == 0 || local_id >= service_procs_per_dpu) return DO_ERROR;
  *n_ranks =
      n_local_ranks / service_procs_per_dpu + (local_id < n_local_ranks % service_procs_per_dpu ? 1 : 0);
  return DO_SUCCESS;
}

void offload_config_free(offloading_config_t* config) {
  if (config == nullptr) return;
  delete static_cast<Loaded*>(config->loaded);
  config->loaded = nullptr;
}

execution_context_t* client_init(offloading_engine_t* engine, init_params_t* params) {
  if (engine == nullptr) return nullptr;
  return engine_of(engine).connect(params == nullptr ? init_params_t{} : *params);
}

execution_context_t* server_init(offloading_engine_t* engine, init_params_t* params) {
  if (engine == nullptr) return nullptr;
  return engine_of(engine).serve(params == nullptr ? init_params_t{} : *params);
}

void client_fini(execution_context_t** econtext) {
  if (econtext == nullptr || *econtext == nullptr || (*econtext)->type == CONTEXT_SELF) return;
  Context& context = context_of(*econtext);
  context.owner().end(context);
  *econtext = nullptr;
}

void server_fini(execution_context_t** econtext) {
  client_fini(econtext);
}

dpu_offload_status_t inter_dpus_connect_mgr(offloading_engine_t* engine, offloading_config_t* config) {
  if (engine == nullptr || config == nullptr || config->loaded == nullptr || engine->service_procs == nullptr)
    return DO_ERROR;
  ServiceEngine& own = engine_of(engine);
  const Loaded& loaded = loaded_of(*config);
  const init_params_t& base = config->local_service_proc.inter_dpu_init_params;
  own.expect_processes(Clock::now() + connect_limit(base));
  if (own.global_id > 0 && own.serve(base) == nullptr) return DO_ERROR;
  for (std::size_t id = own.global_id + 1; id < own.num_service_procs; ++id) {
    const ListedProcess& other = loaded.list[id];
    conn_params_t where{other.dpu->address.c_str(), nullptr,
                        other.dpu->process_ports[static_cast<std::size_t>(other.local_id)]};
    init_params_t params = base;
    params.conn_params = &where;
    Context* const context = own.connect(params);
    if (context == nullptr) return DO_ERROR;
    context->peers.front().global_id = static_cast<std::int64_t>(id);
  }
  return DO_SUCCESS;
}

dpu_offload_status_t offload_mesh_status(const offloading_engine_t* engine) {
  return engine == nullptr ? DO_ERROR : static_cast<const ServiceEngine*>(engine)->mesh_status();
}

offload_ep_t* offload_server_ep(execution_context_t* econtext) {
  const bool open =
      econtext != nullptr && econtext->type == CONTEXT_CLIENT && econtext->client->bs_phase == BOOTSTRAP_DONE;
  return open ? context_of(econtext).peer(0) : nullptr;
}

offload_ep_t* offload_client_ep(execution_context_t* econtext, uint64_t client_id) {
  if (econtext == nullptr || econtext->type != CONTEXT_SERVER) return nullptr;
  return context_of(econtext).peer(client_id);
}

dpu_offload_status_t offload_ep_status(const offload_ep_t* ep) {
  return ep == nullptr ? DO_ERROR : ep->status;
}

void* offload_ep_ucp(const offload_ep_t* ep) {
  return ep == nullptr || ep->link == nullptr ? nullptr : ep->link->native();
}
