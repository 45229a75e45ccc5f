/* As threads_pthreads_mutex.h: yields the processor in Open MPI 5's component "pthreads". */
#ifndef OFFRAMP_OPENMPI5_THREADS_H
#define OFFRAMP_OPENMPI5_THREADS_H

#include <sched.h>

static inline void opal_thread_yield(void) {
  sched_yield();
}

#endif
