// Threads that make communicators of a group at once, told apart by the tag alone: the ranks may come to them
// in different orders.
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

int main(int argc, char** argv) {
  int provided, tags[threads];
  pthread_t handles[threads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  check_ranks();
  if (provided < MPI_THREAD_MULTIPLE)
    return check_skip("group_threads", "MPI_THREAD_MULTIPLE is not provided");
  MPI_Comm_group(MPI_COMM_WORLD, &everyone);
  for (int t = 0; t < threads; ++t) {
    tags[t] = t + 1;
    CHECK(!pthread_create(&handles[t], NULL, work, &tags[t]));
  }
  for (int t = 0; t < threads; ++t) pthread_join(handles[t], NULL);
  MPI_Group_free(&everyone);
  return check_finish("group_threads");
}
