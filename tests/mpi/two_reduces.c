// Two threads reduce on communicators of their own, in an order that differs from rank to rank.
#include <pthread.h>
#include <unistd.h>

#include "check.h"

enum { threads = 2, late = 20000 };  // us

static MPI_Comm comms[threads];

static void* work(void* argument) {
  const int thread = *(int*)argument, root = 1 % np;
  int sum = -1;
  if (thread != me % threads) usleep(late);
  MPI_Reduce(&me, &sum, 1, MPI_INT, MPI_SUM, root, comms[thread]);
  if (me == root) CHECK_EQ(sum, np * (np - 1) / 2);
  return NULL;
}

THREADED_CASE(two_reduces) {
  int numbers[threads];
  pthread_t handles[threads];
  for (int t = 0; t < threads; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
  for (int t = 0; t < threads; ++t) {
    numbers[t] = t;
    CHECK(!pthread_create(&handles[t], NULL, work, &numbers[t]));
  }
  for (int t = 0; t < threads; ++t) pthread_join(handles[t], NULL);
  for (int t = 0; t < threads; ++t) MPI_Comm_free(&comms[t]);
}
