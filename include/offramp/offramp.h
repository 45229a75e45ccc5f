/* The C interface for programs that are aware of Offramp; all other programs run without it.
 *
 * A program that should also run without Offramp declares these functions weak, or looks them up with dlsym.
 * Any thread may call them between MPI_Init and MPI_Finalize; outside, offramp_backend() returns "off". */
#ifndef OFFRAMP_H
#define OFFRAMP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library's version, "X.Y.Z". */
const char* offramp_version(void);

/* The name of the backend that carries this run, or "off". Valid until MPI_Finalize. */
const char* offramp_backend(void);

/* Always returns -1: modelled time is computed at MPI_Finalize. With clock = "settled", MPI_Wtime returns
 * modelled time. */
int64_t offramp_modelled_time_ps(void);

#ifdef __cplusplus
}
#endif

#endif
