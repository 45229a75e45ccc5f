/* MPICH's part of the interface of native.h, which includes this header.
 *
 * MPICH's handles are ints: two bits for the kind of storage (00: invalid), four for the kind of object, and
 * 26 for its index. Offramp's requests and messages have 00 and kinds that no null handle has. */
#ifndef OFFRAMP_NATIVE_MPICH_H
#define OFFRAMP_NATIVE_MPICH_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { kOfframpRequestBytes = 32, kOfframpRequestAlignment = 64, kOfframpHandleBits = 26 };
static const unsigned kOfframpHandleMask = (1U << kOfframpHandleBits) - 1;

/* The memory of requests; a handle counts cache lines from here. It never moves. */
extern char* offramp_mpich_requests __attribute__((visibility("hidden")));

/* The header of a request, before its body. */
typedef struct offramp_mpich_request { /* NOLINT(readability-identifier-naming): a name of C */
  MPI_Status status;
  MPI_Comm comm;
  unsigned char complete; /* possibly set by another thread */
  unsigned char persistent;
  unsigned char active; /* started, and its completion not yet seen by the program */
} offramp_mpich_request;

static inline offramp_mpich_request* offramp_mpich_request_at(MPI_Request handle) {
  return (offramp_mpich_request*)(void*)(offramp_mpich_requests +
                                         (size_t)((unsigned)handle & kOfframpHandleMask) *
                                             kOfframpRequestAlignment);
}
static inline void* offramp_native_request_body(MPI_Request own) {
  return (char*)offramp_mpich_request_at(own) + kOfframpRequestBytes;
}

/* Does not change MPI_ERROR. The count has 63 bits. The lowest bit of its upper word marks a cancelled
 * operation. */
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

/* The code of libmpich. */
extern uintptr_t offramp_mpich_code_begin __attribute__((visibility("hidden")));
extern uintptr_t offramp_mpich_code_bytes __attribute__((visibility("hidden")));
/* Returns true for a return address within the library. ROMIO is part of it and calls PMPI_X; such calls get
 * the library's own functions. */
static inline int offramp_native_is_inside(const void* address) {
  return (uintptr_t)address - offramp_mpich_code_begin < offramp_mpich_code_bytes;
}

#endif
