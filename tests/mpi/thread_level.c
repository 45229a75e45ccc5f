// A program that calls MPI_Init, with the MPI library's own variable set to provide threads: the provided
// level counts, not the requested one.
#include <pthread.h>

#include "check.h"

enum { threads = 3, rounds = 100, largest = 20000 };

static MPI_Comm comms[threads];

static void* ring(void* argument) {
  const int own = (int)(intptr_t)argument;
  char *out = malloc(largest), *in = malloc(largest);
  for (int round = 0; round < rounds; ++round) {
    const int bytes = round % 3 == 0 ? largest : round;
    fill_pattern(out, (size_t)bytes, me, right_of(me, np), round);
    MPI_Sendrecv(out, bytes, MPI_BYTE, right_of(me, np), round, in, bytes, MPI_BYTE, left_of(me, np), round,
                 comms[own], MPI_STATUS_IGNORE);
    VERIFY(in, (size_t)bytes, left_of(me, np), me, round);
  }
  free(out);
  free(in);
  return NULL;
}

int main(int argc, char** argv) {
  int level;
  pthread_t all[threads];
  setenv("OMPI_MPI_THREAD_LEVEL", "3", 1);
  check_start(&argc, &argv);
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) return check_skip("thread_level", "MPI_THREAD_MULTIPLE is not provided");
  for (int t = 0; t < threads; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
  for (int t = 0; t < threads; ++t) CHECK(!pthread_create(&all[t], NULL, ring, (void*)(intptr_t)t));
  for (int t = 0; t < threads; ++t) pthread_join(all[t], NULL);
  for (int t = 0; t < threads; ++t) MPI_Comm_free(&comms[t]);
  return check_finish("thread_level");
}
