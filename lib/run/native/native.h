/* What Offramp needs of the MPI library's inside, behind one interface: progress, requests and messages of
 * Offramp's own that the completion functions of the table of natives work on, and a few properties of
 * handles. All that only one family of MPI libraries has is in the implementation of this header for that
 * family (openmpi*, mpich*), of which the build takes one.
 *
 * Plain C, because Open MPI's internal headers do not compile as C++. Callers serialise calls that change an
 * object. */
#ifndef OFFRAMP_NATIVE_H
#define OFFRAMP_NATIVE_H

#include <mpi.h>
#include <stddef.h>

/* The family's: how large the library's part of a request is and where the body behind it lies, the fields of
 * a status that MPI has no names for, and whether a call comes from within the library. */
#include OFFRAMP_NATIVE_FAMILY

#ifdef __cplusplus
extern "C" {
#endif

/* Null when the running library is the one that this was built for; else the reason. */
const char* offramp_native_check(void);
/* The libraries that this was built for, as a user calls them: "Open MPI 4.1". */
const char* offramp_native_name(void);
/* An address in the library's inner part, which installs its handlers of signals. */
const void* offramp_native_inner_library(void);
/* Whether a library that says its version by this function is one that this was built for. May be called
 * before MPI_Init. */
int offramp_native_supports(int (*get_library_version)(char* version, int* length));

/* progress: the callback runs in every turn of the library's progress engine and returns the number of events
 * that it handled. Register after MPI_Init, unregister before MPI_Finalize. Returns 0 on success. */
int offramp_native_progress_register(int (*callback)(void));
int offramp_native_progress_unregister(int (*callback)(void));
void offramp_native_progress(void);
/* Whether a wait of the library yields the processor in every turn that has found nothing: it was told that
 * there are more ranks than cores. */
int offramp_native_yields(void);

/* Whether the first MPI_Session_init waits for ranks that call MPI_Init instead, as MPICH's does. A session
 * that is older than MPI_Init makes MPICH 4.2.1 end in MPI_Finalize with a fault. */
int offramp_native_session_meets_init(void);
/* MPI_Reduce_local, also where the program has only sessions of MPI. */
int offramp_native_reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op);
/* A communicator that it may use there, or MPI_COMM_NULL when that one goes away. */
void offramp_native_reduce_apart(MPI_Comm comm);

/* What the library's side calls of Offramp's. */
typedef struct offramp_callbacks { /* NOLINT(readability-identifier-naming): a name of C */
  /* Runs body(argument) while no caller changes an object, if there is a session; else not at all. */
  void (*locked)(void (*body)(void*), void* argument);
  /* Runs call(argument), which waits for other processes inside the library, where the library's progress
   * engine turns nothing of Offramp's. */
  void (*serving)(void (*call)(void*), void* argument);

  /* Requests. The handle goes away: after completion was reported to the program, or by MPI_Request_free.
   * When `active`, the operation is still running and the object stays until offramp_native_request_recycle.
   */
  void (*released)(void* body, int active);
  void (*cancel)(void* body);
  int (*start)(void* body); /* persistent requests; returns an MPI error code */
} offramp_callbacks;

/* Once, before the first request is made. */
void offramp_native_open(const offramp_callbacks* callbacks);

/* requests */
/* An object that nobody knows of yet, with a body of zeroed memory. It is never freed: who has made it uses
 * it for one request after the other. MPI_REQUEST_NULL when memory is out. */
MPI_Request offramp_native_request_make(size_t body_bytes);
/* Makes it an active (or, persistent, inactive) request. The communicator is for error handling. */
void offramp_native_request_begin(MPI_Request request, MPI_Comm comm, int persistent);
/* It is no request any more, and lets go of its communicator. */
void offramp_native_request_end(MPI_Request request);
/* The library's own request that is complete: for operations that are over when their call returns. */
MPI_Request offramp_native_request_completed(void);
/* Whether the library gives one complete request to many operations of its own, and this is it. */
int offramp_native_request_is_shared(MPI_Request library);
/* One of ours; MPI_REQUEST_NULL is not. */
int offramp_native_request_is_own(MPI_Request request);
int offramp_native_request_persistent(MPI_Request request);
/* Of any request: it is null, or persistent and not active. */
int offramp_native_request_inactive(MPI_Request request);
/* One of ours, persistent, and not active. */
int offramp_native_request_startable(MPI_Request request);
MPI_Comm offramp_native_request_comm(MPI_Request own);
void offramp_native_request_activate(MPI_Request request);
/* Completes a request; bytes are what MPI_Get_count divides. */
void offramp_native_request_finish(MPI_Request request, int source, int tag, int error, size_t bytes,
                                   int cancelled);
