/* The mutex and the condition variable of Open MPI 5's component "pthreads", by the names that Open MPI's own
 * headers ask for. Debian's libopenmpi-dev 5.0 has those headers, and leaves out this one, which they
 * include. It stands behind the system's folders, so that the real one is taken where it is installed.
 * opal_mutex_t begins with a count of references and holds a pthread_mutex_t: what lies behind it in a
 * structure is only found with the right size. */
#ifndef OFFRAMP_OPENMPI5_MUTEX_H
#define OFFRAMP_OPENMPI5_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

typedef pthread_mutex_t opal_thread_internal_mutex_t;
typedef pthread_cond_t opal_thread_internal_cond_t;

#define OPAL_THREAD_INTERNAL_MUTEX_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define OPAL_THREAD_INTERNAL_COND_INITIALIZER PTHREAD_COND_INITIALIZER

static inline int opal_thread_internal_mutex_init(opal_thread_internal_mutex_t* mutex, bool recursive) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  if (recursive) pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  const int code = pthread_mutex_init(mutex, &kind);
  pthread_mutexattr_destroy(&kind);
  return code;
}
static inline void opal_thread_internal_mutex_lock(opal_thread_internal_mutex_t* mutex) {
  pthread_mutex_lock(mutex);
}
static inline int opal_thread_internal_mutex_trylock(opal_thread_internal_mutex_t* mutex) {
  return pthread_mutex_trylock(mutex);
}
static inline void opal_thread_internal_mutex_unlock(opal_thread_internal_mutex_t* mutex) {
  pthread_mutex_unlock(mutex);
}
static inline void opal_thread_internal_mutex_destroy(opal_thread_internal_mutex_t* mutex) {
  pthread_mutex_destroy(mutex);
}
static inline int opal_thread_internal_cond_init(opal_thread_internal_cond_t* condition) {
  return pthread_cond_init(condition, NULL);
}
static inline void opal_thread_internal_cond_wait(opal_thread_internal_cond_t* condition,
                                                  opal_thread_internal_mutex_t* mutex) {
  pthread_cond_wait(condition, mutex);
}
static inline void opal_thread_internal_cond_signal(opal_thread_internal_cond_t* condition) {
  pthread_cond_signal(condition);
}
static inline void opal_thread_internal_cond_broadcast(opal_thread_internal_cond_t* condition) {
  pthread_cond_broadcast(condition);
}
static inline void opal_thread_internal_cond_destroy(opal_thread_internal_cond_t* condition) {
  pthread_cond_destroy(condition);
}

#endif
