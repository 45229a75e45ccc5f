/* Open MPI 4.1 and 5.0, through their installed internal headers. */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/run/native/native.h"
#include "ompi/attribute/attribute.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/errhandler/errhandler.h"
#include "ompi/message/message.h"
#include "ompi/request/request.h"
#include "ompi_config.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/datatype/opal_datatype.h"
#include "opal/runtime/opal_progress.h"
#if OMPI_MAJOR_VERSION >= 5
#include "ompi/mca/coll/base/coll_base_util.h"
#include "opal/util/proc.h"
#endif

static offramp_callbacks callbacks;

static int on_free(ompi_request_t** handle);
static int on_cancel(ompi_request_t* request, int flag);
static int on_start(size_t count, ompi_request_t** requests);

/* The library's requests have other functions in this field, so it identifies Offramp's objects. */
static int is_own(const ompi_request_t* request) {
  return request != NULL && request->req_free == on_free;
}

/* Another thread may be completing the request; its earlier writes are visible once this returns true. */
static int is_complete(const ompi_request_t* request) {
  return __atomic_load_n(&request->req_complete, __ATOMIC_ACQUIRE) == REQUEST_COMPLETED;
}

void offramp_native_open(const offramp_callbacks* functions) {
  callbacks = *functions;
}

MPI_Request offramp_native_request_make(size_t body_bytes) {
  const size_t lines = (kOfframpRequestBytes + body_bytes - 1) / kOfframpRequestAlignment + 1;
  const size_t bytes = lines * kOfframpRequestAlignment;
  ompi_request_t* r = aligned_alloc(kOfframpRequestAlignment, bytes);
  if (r == NULL) return MPI_REQUEST_NULL;
  memset(r, 0, bytes);
  OBJ_CONSTRUCT(r, ompi_request_t);
  /* The library treats the type as that of its own messages, which have no further fields of their own. */
  r->req_type = OMPI_REQUEST_PML;
  r->req_free = on_free;
  r->req_cancel = on_cancel;
  r->req_start = on_start;
  return r;
}

/* The library also reads the error of pending requests. */
static void reset_status(ompi_request_t* r) {
  r->req_status.MPI_ERROR = MPI_SUCCESS;
  r->req_status._cancelled = 0;
}

MPI_Request offramp_native_request_completed(void) {
  return &ompi_request_empty;
}

int offramp_native_request_is_shared(MPI_Request library) {
  return library == &ompi_request_empty;
}

void offramp_native_request_begin(MPI_Request r, MPI_Comm comm, int persistent) {
  OMPI_REQUEST_INIT(r, persistent != 0);
  reset_status(r);
  r->req_mpi_object.comm = comm;
  OBJ_RETAIN(comm); /* the error handler outlives MPI_Comm_free */
  if (!persistent) r->req_state = OMPI_REQUEST_ACTIVE;
}

/* The library frees a failed request before it raises the error. A communicator that the program has freed
 * stays until the next one. */
void offramp_native_request_end(MPI_Request request) {
  static MPI_Comm raised_on = NULL;
  MPI_Comm comm = request->req_mpi_object.comm;
  if (request->req_status.MPI_ERROR != MPI_SUCCESS && ((opal_object_t*)comm)->obj_reference_count == 1) {
    MPI_Comm before = raised_on;
    raised_on = comm;
    comm = before;
  }
  if (comm != NULL) OBJ_RELEASE(comm);
}

int offramp_native_request_is_own(MPI_Request request) {
  return is_own(request);
}

int offramp_native_request_inactive(MPI_Request request) {
  return request != NULL && request->req_state == OMPI_REQUEST_INACTIVE;
}

int offramp_native_request_startable(MPI_Request request) {
  return is_own(request) && request->req_persistent && offramp_native_request_inactive(request);
}

MPI_Comm offramp_native_request_comm(MPI_Request own) {
  return own->req_mpi_object.comm;
}

void offramp_native_request_activate(MPI_Request request) {
  request->req_complete = REQUEST_PENDING;
  request->req_state = OMPI_REQUEST_ACTIVE;
  reset_status(request);
}

