/* Open MPI's part of the interface of native.h, which includes this header. */
#ifndef OFFRAMP_NATIVE_OPENMPI_H
#define OFFRAMP_NATIVE_OPENMPI_H

#include <mpi.h>
#include <stddef.h>

/* The body follows the library's part of the object. Objects begin at a cache line. The library's mutable
 * fields are in the second line, and the body begins in the third, beside the communicator. From Open MPI 5
 * on the body is 128 bytes further on: the Fortran bindings treat the request of any nonblocking collective
 * as the library's own, which is longer, and store arrays in it. Some arrays are the program's, so they
 * cannot be freed; the library itself only frees them for derived types. */
#if OMPI_MAJOR_VERSION < 5
enum { kOfframpRequestBytes = 160, kOfframpRequestAlignment = 64 };
#else
enum { kOfframpRequestBytes = 288, kOfframpRequestAlignment = 64 };
#endif
static inline void* offramp_native_request_body(MPI_Request own) {
  return (char*)own + kOfframpRequestBytes;
}

/* Does not change MPI_ERROR. */
static inline void offramp_native_status_set(MPI_Status* status, int source, int tag, size_t bytes,
                                             int cancelled) {
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  status->_ucount = bytes;
  status->_cancelled = cancelled;
}
static inline size_t offramp_native_status_bytes(const MPI_Status* status) {
  return status->_ucount;
}
static inline int offramp_native_status_cancelled(const MPI_Status* status) {
  return status->_cancelled;
}

/* Always false: Open MPI calls its inner functions. Elsewhere true for a return address within the library,
 * whose calls get the library's own functions. */
static inline int offramp_native_is_inside(const void* address) {
  (void)address;
  return 0;
}

#ifdef __cplusplus
extern "C" {
#endif
/* The variable in which Open MPI 5 keeps its name in PMIx (a pmix_proc_t). Open MPI only sets it if it
 * initialises PMIx itself, so an earlier initialisation must set it. NULL for Open MPI 4.1, which always
 * queries PMIx. */
void* offramp_openmpi_pmix_process(void);
#ifdef __cplusplus
}
#endif

#endif
