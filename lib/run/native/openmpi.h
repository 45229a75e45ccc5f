/* Of Open MPI's inside, what is part of the interface of native.h, which includes this. */
#ifndef OFFRAMP_NATIVE_OPENMPI_H
#define OFFRAMP_NATIVE_OPENMPI_H

#include <mpi.h>
#include <stddef.h>

/* The body lies behind what the library knows of. The objects begin at a cache line: what the library changes
 * of them is in the second, and the body begins in the third, beside the communicator. From Open MPI 5 on it
 * is 128 bytes further: the functions for Fortran take the request of a nonblocking collective for one of the
 * library's own, which is longer, and leave arrays in it. Some are the program's, so that they cannot be
 * freed; nor does the library, unless the collective has derived types. */
#if OMPI_MAJOR_VERSION < 5
enum { kOfframpRequestBytes = 160, kOfframpRequestAlignment = 64 };
#else
enum { kOfframpRequestBytes = 288, kOfframpRequestAlignment = 64 };
#endif
static inline void* offramp_native_request_body(MPI_Request own) {
  return (char*)own + kOfframpRequestBytes;
}

/* Leaves MPI_ERROR alone. */
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

/* Whether a call that goes on at this address comes from within the library, which is to reach the library's
 * own functions. Open MPI calls its inner ones. */
static inline int offramp_native_is_inside(const void* address) {
  (void)address;
  return 0;
}

#ifdef __cplusplus
extern "C" {
#endif
/* Where Open MPI 5 keeps its name in PMIx (a pmix_proc_t). It asks PMIx for it only if it initialises PMIx
 * itself, so an earlier initialisation has to fill it in. NULL for Open MPI 4.1, which asks in any case. */
void* offramp_openmpi_pmix_process(void);
#ifdef __cplusplus
}
#endif

#endif