void offramp_native_request_finish(MPI_Request request, int source, int tag, int error, size_t bytes,
                                   int cancelled) {
  request->req_status.MPI_SOURCE = source;
  request->req_status.MPI_TAG = tag;
  request->req_status.MPI_ERROR = error;
  request->req_status._ucount = bytes;
  request->req_status._cancelled = cancelled;
  /* Wakes a thread that waits in the library, and makes the status visible to it. */
  ompi_request_complete(request, true);
}

int offramp_native_request_complete(MPI_Request request) {
  return is_complete(request);
}

int offramp_native_request_pending(MPI_Request request) {
  return is_own(request) && !is_complete(request);
}

int offramp_native_request_error(MPI_Request request) {
  return request->req_status.MPI_ERROR;
}

void offramp_native_request_drop(MPI_Request library) {
  ompi_request_free(&library);
}

static void release_all(ompi_request_t** handle, int active) {
  ompi_request_t* r = *handle;
  OMPI_REQUEST_FINI(r);
  *handle = MPI_REQUEST_NULL;
  callbacks.released(offramp_native_request_body(r), active);
}

static int on_free(ompi_request_t** handle) {
  const ompi_request_t* r = *handle;
  release_all(handle, r->req_state == OMPI_REQUEST_ACTIVE && !is_complete(r));
  return OMPI_SUCCESS;
}

static int is_plain(const ompi_request_t* r) {
  if (is_own(r)) return r->req_status.MPI_ERROR == MPI_SUCCESS;
  return r == &ompi_request_empty || r == MPI_REQUEST_NULL;
}

int offramp_native_requests_first_pending(int from, int count, const MPI_Request* requests) {
  while (from < count && is_complete(requests[from])) ++from;
  return from;
}

int offramp_native_requests_look(int count, const MPI_Request* requests) {
  int first = count;
  for (int i = count - 1; i >= 0; --i) {
    if (!is_plain(requests[i])) return -1;
    if (!is_complete(requests[i])) first = i;
  }
  return first;
}

static const MPI_Status* status_of(const ompi_request_t* r) {
  return r->req_state == OMPI_REQUEST_INACTIVE ? &ompi_status_empty : &r->req_status;
}

/* Returns 1 if the request stays because it is persistent. An inactive one has nothing to complete. */
static int retire_request(ompi_request_t** handle) {
  ompi_request_t* r = *handle;
  if (r->req_state == OMPI_REQUEST_INACTIVE) return 0;
  if (r->req_persistent) {
    r->req_state = OMPI_REQUEST_INACTIVE;
    return 1;
  }
  if (is_own(r)) {
    release_all(handle, 0);
  } else {
    *handle = MPI_REQUEST_NULL; /* the library's complete request has no owner */
  }
  return 0;
}

int offramp_native_requests_settle(int count, MPI_Request* requests, MPI_Status* statuses) {
  int stay = 0;
  for (int i = 0; i < count; ++i) {
    if (statuses != MPI_STATUSES_IGNORE) statuses[i] = *status_of(requests[i]);
    stay += retire_request(&requests[i]);
  }
  return stay;
}

int offramp_native_request_settle(MPI_Request* request, MPI_Status* status) {
  const int empty = offramp_native_request_inactive(*request);
  if (status != MPI_STATUS_IGNORE) OMPI_COPY_STATUS(status, *status_of(*request), empty);
  return retire_request(request);
}

static int on_cancel(ompi_request_t* request, int flag) {
  (void)flag;
  callbacks.cancel(offramp_native_request_body(request));
  return OMPI_SUCCESS;
}

static int on_start(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    if (!is_own(requests[i])) return OMPI_ERR_BAD_PARAM;
    const int rc = callbacks.start(offramp_native_request_body(requests[i]));
    if (rc != MPI_SUCCESS) return rc;
  }
  return OMPI_SUCCESS;
}

int offramp_native_progress_register(int (*callback)(void)) {
  return opal_progress_register(callback);
}
int offramp_native_progress_unregister(int (*callback)(void)) {
  return opal_progress_unregister(callback);
}
void offramp_native_progress(void) {
  opal_progress();
}
int offramp_native_yields(void) {
  return opal_progress_yield_when_idle;
}

void offramp_native_raise(MPI_Comm comm, int code, const char* function) {
  ompi_errhandler_invoke(comm->error_handler, comm, comm->errhandler_type, code, function);
}

