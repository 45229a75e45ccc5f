// Threads make intercommunicators at once, merge them and use them: each from a communicator of its own, as
// MPI_THREAD_MULTIPLE allows. Every call waits for all ranks in it, so that a recording, which has one order
// of the threads' calls, can be replayed on any hardware.
#include <pthread.h>

#include "check.h"

enum { rounds = 5, threads = 4 };

static MPI_Comm comms[threads];

static void* work(void* argument) {
  MPI_Comm comm = *(MPI_Comm*)argument, half, inter, all;
  const int lower = me < np / 2;
  for (int round = 0; round < rounds; ++round) {
    const int one = 1;
    int sum = 0, theirs = 0;
    MPI_Comm_split(comm, lower, me, &half);
    MPI_Intercomm_create(half, 0, comm, lower ? np / 2 : 0, 99, &inter);
    MPI_Intercomm_merge(inter, !lower, &all);
    MPI_Allreduce(&one, &theirs, 1, MPI_INT, MPI_SUM, inter);
    CHECK_EQ(theirs, lower ? np - np / 2 : np / 2);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK_EQ(sum, np);
    MPI_Comm_free(&all);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  return NULL;
}

THREADED_CASE(intercomm_threads) {
  pthread_t handles[threads];
  if (np < 2) SKIP("needs two ranks");
  for (int t = 0; t < threads; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
  for (int t = 0; t < threads; ++t) CHECK(!pthread_create(&handles[t], NULL, work, &comms[t]));
  for (int t = 0; t < threads; ++t) pthread_join(handles[t], NULL);
  for (int t = 0; t < threads; ++t) MPI_Comm_free(&comms[t]);
#if defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5
  check_tolerated[left_group] += threads * rounds;  // Open MPI 5.0 loses some when threads make communicators
#endif
}
