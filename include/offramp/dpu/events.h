/* Notifications and events of the offload service library; see types.h for threads.
 *
 *   event_get -> held -> emit -> EVENT_DONE: complete, returned, pointer NULL
 *                             -> EVENT_INPROGRESS: on the ongoing list; returned when complete
 *                             -> explicit_return, sub-event: the program, or its meta-event, returns it
 *
 * An event is complete when its payload has left and the buffer is reusable; the handler may run later.
 * Notifications between two contexts arrive in the order of emission. When a peer is lost, its pending events
 * complete with DO_PEER_LOST. */
#ifndef OFFRAMP_DPU_EVENTS_H
#define OFFRAMP_DPU_EVENTS_H

#include <offramp/dpu/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The 56-byte header of every payload. */
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

/* A pool of buffers. get_buf is mandatory and may return NULL. element_size 0: buffers of any size. */
typedef struct {
  void* mem_pool;
  void* (*get_buf)(void* mem_pool, void* args);
  void (*return_buf)(void* mem_pool, void* buffer); /* may be NULL */
  void* get_buf_args;
  size_t element_size;
} notification_info_t;

/* Called for each notification. header and data are valid during the call only; at a server,
 * header->client_id is the sender. May emit, get and return events, and register handlers; must not progress
 * or end contexts. The result is ignored. */
typedef int (*notification_cb)(dpu_offload_ev_sys_t* ev_sys, execution_context_t* econtext,
                               am_header_t* header, size_t header_len, void* data, size_t data_len);

/* Registers a handler of one context and delivers the notifications that arrived earlier, in order. The first
 * handler of a type remains: another call succeeds without effect. DO_ERROR: the type is reserved, or >=
 * OFFLOAD_MAX_TYPES. info: pool for incoming payloads, must outlive the context; NULL: no pool. */
OFFRAMP_DPU_API dpu_offload_status_t event_channel_register(dpu_offload_ev_sys_t* ev_sys, uint64_t type,
                                                            notification_cb cb, notification_info_t* info);
/* Replaces the pool of a handler. DO_ERROR: the type has no handler, or get_buf is NULL. */
OFFRAMP_DPU_API dpu_offload_status_t event_channel_update(dpu_offload_ev_sys_t* ev_sys, uint64_t type,
                                                          notification_info_t* info);
/* Removes a handler. DO_ERROR: the type has none, or is reserved. */
OFFRAMP_DPU_API dpu_offload_status_t event_channel_deregister(dpu_offload_ev_sys_t* ev_sys, uint64_t type);
/* Registers a handler for the self context and all contexts created later. DO_ERROR if the type has one
 * already. */
OFFRAMP_DPU_API dpu_offload_status_t engine_register_default_notification_handler(offloading_engine_t* engine,
                                                                                  uint64_t type,
                                                                                  notification_cb cb,
                                                                                  notification_info_t* info);

struct dpu_offload_event {
  void* payload; /* read: the library's buffer, if one was requested */
  size_t payload_size;
  dpu_offload_ev_sys_t* event_system; /* read */
  void* ctx;                          /* as passed to emit */
  /* Set by the program before emit; called once when the event completes, before it is returned. */
  void (*completion_cb)(dpu_offload_event_t* event);
  dpu_offload_status_t status; /* read, once complete */
};

typedef struct {
  size_t payload_size; /* greater than 0: with a buffer of this size */
  bool explicit_return;
  notification_info_t* pool; /* source of the buffer; NULL: the library's memory */
} dpu_offload_event_info_t;

/* info NULL: without a buffer. DO_ERROR: the pool is empty, or its buffers are too small. */
OFFRAMP_DPU_API dpu_offload_status_t event_get(dpu_offload_ev_sys_t* ev_sys, dpu_offload_event_info_t* info,
                                               dpu_offload_event_t** event);
/* Sets *event to NULL. DO_ERROR: the event is ongoing, a sub-event, or incomplete. */
OFFRAMP_DPU_API dpu_offload_status_t event_return(dpu_offload_event_t** event);
/* For an event with explicit_return, or a sub-event whose meta-event is incomplete. */
OFFRAMP_DPU_API bool event_completed(dpu_offload_event_t* event);

/* Emits an event with its own payload, if any. Returns EVENT_DONE, EVENT_INPROGRESS, or an error. ep NULL
 * selects the server (client context), the context itself (self context), or the client dest_id (server
 * context); with an ep, dest_id is ignored. ctx is stored in the event. */
OFFRAMP_DPU_API int event_channel_emit(dpu_offload_event_t** event, uint64_t type, offload_ep_t* ep,
                                       uint64_t dest_id, void* ctx);
/* Emits an event with the caller's buffer, which must stay unchanged until completion. */
OFFRAMP_DPU_API int event_channel_emit_with_payload(dpu_offload_event_t** event, uint64_t type,
                                                    offload_ep_t* ep, uint64_t dest_id, void* ctx,
                                                    void* payload, size_t payload_size);

/* Adds a held event to a meta-event, which is then emitted with META_EVENT_TYPE. The meta-event completes
 * when all its sub-events have, an empty one at once, and returns them. Queue a sub-event before emitting it.
 * All sub-events belong to contexts of one engine. */
OFFRAMP_DPU_API dpu_offload_status_t event_queue_subevent(dpu_offload_event_t* meta,
                                                          dpu_offload_event_t* sub);
#define QUEUE_SUBEVENT(meta, sub) event_queue_subevent(meta, sub)

/* Number of events on the ongoing list, and number of events in the pool. */
OFFRAMP_DPU_API size_t event_channel_num_ongoing(const dpu_offload_ev_sys_t* ev_sys);
OFFRAMP_DPU_API size_t event_channel_capacity(const dpu_offload_ev_sys_t* ev_sys);

#ifdef __cplusplus
}
#endif
#endif
