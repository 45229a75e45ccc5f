/* Of Offramp's objects beside MPICH's, what is part of the interface of native.h, which includes this.
 *
 * MPICH's handles are ints: two bits for how an object is kept, of which 00 says that there is none, four for
 * what it is, and 26 for which one. Requests and messages of ours have 00 there and kinds that no null handle
 * has. */
#ifndef OFFRAMP_NATIVE_MPICH_H
#define OFFRAMP_NATIVE_MPICH_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { kOfframpRequestBytes = 32, kOfframpRequestAlignment = 64, kOfframpHandleBits = 26 };
static const unsigned kOfframpHandleMask = (1U << kOfframpHandleBits) - 1;

/* Where requests lie; a handle counts cache lines from here. It never moves. */
extern char* offramp_mpich_requests __attribute__((visibility("hidden")));

/* What is kept of a request before its body. */
typedef struct offramp_mpich_request { /* NOLINT(readability-identifier-naming): a name of C */
  MPI_Status status;
  MPI_Comm comm;
  unsigned char complete; /* by another thread, perhaps */
  unsigned char persistent;
  unsigned char active; /* the program waits for it, or has not learnt of its end */
} offramp_mpich_request;

static inline offramp_mpich_request* offramp_mpich_request_at(MPI_Request handle) {
  return (offramp_mpich_request*)(void*)(offramp_mpich_requests +
                                         (size_t)((unsigned)handle & kOfframpHandleMask) *
                                             kOfframpRequestAlignment);
}
static inline void* offramp_native_request_body(MPI_Request own) {
  return (char*)offramp_mpich_request_at(own) + kOfframpRequestBytes;
}

/* Leaves MPI_ERROR alone. The count has 63 bits, the lowest of its upper word being the mark of a cancelled
 * one. */
static inline void offramp_native_status_set(MPI_Status* status, int source, int tag, size_t bytes,
                                             int cancelled) {
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  status->count_lo = (int)(uint32_t)bytes;
  status->count_hi_and_cancelled = (int)((uint32_t)(bytes >> 32) << 1 | (cancelled != 0 ? 1U : 0U));
}
static inline size_t offramp_native_status_bytes(const MPI_Status* status) {
  return (size_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32 | (uint32_t)status->count_lo;
}
static inline int offramp_native_status_cancelled(const MPI_Status* status) {
  return status->count_hi_and_cancelled & 1;
}

/* Where the code of libmpich lies. */
extern uintptr_t offramp_mpich_code_begin __attribute__((visibility("hidden")));
extern uintptr_t offramp_mpich_code_bytes __attribute__((visibility("hidden")));
/* Whether a call that goes on at this address comes from within the library (ROMIO is in it, and calls
 * PMPI_X), which is to reach the library's own functions. */
static inline int offramp_native_is_inside(const void* address) {
  return (uintptr_t)address - offramp_mpich_code_begin < offramp_mpich_code_bytes;
}

#endif
