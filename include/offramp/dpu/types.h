/* Types of the offload service library (C11), named as in the service's published architecture.
 *
 * Threads: an engine and its contexts, events, endpoints, and cache are used by one thread at a time;
 * different engines are independent. The library starts no thread: all work happens in the progress
 * functions. It creates and frees all objects. Fields marked "read" are read-only for the program. */
#ifndef OFFRAMP_DPU_TYPES_H
#define OFFRAMP_DPU_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OFFRAMP_DPU_API __attribute__((visibility("default")))

/* Results of functions. Negative values are errors; offload_engine_error() returns the reason. */
typedef int dpu_offload_status_t;
enum {
  DO_SUCCESS = 0,
  DO_NOT_APPLICABLE = 1, /* no effect for this caller, or not known yet */
  DO_ERROR = -1,
  DO_PEER_LOST = -2 /* the peer died, or its connection broke, without a goodbye */
};
/* Results of emitting an event. A negative result is one of the errors above; the caller then keeps the
 * event. */
enum { EVENT_DONE = 0, EVENT_INPROGRESS = 1 };

/* Notification types 32 .. 50 belong to the service; types are below OFFLOAD_MAX_TYPES. */
enum { META_EVENT_TYPE = 32, OFFLOAD_RESERVED_TYPES_END = 50, OFFLOAD_MAX_TYPES = 65536 };

typedef enum { CONTEXT_UNKNOWN = 0, CONTEXT_CLIENT, CONTEXT_SERVER, CONTEXT_SELF } daemon_type_t;
typedef enum {
  SCOPE_HOST_DPU = 0,
  SCOPE_INTER_SERVICE_PROCS,
  SCOPE_SELF,
  SCOPE_UNKNOWN
} execution_context_scope_t;
typedef enum {
  BOOTSTRAP_NOT_INITIATED = 0,
  OOB_CONNECT_DONE,
  UCX_CONNECT_DONE,
  BOOTSTRAP_DONE,
  DISCONNECTED
} bootstrapping_phase_t;

typedef struct offloading_engine offloading_engine_t;
typedef struct execution_context execution_context_t;
typedef struct dpu_offload_ev_sys dpu_offload_ev_sys_t;
typedef struct dpu_offload_event dpu_offload_event_t;
/* A connected peer, the destination of notifications. Valid until its engine ends; after the peer has gone,
 * emitting to it is an error. */
typedef struct offload_ep offload_ep_t;
/* Connects engines of one process without a network. */
typedef struct offload_fabric offload_fabric_t;

/* A process of the application and its place in a group. */
typedef struct {
  int64_t group_id;       /* equal on all members; 0 .. UINT32_MAX, or -1: no group */
  int64_t group_rank;     /* 0 .. group_size - 1 */
  int64_t group_size;     /* at most 2^20 */
  uint64_t n_local_ranks; /* of the application on this host */
  int64_t local_rank;     /* 0 .. n_local_ranks - 1 */
  uint32_t group_seq_num; /* incarnation of group_id, from 1; 0 means 1 */
} rank_info_t;
static inline void offload_reset_rank_info(rank_info_t* info) {
  memset(info, 0, sizeof *info);
  info->group_id = info->group_rank = -1;
}
#define RESET_RANK_INFO(info) offload_reset_rank_info(info)

/* Address on which a server listens and to which a client connects: TCP, for the bootstrap only. */
typedef struct {
  const char* addr_str; /* IPv4 in digits; NULL: loopback (server), or from the environment (client) */
  const char* port_str; /* NULL: use port */
  int port;             /* -1: not set */
} conn_params_t;
static inline void offload_reset_conn_params(conn_params_t* params) {
  memset(params, 0, sizeof *params);
  params->port = -1;
}
#define RESET_CONN_PARAMS(params) offload_reset_conn_params(params)

/* Argument of connected_cb; valid during the call. */
typedef struct {
  execution_context_t* econtext;
  uint64_t peer_id; /* client id at a server, server id at a client */
  const rank_info_t* rank_info;
} connected_peer_data_t;
typedef void (*connect_completed_cb)(connected_peer_data_t* peer);

/* Parameters of a new context. Everything it points to must be valid until client_init or server_init
 * returns. */
typedef struct {
  execution_context_scope_t scope_id;
  conn_params_t* conn_params; /* NULL: DPU_OFFLOAD_SERVER_ADDR and DPU_OFFLOAD_SERVER_PORT */
  rank_info_t* proc_info;     /* client: its rank and group; NULL: no group */
  void* worker;               /* existing ucp_worker_h with active messages; one engine per worker; id 34 is
                                 reserved */
  void* ucp_context;          /* ucp_context_h of the worker */
  bool id_set;
  uint64_t id; /* of a server, sent to its clients */
  size_t num_sps;
  size_t sps_per_dpu;
  connect_completed_cb connected_cb;
  int connect_timeout_ms; /* client: 0 means 30000 */
  /* Client, and service processes among themselves: a server that is silent for this long counts as lost. 0
   * means 10000; negative: no check. */
  int stall_timeout_ms;
  /* Client: fingerprint of its configuration, set by get_local_service_proc_connect_info. The server compares
   * it and sps_per_dpu with its own. 0: no comparison. */
  uint64_t config_fingerprint;
} init_params_t;
#define RESET_INIT_PARAMS(params) ((void)memset((params), 0, sizeof *(params))) /* SCOPE_HOST_DPU */

/* Another service process, in engine->service_procs by its global id. */
typedef struct {
  uint64_t global_id;
  uint64_t local_id;
  int host_index;                /* of its host, in the order of the list of DPUs */
  offload_ep_t* ep;              /* NULL while it is not connected */
  execution_context_t* econtext; /* context for emitting */
  uint64_t dest_id;
} remote_service_proc_info_t;

/* The state of one process in one offload service. */
struct offloading_engine {
  execution_context_t* client;               /* host: set by the program after client_init */
  execution_context_t* self_econtext;        /* read */
  bool on_dpu;                               /* read */
  bool done;                                 /* read: all clients of all servers have gone */
  size_t num_service_procs;                  /* read */
  size_t num_connected_service_procs;        /* read: excluding itself */
  uint64_t global_id;                        /* read: of a service process */
  remote_service_proc_info_t* service_procs; /* read */
};

typedef struct {
  bootstrapping_phase_t bs_phase;
  dpu_offload_status_t status; /* once DISCONNECTED without a goodbye: DO_PEER_LOST (from the first failed
                                  emit on) or DO_ERROR */
  uint64_t id;                 /* assigned by the server */
  uint64_t server_id;
  int64_t server_global_id; /* -1: the server is no service process */
} offload_client_t;

typedef struct {
  uint64_t id;
  int port; /* the listening port */
  size_t num_connected_clients;
  size_t num_lost_clients; /* gone without a goodbye */
  bool done;               /* it had clients, and all have gone */
} offload_server_t;

struct execution_context {
  daemon_type_t type;
  execution_context_scope_t scope_id;
  offloading_engine_t* engine;
  dpu_offload_ev_sys_t* event_channels;
  rank_info_t rank;
  union {
    offload_client_t* client;
    offload_server_t* server;
  };
  /* Progresses the whole engine. */
  void (*progress)(execution_context_t* econtext);
};
#define GET_ECONTEXT_BOOTSTRAPING_PHASE(econtext) \
  ((econtext)->type == CONTEXT_CLIENT ? (econtext)->client->bs_phase : BOOTSTRAP_DONE)

#ifdef __cplusplus
}
#endif
#endif