/* Of any request, without progress. */
int offramp_native_request_complete(MPI_Request request);
/* Whether it is one of ours, active, and not complete. */
int offramp_native_request_pending(MPI_Request request);
/* Of a complete one: the error that a wait for it would raise. */
int offramp_native_request_error(MPI_Request request);
/* Lets go of a complete one of the library's own. */
void offramp_native_request_drop(MPI_Request library);

/* Completion without the library: of the first request that is not complete, from a given one on, the index;
 * count if there is none. Without progress. */
int offramp_native_requests_first_pending(int from, int count, const MPI_Request* requests);
/* The same from the first request on, if all are ours, null, or the library's complete one, and none has
 * failed; -1 if not: there is something in completing them that only the library knows. */
int offramp_native_requests_look(int count, const MPI_Request* requests);
/* What the library does once all of them are complete: fills the statuses (unless null), and in the order of
 * the list lets go of all that are not persistent. Returns how many are, and stay. */
int offramp_native_requests_settle(int count, MPI_Request* requests, MPI_Status* statuses);
/* The same of a single one, which leaves the error in the status alone, but for that of an empty status. */
int offramp_native_request_settle(MPI_Request* request, MPI_Status* status);

/* errors */
/* What the library does with an error on a communicator: calls its error handler. The text of the handler
 * that ends the job names the function. */
void offramp_native_raise(MPI_Comm comm, int code, const char* function);

/* matched messages */
MPI_Message offramp_native_message_take(MPI_Comm comm, void* payload, int source, size_t bytes);
void* offramp_native_message_payload(MPI_Message message);
MPI_Comm offramp_native_message_comm(MPI_Message message);
void offramp_native_message_release(MPI_Message message);

/* handles */
void offramp_native_type_retain(MPI_Datatype type);
void offramp_native_type_release(MPI_Datatype type);
void offramp_native_op_retain(MPI_Op op);
void offramp_native_op_release(MPI_Op op);
/* What MPI_Finalize does first: the callbacks of the attributes of MPI_COMM_SELF, which may still use MPI. */
void offramp_native_delete_self_attributes(void);
/* The callback gets the name of the function in which an error on a communicator, whose handler is
 * MPI_ERRORS_ARE_FATAL, is about to end the job; null: no more. */
void offramp_native_watch_fatal_errors(void (*callback)(const char* function));
int offramp_native_type_committed(MPI_Datatype type);
/* `count` elements lie without gaps and in type-map order (the first byte at the true lower bound). */
int offramp_native_type_contiguous(MPI_Datatype type, int count);
/* All bytes of `count` elements, one after the other, from where they lie to a packet, and back. A null
 * address is MPI_BOTTOM. */
void offramp_native_pack(const void* from, size_t count, MPI_Datatype type, void* packet, size_t bytes);
void offramp_native_unpack(const void* packet, size_t bytes, void* to, size_t count, MPI_Datatype type);
/* The same in pieces, from the first byte to the last. The type must live until the end. Returns null if
 * memory is out. */
typedef struct offramp_packing offramp_packing; /* NOLINT(readability-identifier-naming): a name of C */
offramp_packing* offramp_native_packing_begin(const void* buffer, size_t count, MPI_Datatype type);
offramp_packing* offramp_native_unpacking_begin(void* buffer, size_t count, MPI_Datatype type);
/* Packs the next piece, of at most this many bytes, and returns its size. */
size_t offramp_native_packing_next(offramp_packing* packing, void* piece, size_t bytes);
void offramp_native_unpacking_next(offramp_packing* unpacking, const void* piece, size_t bytes);
void offramp_native_packing_end(offramp_packing* packing);
void offramp_native_unpacking_end(offramp_packing* unpacking);

#ifdef __cplusplus
}
#endif

#endif
