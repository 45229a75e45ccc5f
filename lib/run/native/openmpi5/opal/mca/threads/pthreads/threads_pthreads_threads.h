/* As threads_pthreads_mutex.h: how a thread of Open MPI 5's component "pthreads" lets others run. */
#ifndef OFFRAMP_OPENMPI5_THREADS_H
#define OFFRAMP_OPENMPI5_THREADS_H

#include <sched.h>

static inline void opal_thread_yield(void) {
  sched_yield();
}

#endif
