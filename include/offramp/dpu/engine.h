/* Engines, configuration, contexts, and progress of the offload service library; see types.h for threads. */
#ifndef OFFRAMP_DPU_ENGINE_H
#define OFFRAMP_DPU_ENGINE_H

#include <offramp/dpu/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names of environment variables. */
#define OFFLOAD_CONFIG_FILE_PATH_ENVVAR "OFFLOAD_CONFIG_FILE_PATH"

/* --- Engine --- */

typedef struct {
  bool on_dpu;
  offload_fabric_t* fabric; /* connects engines of one process; NULL: UCX */
} offload_engine_info_t;

/* Returns a fabric, which must outlive its engines, or NULL when out of memory. The caller destroys it. */
OFFRAMP_DPU_API offload_fabric_t* offload_fabric_create(void);
OFFRAMP_DPU_API void offload_fabric_destroy(offload_fabric_t* fabric);

/* Creates an engine and its self context. UCX is initialised with the first client or server only. */
OFFRAMP_DPU_API dpu_offload_status_t offload_engine_init(offloading_engine_t** engine);
OFFRAMP_DPU_API dpu_offload_status_t offload_engine_init_with_info(offloading_engine_t** engine,
                                                                   const offload_engine_info_t* info);
/* Sends a goodbye to all peers, waits at most 2 s in total for their answers, frees the engine with its
 * contexts, and sets *engine to NULL. The engine's events and endpoints become invalid. */
OFFRAMP_DPU_API dpu_offload_status_t offload_engine_fini(offloading_engine_t** engine);
/* One pass over connections, arrivals with their handlers, and completions. Never blocks. Must not be called
 * from a handler. */
OFFRAMP_DPU_API void offload_engine_progress(offloading_engine_t* engine);
/* Calls offload_engine_progress() for the engine of a context. */
OFFRAMP_DPU_API void lib_progress(execution_context_t* econtext);
/* The reason why the last call on this engine failed, or "". Valid until the next call. */
OFFRAMP_DPU_API const char* offload_engine_error(const offloading_engine_t* engine);

/* --- Configuration --- */

typedef struct {
  init_params_t inter_dpu_init_params;
  init_params_t host_init_params;
  uint64_t global_id;
  uint64_t local_id;
} local_service_proc_t;

/* Texts and ids that are set before loading override the environment and the hostname; -1 means not set. */
typedef struct {
  offloading_engine_t* offloading_engine;  /* for messages; get_host_config accepts NULL */
  const char* cfg_file;                    /* else OFFLOAD_CONFIG_FILE_PATH, DPU_OFFLOAD_CONFIG_FILE_PATH */
  const char* list_dpus;                   /* else DPU_OFFLOAD_LIST_DPUS */
  const char* dpu_name;                    /* else DPU_OFFLOAD_DPU_NAME, else the hostname */
  const char* host_name;                   /* else DPU_OFFLOAD_HOST_NAME, else the hostname */
  int64_t global_id;                       /* else DPU_OFFLOAD_SERVICE_PROCESS_GLOBAL_ID */
  int64_t local_id;                        /* else DPU_OFFLOAD_SERVICE_PROCESS_LOCAL_ID */
  int64_t service_procs_per_dpu;           /* else DPU_OFFLOAD_SERVICE_PROCESSES_PER_DPU */
  local_service_proc_t local_service_proc; /* filled by get_dpu_config */
  size_t num_service_procs;                /* filled */
  void* loaded;                            /* owned by the library */
  char error[256];                         /* file, line, and reason when a configuration is refused */
} offloading_config_t;
/* Call it first, and set members afterwards. */
static inline void offload_init_config_data(offloading_config_t* config) {
  memset(config, 0, sizeof *config);
  config->global_id = config->local_id = config->service_procs_per_dpu = -1;
}
#define INIT_DPU_CONFIG_DATA(config) offload_init_config_data(config)

/* Service process: loads and checks the file, the list of DPUs, and the ids, and fills local_service_proc.
 * INTER_DPU_CONN_ADDR and INTER_DPU_CONN_PORT (11111) replace the file for one or two DPUs with one service
 * process each; the second one then listens for the first. DO_ERROR: config->error has the reason with file
 * and line. */
OFFRAMP_DPU_API dpu_offload_status_t get_dpu_config(offloading_engine_t* engine, offloading_config_t* config);
/* Host: loads and checks the file. Without a file, DPU_OFFLOAD_SERVER_ADDR and DPU_OFFLOAD_SERVER_PORT are
 * the address of the service process. */
