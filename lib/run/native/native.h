/* The internals of the MPI library behind one interface: progress, Offramp's own requests and messages (which
 * the completion functions of the table of natives accept), and some properties of handles. Each family of
 * MPI libraries has its implementation (openmpi*, mpich*); the build selects one.
 *
 * Plain C, because Open MPI's internal headers do not compile as C++. Callers serialise calls that change an
 * object. */
#ifndef OFFRAMP_NATIVE_H
#define OFFRAMP_NATIVE_H

#include <mpi.h>
#include <stddef.h>

/* Per family: the size of the library's part of a request, which the body follows; fields of a status without
 * MPI names; and whether a call comes from within the library. */
#include OFFRAMP_NATIVE_FAMILY

#ifdef __cplusplus
extern "C" {
#endif

/* Null if the running library is the one that this was built for, otherwise the reason. */
const char* offramp_native_check(void);
/* The libraries that this was built for, as users name them: "Open MPI 4.1". */
const char* offramp_native_name(void);
/* An address in the inner library, which installs signal handlers. */
const void* offramp_native_inner_library(void);
/* Returns true if the library with this version function is one that this was built for. May be called before
 * MPI_Init. */
int offramp_native_supports(int (*get_library_version)(char* version, int* length));

/* Progress. The callback runs in every turn of the library's progress engine and returns the number of events
 * that it handled. Register after MPI_Init, unregister before MPI_Finalize. Returns 0 on success. */
int offramp_native_progress_register(int (*callback)(void));
int offramp_native_progress_unregister(int (*callback)(void));
void offramp_native_progress(void);
/* Returns true if the library's waits yield the processor in every idle turn, because there are more ranks
 * than cores. */
int offramp_native_yields(void);

/* Returns true if the first MPI_Session_init may wait for ranks that call MPI_Init, as in MPICH. In MPICH
 * 4.2.1, a session older than MPI_Init causes a segmentation fault in MPI_Finalize. */
int offramp_native_session_meets_init(void);
/* MPI_Reduce_local, also for programs with only MPI sessions. */
int offramp_native_reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op);
/* Sets the communicator for it in such programs; MPI_COMM_NULL before that one is freed. */
void offramp_native_reduce_apart(MPI_Comm comm);

/* Functions of Offramp that the library's side calls. */
typedef struct offramp_callbacks { /* NOLINT(readability-identifier-naming): a name of C */
  /* Runs body(argument) while no other caller changes an object. Does nothing without a session. */
  void (*locked)(void (*body)(void*), void* argument);
  /* Runs call(argument), which waits for other processes inside the library without driving Offramp's
   * progress. */
  void (*serving)(void (*call)(void*), void* argument);

  /* The handle of a request is released: after the program has seen its completion, or by MPI_Request_free.
   * If `active`, the operation is still running, and the object stays until offramp_native_request_end. */
  void (*released)(void* body, int active);
  void (*cancel)(void* body);
  int (*start)(void* body); /* for persistent requests; returns an MPI error code */
} offramp_callbacks;

/* Call it once, before the first request is made. */
void offramp_native_open(const offramp_callbacks* callbacks);

/* requests */
/* A new object with a body of zeroed memory. It is never freed: its owner reuses it for successive requests.
 * Returns MPI_REQUEST_NULL without memory. */
MPI_Request offramp_native_request_make(size_t body_bytes);
/* Makes it a request: active, or inactive if persistent. The communicator is for error handling. */
void offramp_native_request_begin(MPI_Request request, MPI_Comm comm, int persistent);
/* Ends the request and releases its communicator. The object can be reused. */
void offramp_native_request_end(MPI_Request request);
/* The library's complete request, for operations that complete within their call. */
MPI_Request offramp_native_request_completed(void);
/* Returns true if this is a complete request that the library shares among many of its operations. */
int offramp_native_request_is_shared(MPI_Request library);
/* Returns true for Offramp's requests. False for MPI_REQUEST_NULL. */
int offramp_native_request_is_own(MPI_Request request);
/* For any request: returns true if it is null, or persistent and inactive. */
int offramp_native_request_inactive(MPI_Request request);
/* Returns true for an inactive persistent request of Offramp's. */
int offramp_native_request_startable(MPI_Request request);
MPI_Comm offramp_native_request_comm(MPI_Request own);
void offramp_native_request_activate(MPI_Request request);
/* Completes a request. bytes: the basis of MPI_Get_count. */
void offramp_native_request_finish(MPI_Request request, int source, int tag, int error, size_t bytes,
                                   int cancelled);
