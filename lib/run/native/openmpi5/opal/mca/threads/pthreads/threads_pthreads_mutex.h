/* The mutex and the condition variable of Open MPI 5's component "pthreads", under the names that Open MPI's
 * headers use. Debian's libopenmpi-dev 5.0 lacks this header. It comes after the system's folders, so that an
 * installed original is preferred. opal_mutex_t contains a reference count and a pthread_mutex_t, whose size
 * determines the offsets of later fields. */
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
