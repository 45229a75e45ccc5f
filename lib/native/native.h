/* What Offramp needs of the MPI library's inside, behind one interface: progress, request and message objects
 * in the library's own layout (so that its completion functions and Fortran glue work on them unmodified),
 * and a few properties of handles. All knowledge of Open MPI's internals is in the implementation of this
 * header.
 *
 * Plain C, because Open MPI's internal headers do not compile as C++. Callers serialise calls that change an
 * object. */
#ifndef OFFRAMP_NATIVE_H
#define OFFRAMP_NATIVE_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Null when the running library is the one that this was built for and a trial request behaves; else the
 * reason. */
const char* offramp_native_check(void);

/* progress: the callback runs in every turn of the library's progress engine and returns the number of events
 * that it handled. Register after MPI_Init, unregister before MPI_Finalize. Returns 0 on success. */
int offramp_native_progress_register(int (*callback)(void));
int offramp_native_progress_unregister(int (*callback)(void));
void offramp_native_progress(void);

/* requests */
typedef struct offramp_request_callbacks { /* NOLINT(readability-identifier-naming): a name of C */
  /* The handle goes away: after completion was reported to the program, or by MPI_Request_free. When
   * `active`, the operation is still running and the object stays until offramp_native_request_recycle. */
  void (*released)(void* body, int active);
  void (*cancel)(void* body);
  int (*start)(void* body); /* persistent requests; returns an MPI error code */
} offramp_request_callbacks;

/* Sorts of objects, which differ in the size of their body. */
enum { kOfframpRequestSorts = 3 };
/* Once; body_bytes[sort] of zeroed memory come with each object and persist over its reuse, which is for the
 * same sort. */
void offramp_native_requests_open(const size_t body_bytes[kOfframpRequestSorts],
                                  const offramp_request_callbacks* callbacks);
/* An object that nobody knows of yet, to be begun or given back. Null when memory is out. */
MPI_Request offramp_native_request_reserve(int sort, void** body);
/* Makes it an active (or, persistent, inactive) request. The communicator is for error handling. */
void offramp_native_request_begin(MPI_Request request, MPI_Comm comm, int persistent);
/* Gives an object back that was never begun. */
void offramp_native_request_unreserve(MPI_Request request);
/* The library's own request that is complete: for operations that are over when their call returns. */
MPI_Request offramp_native_request_completed(void);
/* The body of one of our requests, or null for any other request (also MPI_REQUEST_NULL). */
void* offramp_native_request_body(MPI_Request request);
int offramp_native_request_persistent(MPI_Request request);
void offramp_native_request_activate(MPI_Request request);
/* Completes a request; bytes are what MPI_Get_count divides. */
void offramp_native_request_finish(MPI_Request request, int source, int tag, int error, size_t bytes,
                                   int cancelled);
/* Gives an object back whose handle was released while it was active. */
void offramp_native_request_recycle(MPI_Request request);
/* Of any request, without progress. */
int offramp_native_request_complete(MPI_Request request);
/* Whether it is one of ours, active, and not complete. */
int offramp_native_request_pending(MPI_Request request);
/* Of a complete one: the error that a wait for it would raise. */
int offramp_native_request_error(MPI_Request request);

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
int offramp_native_type_committed(MPI_Datatype type);
/* `count` elements lie without gaps and in type-map order (the first byte at the true lower bound). */
int offramp_native_type_contiguous(MPI_Datatype type, int count);

#ifdef __cplusplus
}
#endif

#endif
