/* Operations that a service process runs for ranks while they compute, and the keys of host memory that they
 * need. See types.h for threads.
 *
 *   rank                                         service process
 *   op_desc_get, set args, op_desc_submit --36-> op_init; op_progress in every pass until it is done
 *   desc->completed, status, result       <-37-- op_complete
 *   op_desc_return
 *
 * The names are those of the published headers, whose implementation does not work; the messages are ours. */
#ifndef OFFRAMP_DPU_OPS_H
#define OFFRAMP_DPU_OPS_H

#include <offramp/dpu/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Service process --- */

/* One operation of one rank, while it is active. */
typedef struct {
  uint64_t alg_id;               /* read */
  execution_context_t* econtext; /* read: the server context that received it */
  uint64_t client_id;            /* read: the rank, for event_channel_emit */
  const void* args;              /* read: valid until op_complete has returned */
  size_t args_size;              /* read */
  bool abandoned;                /* read: the rank has gone; op_complete can still free state */
  void* state;                   /* owned by the program */
  void* result;                  /* the program's result for the rank; valid until op_complete has returned */
  size_t result_size;
} offload_active_op_t;

typedef struct {
  uint64_t alg_id;
  /* Called once. A negative result is sent to the rank as its status, and ends the operation. May be NULL. */
  int (*op_init)(offload_active_op_t* op);
  /* EVENT_INPROGRESS: call again; EVENT_DONE: done; negative: failed. Must not block. */
  int (*op_progress)(offload_active_op_t* op);
  /* Called once afterwards, before the rank is notified. May be NULL. */
  void (*op_complete)(offload_active_op_t* op);
} offload_op_t;

/* Registers an operation for all servers of the engine. DO_ERROR: alg_id is already registered, or
 * op_progress is NULL. Callbacks may emit and get events; they must not progress or end contexts. */
OFFRAMP_DPU_API dpu_offload_status_t register_new_op(offloading_engine_t* engine, const offload_op_t* op);
/* Number of operations active on this engine. */
OFFRAMP_DPU_API size_t num_active_ops(const offloading_engine_t* engine);
/* One pass over the active operations; offload_engine_progress() includes it. */
OFFRAMP_DPU_API void progress_active_ops(offloading_engine_t* engine);

/* --- Rank --- */

typedef struct offload_op_desc { /* NOLINT(readability-identifier-naming): a name of C */
  uint64_t alg_id;               /* read */
  uint64_t op_id;                /* read: counts per engine */
  void* args;                    /* set before submit; reusable once submit has returned */
  size_t args_size;
  bool completed;              /* read */
  dpu_offload_status_t status; /* read, once completed: DO_SUCCESS, the operation's error, DO_NOT_APPLICABLE
                                  (the service process has no such operation), DO_PEER_LOST */
  const void* result;          /* read, once completed; valid until the descriptor is returned */
  size_t result_size;
  /* Set before submit; called once on completion. */
  void (*completed_cb)(struct offload_op_desc* desc);
  void* ctx; /* for the program */
} offload_op_desc_t;

/* Returns a descriptor for an operation at the server of a client context. */
OFFRAMP_DPU_API dpu_offload_status_t op_desc_get(execution_context_t* econtext, uint64_t alg_id,
                                                 offload_op_desc_t** desc);
/* Sends the request and returns at once. Once per descriptor. */
OFFRAMP_DPU_API dpu_offload_status_t op_desc_submit(offload_op_desc_t* desc);
/* Sets *desc to NULL. DO_ERROR: it is submitted and incomplete. */
OFFRAMP_DPU_API dpu_offload_status_t op_desc_return(offload_op_desc_t** desc);

/* --- Keys of host memory (cross-GVMI) --- */

enum { XGVMI_MAX_KEY = 1024 };
/* A region that a rank exposes to its service process, and the key with which the NIC grants access to it.
 * The exporter (UCX, verbs) defines the bytes of the key; the library passes them on. */
typedef struct {
  uint64_t key_id; /* chosen by the rank */
  uint64_t addr;
  uint64_t length;
  size_t key_size; /* at most XGVMI_MAX_KEY */
  const void* key;
} xgvmi_key_t;

/* Rank, client context: exposes a region (notification 38), replacing a key with the same number, or revokes
 * it (39). The service process may access the region until it has processed the revocation. */
OFFRAMP_DPU_API dpu_offload_status_t send_key_to_dpu(execution_context_t* econtext, const xgvmi_key_t* key);
OFFRAMP_DPU_API dpu_offload_status_t revoke_key_on_dpu(execution_context_t* econtext, uint64_t key_id);
/* Service process, server context: returns a region that a client has exposed. key->key is valid until the
 * next progress. DO_NOT_APPLICABLE: the number is unknown, or the client has gone. */
OFFRAMP_DPU_API dpu_offload_status_t get_key_of_client(execution_context_t* econtext, uint64_t client_id,
                                                       uint64_t key_id, xgvmi_key_t* key);

#ifdef __cplusplus
}
#endif
#endif