OFFRAMP_DPU_API dpu_offload_status_t get_host_config(offloading_config_t* config);
/* Host: returns address and port of the service process of a rank: local rank modulo service processes per
 * DPU. With several DPUs per host, all service processes of the first DPU come before those of the next. A
 * list of DPUs, if set, selects the DPUs of the job. Fills params->conn_params, whose text is valid until
 * offload_config_free, and a fingerprint of the configuration. A service process with a different fingerprint
 * refuses the connection. */
OFFRAMP_DPU_API dpu_offload_status_t get_local_service_proc_connect_info(const offloading_config_t* config,
                                                                         const rank_info_t* rank,
                                                                         init_params_t* params);
/* Computes how many ranks connect to service process local_id if its host has n_local_ranks. DO_ERROR:
 * local_id is not below service_procs_per_dpu. */
OFFRAMP_DPU_API dpu_offload_status_t get_num_connecting_ranks(uint64_t service_procs_per_dpu,
                                                              uint64_t n_local_ranks, uint64_t local_id,
                                                              uint64_t* n_ranks);
/* Frees the loaded configuration; texts in params->conn_params become invalid. */
OFFRAMP_DPU_API void offload_config_free(offloading_config_t* config);

/* --- Contexts --- */

/* Starts to connect and returns the context, or NULL if it is refused (see offload_engine_error()). Progress
 * until the phase is BOOTSTRAP_DONE, when connected_cb is called, or DISCONNECTED with the reason in
 * client->status. The status is DO_ERROR if the server refuses or is absent for connect_timeout_ms. params
 * NULL: use the environment. */
OFFRAMP_DPU_API execution_context_t* client_init(offloading_engine_t* engine, init_params_t* params);
/* Starts to listen; clients connect during progress. Port 0 selects a free port. */
OFFRAMP_DPU_API execution_context_t* server_init(offloading_engine_t* engine, init_params_t* params);
/* Sends a goodbye after everything emitted so far, and sets the pointer to NULL. Returns at once: later
 * progress, or the end of the engine, sends the data. Must not be called from a handler. */
OFFRAMP_DPU_API void client_fini(execution_context_t** econtext);
OFFRAMP_DPU_API void server_fini(execution_context_t** econtext);
/* Service process: listens for lower global ids and connects to all higher ones. Returns at once: progress
 * until num_service_procs == num_connected_service_procs + 1, or offload_mesh_status() reports an error. A
 * lost service process is not replaced. */
OFFRAMP_DPU_API dpu_offload_status_t inter_dpus_connect_mgr(offloading_engine_t* engine,
                                                            offloading_config_t* config);
/* Service process. DO_SUCCESS: all are connected. DO_NOT_APPLICABLE: some are still missing. DO_ERROR: one
 * exceeded connect_timeout_ms or has another configuration. DO_PEER_LOST: one died or stalled.
 * offload_engine_error() names it. */
OFFRAMP_DPU_API dpu_offload_status_t offload_mesh_status(const offloading_engine_t* engine);

/* Callback of a server for ranks: adds the rank to its group. */
OFFRAMP_DPU_API void local_rank_connect_default_callback(connected_peer_data_t* peer);
#define SET_DEFAULT_DPU_HOST_SERVER_CALLBACKS(params) \
  ((params)->connected_cb = local_rank_connect_default_callback)

/* A client context's endpoint of its server; NULL before it is connected. */
OFFRAMP_DPU_API offload_ep_t* offload_server_ep(execution_context_t* econtext);
/* A server context's endpoint of a client; NULL if client_id is unknown. */
OFFRAMP_DPU_API offload_ep_t* offload_client_ep(execution_context_t* econtext, uint64_t client_id);
#define GET_SERVER_EP(econtext) offload_server_ep(econtext)
#define GET_CLIENT_EP(econtext, client_id) offload_client_ep(econtext, client_id)
/* DO_SUCCESS: connected. DO_PEER_LOST: the peer left without a goodbye. DO_NOT_APPLICABLE: it left with one.
 */
OFFRAMP_DPU_API dpu_offload_status_t offload_ep_status(const offload_ep_t* ep);
/* The ucp_ep_h, for the program's own messages. NULL within one process, and after the peer has left. */
OFFRAMP_DPU_API void* offload_ep_ucp(const offload_ep_t* ep);

#ifdef __cplusplus
}
#endif
#endif