/* For any request. Does not drive progress. */
int offramp_native_request_complete(MPI_Request request);
/* Returns true for an active, incomplete request of Offramp's. */
int offramp_native_request_pending(MPI_Request request);
/* For a complete request: the error that waiting for it would raise. */
int offramp_native_request_error(MPI_Request request);
/* Releases a complete request of the library. */
void offramp_native_request_drop(MPI_Request library);

/* The index of the first incomplete request at or after `from`, or count. Does not drive progress. */
int offramp_native_requests_first_pending(int from, int count, const MPI_Request* requests);
/* The index of the first incomplete request, or count, if all are Offramp's, null, or the library's complete
 * one, and none has failed. Otherwise -1: the library has to complete them. */
int offramp_native_requests_look(int count, const MPI_Request* requests);
/* Ends complete requests as the library does: fills the statuses (unless null) and releases, in the order of
 * the list, all that are not persistent. Returns the number of persistent ones. */
int offramp_native_requests_settle(int count, MPI_Request* requests, MPI_Status* statuses);
/* For a single request. Does not change MPI_ERROR, except in an empty status. */
int offramp_native_request_settle(MPI_Request* request, MPI_Status* status);

/* errors */
/* Raises an error on a communicator as the library does: calls its error handler. The handler that ends the
 * job prints the name of the function. */
void offramp_native_raise(MPI_Comm comm, int code, const char* function);

/* Matched messages. Each retains its communicator for error handling. */
MPI_Message offramp_native_message_take(MPI_Comm comm, void* payload, int source, size_t bytes);
void* offramp_native_message_payload(MPI_Message message);
MPI_Comm offramp_native_message_comm(MPI_Message message);
void offramp_native_message_release(MPI_Message message);

/* handles */
void offramp_native_type_retain(MPI_Datatype type);
void offramp_native_type_release(MPI_Datatype type);
void offramp_native_op_retain(MPI_Op op);
void offramp_native_op_release(MPI_Op op);
/* Calls the callbacks of the attributes of MPI_COMM_SELF, which may still use MPI: the first step of
 * MPI_Finalize. */
void offramp_native_delete_self_attributes(void);
/* The callback is called when an error is about to end the job (MPI_ERRORS_ARE_FATAL), with the name of the
 * function. Null removes it. */
void offramp_native_watch_fatal_errors(void (*callback)(const char* function));
int offramp_native_type_committed(MPI_Datatype type);
/* Returns true if `count` elements are without gaps and in type-map order, starting at the true lower bound.
 * */
int offramp_native_type_contiguous(MPI_Datatype type, int count);
/* Copies all bytes of `count` elements from memory to a packet, and back. A null address is MPI_BOTTOM. */
void offramp_native_pack(const void* from, size_t count, MPI_Datatype type, void* packet, size_t bytes);
void offramp_native_unpack(const void* packet, size_t bytes, void* to, size_t count, MPI_Datatype type);
/* Packing in pieces, from the first byte to the last. The type must live until the end. Returns null without
 * memory. */
typedef struct offramp_packing offramp_packing; /* NOLINT(readability-identifier-naming): a name of C */
offramp_packing* offramp_native_packing_begin(const void* buffer, size_t count, MPI_Datatype type);
offramp_packing* offramp_native_unpacking_begin(void* buffer, size_t count, MPI_Datatype type);
/* Packs the next piece of at most `bytes` bytes and returns its size. */
size_t offramp_native_packing_next(offramp_packing* packing, void* piece, size_t bytes);
void offramp_native_unpacking_next(offramp_packing* unpacking, const void* piece, size_t bytes);
void offramp_native_packing_end(offramp_packing* packing);
void offramp_native_unpacking_end(offramp_packing* unpacking);

#ifdef __cplusplus
}
#endif

#endif
