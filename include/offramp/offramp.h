/* The C interface for programs that know of Offramp. Programs that do not need none of it.
 *
 * A program that should also run without Offramp declares these functions weak, or looks them up with dlsym.
 * All of them may be called from any thread between MPI_Init and MPI_Finalize; outside, and with the backend
 * "off", they return what is said at each. */
#ifndef OFFRAMP_H
#define OFFRAMP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library's version, "X.Y.Z". */
const char* offramp_version(void);

/* The name of the backend that carries this run; "off" when none does. Valid until MPI_Finalize. */
const char* offramp_backend(void);

/* Always -1: a run knows no modelled time, which is computed at MPI_Finalize. Programs that read MPI_Wtime
 * get modelled time in it with clock = "settled". */
int64_t offramp_modelled_time_ps(void);

#ifdef __cplusplus
}
#endif

#endif
