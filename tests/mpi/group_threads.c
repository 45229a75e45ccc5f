// Threads make communicators of a group at once, distinguished by the tag alone: ranks may reach them in
// different orders.
#include <pthread.h>

#include "check.h"

enum { rounds = 25, threads = 4 };

static MPI_Group everyone;

static void* work(void* tag) {
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm made;
    MPI_Comm_create_group(MPI_COMM_WORLD, everyone, *(int*)tag, &made);
    if (round % 5 == 0) {
      int size;
      MPI_Comm_size(made, &size);
      CHECK_EQ(size, np);
    }
    MPI_Comm_free(&made);
  }
  return NULL;
}

THREADED_CASE(group_threads) {
  int tags[threads];
  pthread_t handles[threads];
  MPI_Comm_group(MPI_COMM_WORLD, &everyone);
  for (int t = 0; t < threads; ++t) {
    tags[t] = t + 1;
    CHECK(!pthread_create(&handles[t], NULL, work, &tags[t]));
  }
  for (int t = 0; t < threads; ++t) pthread_join(handles[t], NULL);
  MPI_Group_free(&everyone);
}
