/* Engines, configuration, contexts and progress of the offload service library; see types.h for threads. */
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
  offload_fabric_t* fabric; /* engines of one process; NULL: UCX */
} offload_engine_info_t;

/* A fabric outlives its engines. NULL: no memory. */
OFFRAMP_DPU_API offload_fabric_t* offload_fabric_create(void);
OFFRAMP_DPU_API void offload_fabric_destroy(offload_fabric_t* fabric);

/* Creates an engine and its self context. UCX is not touched before the first client or server. */
OFFRAMP_DPU_API dpu_offload_status_t offload_engine_init(offloading_engine_t** engine);
OFFRAMP_DPU_API dpu_offload_status_t offload_engine_init_with_info(offloading_engine_t** engine,
                                                                   const offload_engine_info_t* info);
/* Says goodbye to all peers, waiting at most 2 s in all for their answers, frees the engine with its
 * contexts, and sets *engine to NULL. Events and endpoints of it end here. */
OFFRAMP_DPU_API dpu_offload_status_t offload_engine_fini(offloading_engine_t** engine);
/* One pass: connections, arrivals with their handlers, completions. Never waits. Not from a handler. */
OFFRAMP_DPU_API void offload_engine_progress(offloading_engine_t* engine);
/* The same for the engine of a context. */
OFFRAMP_DPU_API void lib_progress(execution_context_t* econtext);
/* Why the last call on this engine failed; "" if none did. Valid until the next call. */
OFFRAMP_DPU_API const char* offload_engine_error(const offloading_engine_t* engine);

/* --- Configuration --- */

typedef struct {
  init_params_t inter_dpu_init_params;
  init_params_t host_init_params;
  uint64_t global_id;
  uint64_t local_id;
} local_service_proc_t;

/* Text members may be set before loading and then win over environment and hostname; -1 means not set. */
typedef struct {
  offloading_engine_t* offloading_engine;  /* for messages; get_host_config works without */
  const char* cfg_file;                    /* else OFFLOAD_CONFIG_FILE_PATH, DPU_OFFLOAD_CONFIG_FILE_PATH */
  const char* list_dpus;                   /* else DPU_OFFLOAD_LIST_DPUS */
  const char* dpu_name;                    /* else DPU_OFFLOAD_DPU_NAME, else the hostname */
  const char* host_name;                   /* else DPU_OFFLOAD_HOST_NAME, else the hostname */
  int64_t global_id;                       /* else DPU_OFFLOAD_SERVICE_PROCESS_GLOBAL_ID */
  int64_t local_id;                        /* else DPU_OFFLOAD_SERVICE_PROCESS_LOCAL_ID */
  int64_t service_procs_per_dpu;           /* else DPU_OFFLOAD_SERVICE_PROCESSES_PER_DPU */
  local_service_proc_t local_service_proc; /* filled by get_dpu_config */
  size_t num_service_procs;                /* filled */
  void* loaded;                            /* the library's */
  char error[256];                         /* file, line and reason of a refused configuration */
} offloading_config_t;
/* Before the first use; members that the program sets follow it. */
static inline void offload_init_config_data(offloading_config_t* config) {
  memset(config, 0, sizeof *config);
  config->global_id = config->local_id = config->service_procs_per_dpu = -1;
}
#define INIT_DPU_CONFIG_DATA(config) offload_init_config_data(config)

/* Service process: loads and checks the file, the list of DPUs and the ids, and fills local_service_proc.
 * Without a file, one or two DPUs with a service process each can do with INTER_DPU_CONN_ADDR and
 * INTER_DPU_CONN_PORT (11111), where the second one listens for the first.
 * DO_ERROR: config->error says why, with file and line. */
OFFRAMP_DPU_API dpu_offload_status_t get_dpu_config(offloading_engine_t* engine, offloading_config_t* config);
/* Host: loads and checks the file. Without one, DPU_OFFLOAD_SERVER_ADDR and DPU_OFFLOAD_SERVER_PORT say where
 * its service process is. */
