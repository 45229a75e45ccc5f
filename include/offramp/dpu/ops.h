/* Operations that a service process runs for ranks while they compute, and keys of host memory that they
 * need. See types.h for threads.
 *
 *   rank                                         service process
 *   op_desc_get, set args, op_desc_submit --36-> op_init; op_progress in every pass until it is done
 *   desc->completed, status, result       <-37-- op_complete
 *   op_desc_return
 *
 * The published headers describe such an interface, and its code does not work; names are theirs, the
 * messages ours. */
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
  execution_context_t* econtext; /* read: the server that it came by */
  uint64_t client_id;            /* read: the rank, for event_channel_emit */
  const void* args;              /* read: valid until op_complete has returned */
  size_t args_size;              /* read */
  bool abandoned;                /* read: the rank has gone; op_complete gets the chance to free state */
  void* state;                   /* the program's */
  void* result;                  /* the program's, for the rank; valid until op_complete has returned */
  size_t result_size;
} offload_active_op_t;

typedef struct {
  uint64_t alg_id;
  /* Called once. Negative: the rank gets this status, and nothing else is called. NULL: nothing to do. */
  int (*op_init)(offload_active_op_t* op);
  /* EVENT_INPROGRESS: to be called again; EVENT_DONE: done; negative: failed. Must not wait. */
  int (*op_progress)(offload_active_op_t* op);
  /* Called once after that, before the rank is told. NULL: nothing to do. */
  void (*op_complete)(offload_active_op_t* op);
} offload_op_t;

/* What to do for alg_id, on all servers of the engine. DO_ERROR: it is registered already, or has no
 * op_progress. Callbacks may emit and get events; must not progress or end contexts. */
OFFRAMP_DPU_API dpu_offload_status_t register_new_op(offloading_engine_t* engine, const offload_op_t* op);
/* Operations that are active here. */
OFFRAMP_DPU_API size_t num_active_ops(const offloading_engine_t* engine);
/* One pass over them; offload_engine_progress() does it, too. */
OFFRAMP_DPU_API void progress_active_ops(offloading_engine_t* engine);

/* --- Rank --- */

typedef struct offload_op_desc { /* NOLINT(readability-identifier-naming): a name of C */
  uint64_t alg_id;               /* read */
  uint64_t op_id;                /* read: counts per engine */
  void* args;                    /* set before submit; may change once it has returned */
  size_t args_size;
  bool completed;              /* read */
  dpu_offload_status_t status; /* read, once completed: DO_SUCCESS, the operation's error, DO_NOT_APPLICABLE:
                                  the service process knows no such operation, DO_PEER_LOST */
  const void* result;          /* read, once completed; valid until it is returned */
  size_t result_size;
  /* Set before submit; called once on completion. */
  void (*completed_cb)(struct offload_op_desc* desc);
  void* ctx; /* the program's */
} offload_op_desc_t;

/* A descriptor for an operation at the server of a client context. */
OFFRAMP_DPU_API dpu_offload_status_t op_desc_get(execution_context_t* econtext, uint64_t alg_id,
                                                 offload_op_desc_t** desc);
/* Does not wait. Once per descriptor. */
OFFRAMP_DPU_API dpu_offload_status_t op_desc_submit(offload_op_desc_t* desc);
/* DO_ERROR: it has been submitted and is not completed. Sets *desc to NULL. */
OFFRAMP_DPU_API dpu_offload_status_t op_desc_return(offload_op_desc_t** desc);

/* --- Keys of host memory (cross-GVMI) --- */

enum { XGVMI_MAX_KEY = 1024 };
/* A region that a rank lends to its service process, and the key by which the NIC lets that one at it: bytes
 * of whoever exports the memory (UCX, verbs), which the library does not look at. */
typedef struct {
  uint64_t key_id; /* the rank's own number */
  uint64_t addr;
  uint64_t length;
  size_t key_size; /* at most XGVMI_MAX_KEY */
  const void* key;
} xgvmi_key_t;

/* Rank, client context: lends a region (38); a key with the same number is replaced. Takes it back (39); the
 * service process may be at it until it has seen that. */
OFFRAMP_DPU_API dpu_offload_status_t send_key_to_dpu(execution_context_t* econtext, const xgvmi_key_t* key);
OFFRAMP_DPU_API dpu_offload_status_t revoke_key_on_dpu(execution_context_t* econtext, uint64_t key_id);
/* Service process, server context: what a client has lent. key->key is valid until the next progress.
 * DO_NOT_APPLICABLE: nothing under that number, or the client has gone. */
OFFRAMP_DPU_API dpu_offload_status_t get_key_of_client(execution_context_t* econtext, uint64_t client_id,
                                                       uint64_t key_id, xgvmi_key_t* key);

#ifdef __cplusplus
}
#endif
#endif
