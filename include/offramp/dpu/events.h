/* Notifications and events of the offload service library; see types.h for threads.
 *
 *   event_get -> held -> emit -> EVENT_DONE: complete, returned, pointer NULL
 *                             -> EVENT_INPROGRESS: on the ongoing list; returned when complete
 *                             -> explicit_return, sub-event: the program, or its meta-event, returns it
 *
 * Complete means that the payload has left and its buffer may be used again; no handler need have run.
 * Notifications between two contexts arrive in the order of their emission. A peer that is lost completes
 * what is under way to it with status DO_PEER_LOST. */
#ifndef OFFRAMP_DPU_EVENTS_H
#define OFFRAMP_DPU_EVENTS_H

#include <offramp/dpu/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The 56 bytes before every payload. */
typedef struct {
  uint64_t id;
  uint64_t type;
  uint64_t payload_size;
  uint64_t event_id;
  uint64_t client_id;
  uint64_t server_id;
  int32_t scope_id;
  int32_t sender_type;
} am_header_t;

/* Where buffers come from. get_buf is needed; it may return NULL. element_size 0: any size. */
typedef struct {
  void* mem_pool;
  void* (*get_buf)(void* mem_pool, void* args);
  void (*return_buf)(void* mem_pool, void* buffer); /* NULL: nothing to do */
  void* get_buf_args;
  size_t element_size;
} notification_info_t;

/* header and data are valid during the call only. May emit, get and return events, register handlers; must
 * not progress or end contexts. The result is not used. At a server header->client_id says from whom. */
typedef int (*notification_cb)(dpu_offload_ev_sys_t* ev_sys, execution_context_t* econtext,
                               am_header_t* header, size_t header_len, void* data, size_t data_len);

/* A handler of one context. The first of a type stays, a second one succeeds without effect. Notifications
 * that came before are handled now, in their order. DO_ERROR: reserved type, or >= OFFLOAD_MAX_TYPES. info:
 * pool for incoming payloads, NULL: none; outlives the context. */
OFFRAMP_DPU_API dpu_offload_status_t event_channel_register(dpu_offload_ev_sys_t* ev_sys, uint64_t type,
                                                            notification_cb cb, notification_info_t* info);
/* Changes the pool of a handler. */
OFFRAMP_DPU_API dpu_offload_status_t event_channel_update(dpu_offload_ev_sys_t* ev_sys, uint64_t type,
                                                          notification_info_t* info);
OFFRAMP_DPU_API dpu_offload_status_t event_channel_deregister(dpu_offload_ev_sys_t* ev_sys, uint64_t type);
/* A handler of the self context and of all contexts that are created later. Twice: DO_ERROR. */
OFFRAMP_DPU_API dpu_offload_status_t engine_register_default_notification_handler(offloading_engine_t* engine,
                                                                                  uint64_t type,
                                                                                  notification_cb cb,
                                                                                  notification_info_t* info);

struct dpu_offload_event {
  void* payload; /* read: the library's buffer, if one was asked for */
  size_t payload_size;
  dpu_offload_ev_sys_t* event_system; /* read */
  void* ctx;                          /* of emit */
  /* Set by the program before emit; called once when the event completes, before it is returned. */
  void (*completion_cb)(dpu_offload_event_t* event);
  dpu_offload_status_t status; /* read, once complete */
};

typedef struct {
  size_t payload_size; /* greater than 0: with a buffer */
  bool explicit_return;
  notification_info_t* pool; /* of that buffer; NULL: the library's memory */
} dpu_offload_event_info_t;

/* info NULL: without buffer. DO_ERROR: the pool has no buffer, or too small ones. */
OFFRAMP_DPU_API dpu_offload_status_t event_get(dpu_offload_ev_sys_t* ev_sys, dpu_offload_event_info_t* info,
                                               dpu_offload_event_t** event);
/* DO_ERROR: it is ongoing, a sub-event, or not complete. Sets *event to NULL. */
OFFRAMP_DPU_API dpu_offload_status_t event_return(dpu_offload_event_t** event);
/* Of an event with explicit_return, or a sub-event before its meta-event completes. */
OFFRAMP_DPU_API bool event_completed(dpu_offload_event_t* event);

/* Emits an event with its own payload, or none. ep NULL: the server (client context), oneself (self context),
 * the client dest_id (server context). ep not NULL: dest_id is not used. ctx is kept in the event. */
OFFRAMP_DPU_API int event_channel_emit(dpu_offload_event_t** event, uint64_t type, offload_ep_t* ep,
                                       uint64_t dest_id, void* ctx);
/* The same with the caller's buffer, which must not change until completion. */
OFFRAMP_DPU_API int event_channel_emit_with_payload(dpu_offload_event_t** event, uint64_t type,
                                                    offload_ep_t* ep, uint64_t dest_id, void* ctx,
                                                    void* payload, size_t payload_size);

/* Makes held events one: meta then is emitted with META_EVENT_TYPE, and is complete when all sub-events are;
 * an empty one at once. A sub-event is queued before it is emitted, and returned by its meta-event. The
 * sub-events of a meta-event belong to contexts of one engine. */
OFFRAMP_DPU_API dpu_offload_status_t event_queue_subevent(dpu_offload_event_t* meta,
                                                          dpu_offload_event_t* sub);
#define QUEUE_SUBEVENT(meta, sub) event_queue_subevent(meta, sub)

/* Events on the ongoing list; events that the pool has. */
OFFRAMP_DPU_API size_t event_channel_num_ongoing(const dpu_offload_ev_sys_t* ev_sys);
OFFRAMP_DPU_API size_t event_channel_capacity(const dpu_offload_ev_sys_t* ev_sys);

#ifdef __cplusplus
}
#endif
#endif