MPI_Message offramp_native_message_take(MPI_Comm comm, void* payload, int source, size_t bytes) {
  ompi_message_t* m = ompi_message_alloc();
  if (m == NULL) return NULL;
  m->comm = comm;
  OBJ_RETAIN(comm); /* a receive of the message raises its errors there */
  m->req_ptr = payload;
  m->peer = source;
  m->count = bytes;
  return m;
}
void* offramp_native_message_payload(MPI_Message message) {
  return message->req_ptr;
}
MPI_Comm offramp_native_message_comm(MPI_Message message) {
  return message->comm;
}
void offramp_native_message_release(MPI_Message message) {
  OBJ_RELEASE(message->comm);
  ompi_message_return(message);
}

void offramp_native_type_retain(MPI_Datatype type) {
  OBJ_RETAIN(type);
}
void offramp_native_type_release(MPI_Datatype type) {
  OBJ_RELEASE(type);
}
/* Every object of the library begins with its reference count. The header of operations is not fully
 * installed. */
void offramp_native_op_retain(MPI_Op op) {
  OBJ_RETAIN((opal_object_t*)op);
}
void offramp_native_op_release(MPI_Op op) {
  opal_object_t* counted = (opal_object_t*)op;
  OBJ_RELEASE(counted);
}
void offramp_native_delete_self_attributes(void) {
  ompi_communicator_t* self = &ompi_mpi_comm_self.comm;
  /* Without attributes there is no table. */
  if (self->c_keyhash == NULL) return;
  ompi_attr_delete_all(COMM_ATTR, self, self->c_keyhash);
  OBJ_RELEASE(self->c_keyhash);
  self->c_keyhash = NULL;
}
static void (*on_fatal_error_callback)(const char* function);
static MPI_Comm_errhandler_function* end_job;

/* The library passes the function's name, and a null at the end. */
static void on_fatal_error(MPI_Comm* comm, int* code, ...) {
  va_list more;
  va_start(more, code);
  const char* function = va_arg(more, const char*);
  va_end(more);
  on_fatal_error_callback(function);
  end_job(comm, code, function, NULL, NULL);
}

void offramp_native_watch_fatal_errors(void (*callback)(const char* function)) {
  MPI_Comm_errhandler_function** entry = &ompi_mpi_errors_are_fatal.eh.eh_comm_fn;
  /* The table of the predefined handler is the library's, so it is restored at the end. */
  if (callback != NULL && *entry != on_fatal_error) {
    end_job = *entry;
    *entry = on_fatal_error;
  } else if (callback == NULL && *entry == on_fatal_error) {
    *entry = end_job;
  }
  on_fatal_error_callback = callback;
}

int offramp_native_type_committed(MPI_Datatype type) {
  return ompi_datatype_is_committed(type);
}
int offramp_native_type_contiguous(MPI_Datatype type, int count) {
  return opal_datatype_is_contiguous_memory_layout(&type->super, count);
}
/* As MPI_Pack and MPI_Unpack, without the limits of int. */
void offramp_native_pack(const void* from, size_t count, MPI_Datatype type, void* packet, size_t bytes) {
  /* The convertor is the library's own interpreter of datatypes, with counts of 64 bits. */
  opal_convertor_t convertor;
  struct iovec whole = {packet, bytes};
  uint32_t parts = 1;
  size_t done = bytes;
  OBJ_CONSTRUCT(&convertor, opal_convertor_t);
  opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count, from, 0,
                                           &convertor);
  opal_convertor_pack(&convertor, &whole, &parts, &done);
  OBJ_DESTRUCT(&convertor);
}
void offramp_native_unpack(const void* packet, size_t bytes, void* to, size_t count, MPI_Datatype type) {
  opal_convertor_t convertor;
  struct iovec whole = {(void*)(uintptr_t)packet, bytes};
  uint32_t parts = 1;
  size_t done = bytes;
  OBJ_CONSTRUCT(&convertor, opal_convertor_t);
  opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count, to, 0, &convertor);
  opal_convertor_unpack(&convertor, &whole, &parts, &done);
  OBJ_DESTRUCT(&convertor);
}
struct offramp_packing {
  opal_convertor_t convertor;
};