OFFRAMP_DPU_API dpu_offload_status_t get_host_config(offloading_config_t* config);
/* Host: address and port of the service process that a rank uses: local rank modulo service processes per
 * DPU; with several DPUs per host all service processes of the first one, then of the next. A list of DPUs,
 * if set, says which of them the job has. Fills params->conn_params, whose text is valid until
 * offload_config_free, and what the service process compares with its own configuration: one that differs is
 * an error of the connection at once. */
OFFRAMP_DPU_API dpu_offload_status_t get_local_service_proc_connect_info(const offloading_config_t* config,
                                                                         const rank_info_t* rank,
                                                                         init_params_t* params);
/* Ranks that service process local_id waits for when its host has n_local_ranks. */
OFFRAMP_DPU_API dpu_offload_status_t get_num_connecting_ranks(uint64_t service_procs_per_dpu,
                                                              uint64_t n_local_ranks, uint64_t local_id,
                                                              uint64_t* n_ranks);
OFFRAMP_DPU_API void offload_config_free(offloading_config_t* config);

/* --- Contexts --- */

/* Starts to connect; progress until the phase is BOOTSTRAP_DONE, or DISCONNECTED (client->status: why; after
 * connect_timeout_ms without a server, and when the server refuses, DO_ERROR). Then connected_cb is called.
 * params NULL: environment. NULL: refused; see offload_engine_error(). */
OFFRAMP_DPU_API execution_context_t* client_init(offloading_engine_t* engine, init_params_t* params);
/* Starts to listen; clients connect during progress. Port 0 takes a free one. */
OFFRAMP_DPU_API execution_context_t* server_init(offloading_engine_t* engine, init_params_t* params);
/* Says goodbye behind all that was emitted, and sets the pointer to NULL. Does not wait; the engine's
 * progress, or its end, brings it out. Not from a handler. */
OFFRAMP_DPU_API void client_fini(execution_context_t** econtext);
OFFRAMP_DPU_API void server_fini(execution_context_t** econtext);
/* Service process: listens for lower global ids, and connects to all higher ones. Does not wait: progress
 * until num_service_procs == num_connected_service_procs + 1, or offload_mesh_status() says more. A service
 * process that is lost is not replaced. */
OFFRAMP_DPU_API dpu_offload_status_t inter_dpus_connect_mgr(offloading_engine_t* engine,
                                                            offloading_config_t* config);
/* Service process: DO_SUCCESS: all are connected; DO_NOT_APPLICABLE: some are not yet; DO_ERROR: one has not
 * come within connect_timeout_ms, or its configuration is another one; DO_PEER_LOST: one has died or stalled.
 * offload_engine_error() says which. */
OFFRAMP_DPU_API dpu_offload_status_t offload_mesh_status(const offloading_engine_t* engine);

/* Callback of a server for ranks: enters the rank into its group. */
OFFRAMP_DPU_API void local_rank_connect_default_callback(connected_peer_data_t* peer);
#define SET_DEFAULT_DPU_HOST_SERVER_CALLBACKS(params) \
  ((params)->connected_cb = local_rank_connect_default_callback)

/* The server's endpoint at a client context; NULL before it is connected. */
OFFRAMP_DPU_API offload_ep_t* offload_server_ep(execution_context_t* econtext);
/* A client's endpoint at a server context; NULL: there is no such client. */
OFFRAMP_DPU_API offload_ep_t* offload_client_ep(execution_context_t* econtext, uint64_t client_id);
#define GET_SERVER_EP(econtext) offload_server_ep(econtext)
#define GET_CLIENT_EP(econtext, client_id) offload_client_ep(econtext, client_id)
/* DO_SUCCESS: connected; DO_PEER_LOST: gone without a goodbye; DO_NOT_APPLICABLE: gone with one. */
OFFRAMP_DPU_API dpu_offload_status_t offload_ep_status(const offload_ep_t* ep);
/* The ucp_ep_h, for messages of one's own; NULL in one process, and when the peer has gone. */
OFFRAMP_DPU_API void* offload_ep_ucp(const offload_ep_t* ep);

#ifdef __cplusplus
}
#endif
#endif
