// Threads repeat a collective on a communicator each, while one more makes and frees communicators.
#include <pthread.h>

#include "check.h"

enum { rounds = 40, threads = 3 };

static void* repeat(void* given) {
  const MPI_Comm comm = *(MPI_Comm*)given;
  int mine, sum;
  for (int i = 0; i < 50 * rounds; ++i) {
    mine = me + i;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_EQ(sum, np * (np - 1) / 2 + np * i);
  }
  return NULL;
}

static void* make_and_free(void* given) {
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(*(MPI_Comm*)given, &comm);
    comm_traffic(comm, i);
    MPI_Comm_free(&comm);
  }
  return NULL;
}

THREADED_CASE(repeated_threads) {
  MPI_Comm comms[threads];
  pthread_t handles[threads];
  for (int t = 0; t < threads; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
  for (int t = 0; t < threads; ++t)
    CHECK(!pthread_create(&handles[t], NULL, t == threads - 1 ? make_and_free : repeat, &comms[t]));
  for (int t = 0; t < threads; ++t) pthread_join(handles[t], NULL);
  for (int t = 0; t < threads; ++t) MPI_Comm_free(&comms[t]);
}