offramp_packing* offramp_native_packing_begin(const void* buffer, size_t count, MPI_Datatype type) {
  offramp_packing* const packing = malloc(sizeof *packing);
  if (packing == NULL) return NULL;
  OBJ_CONSTRUCT(&packing->convertor, opal_convertor_t);
  opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count, buffer, 0,
                                           &packing->convertor);
  return packing;
}
offramp_packing* offramp_native_unpacking_begin(void* buffer, size_t count, MPI_Datatype type) {
  offramp_packing* const packing = malloc(sizeof *packing);
  if (packing == NULL) return NULL;
  OBJ_CONSTRUCT(&packing->convertor, opal_convertor_t);
  opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count, buffer, 0,
                                           &packing->convertor);
  return packing;
}
size_t offramp_native_packing_next(offramp_packing* packing, void* piece, size_t bytes) {
  struct iovec whole = {piece, bytes};
  uint32_t parts = 1;
  size_t done = bytes;
  opal_convertor_pack(&packing->convertor, &whole, &parts, &done);
  return done;
}
void offramp_native_unpacking_next(offramp_packing* unpacking, const void* piece, size_t bytes) {
  struct iovec whole = {(void*)(uintptr_t)piece, bytes};
  uint32_t parts = 1;
  size_t done = bytes;
  opal_convertor_unpack(&unpacking->convertor, &whole, &parts, &done);
}
void offramp_native_packing_end(offramp_packing* packing) {
  OBJ_DESTRUCT(&packing->convertor);
  free(packing);
}
void offramp_native_unpacking_end(offramp_packing* unpacking) {
  offramp_native_packing_end(unpacking);
}

const void* offramp_native_inner_library(void) {
  return (const void*)(uintptr_t)&opal_progress;
}

void* offramp_openmpi_pmix_process(void) {
#if OMPI_MAJOR_VERSION >= 5
  return &opal_process_info.myprocid;
#else
  return NULL;
#endif
}

/* 4.1 is the only known release of 4. Releases from 5.0 on keep their internals. */
#if OMPI_MAJOR_VERSION == 4
#define SUPPORTED "4.1"
#else
#define SUPPORTED "5"
#endif

const char* offramp_native_name(void) {
  return "Open MPI " SUPPORTED;
}

/* Another library may answer. MPICH writes up to 8192 bytes, and no known library writes more. */
int offramp_native_supports(int (*get_library_version)(char* version, int* length)) {
  static char version[65536];
  int length = 0;
  const int code = get_library_version(version, &length);
  version[sizeof version - 1] = '\0';
  return code == MPI_SUCCESS && strstr(version, "Open MPI v" SUPPORTED ".") != NULL;
}

int offramp_native_session_meets_init(void) {
  return 0;
}

/* MPI_Reduce_local uses a function of MPI_COMM_WORLD, which is missing without MPI_Init (5.0.7). */
static MPI_Comm reduces_apart = MPI_COMM_NULL;

void offramp_native_reduce_apart(MPI_Comm comm) {
  reduces_apart = comm;
}

int offramp_native_reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
#if OMPI_MAJOR_VERSION >= 5
  if (reduces_apart != MPI_COMM_NULL) {
    const mca_coll_base_comm_coll_t* coll = reduces_apart->c_coll;
    return coll->coll_reduce_local(in, inout, count, type, op, coll->coll_reduce_local_module);
  }
#endif
  return PMPI_Reduce_local(in, inout, count, type, op);
}

#if OMPI_MAJOR_VERSION >= 5
typedef ompi_coll_base_nbc_request_t longest_request;
#define LONGEST_REQUEST_CLASS ompi_coll_base_nbc_request_t_class
#else
typedef ompi_request_t longest_request;
#define LONGEST_REQUEST_CLASS ompi_request_t_class
#endif

/* The layout matches the running library if the library reports the same release and its requests have the
 * same size. */
const char* offramp_native_check(void) {
  if (!offramp_native_supports(PMPI_Get_library_version)) return "the MPI library is not Open MPI " SUPPORTED;
  if (sizeof(longest_request) > kOfframpRequestBytes ||
      ompi_request_t_class.cls_sizeof != sizeof(ompi_request_t) ||
      LONGEST_REQUEST_CLASS.cls_sizeof != sizeof(longest_request))
    return "the MPI library's request objects have another layout";
  return NULL;
}
