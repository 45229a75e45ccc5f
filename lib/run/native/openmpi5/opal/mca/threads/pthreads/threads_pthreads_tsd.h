/* As threads_pthreads_mutex.h: thread-specific data in Open MPI 5's component "pthreads". */
#ifndef OFFRAMP_OPENMPI5_TSD_H
#define OFFRAMP_OPENMPI5_TSD_H

#include <pthread.h>

typedef pthread_key_t opal_tsd_key_t;

static inline int opal_tsd_set(opal_tsd_key_t key, void* value) {
  return pthread_setspecific(key, value);
}
static inline int opal_tsd_get(opal_tsd_key_t key, void** value) {
  *value = pthread_getspecific(key);
  return 0;
}

#endif
