// Several threads share the buffer of MPI_Bsend, which has room for their messages of one round, while other
// processes keep the cores busy. Natively no send is refused.
#include <pthread.h>

#include "busy.h"
#include "check.h"

enum { kThreads = 4, kMessages = 32 };

static int thread_bytes;

static void* thread_main(void* argument) {
  int thread = *(const int*)argument;
  char* data = malloc((size_t)thread_bytes);
  for (int i = 0; i < kMessages / kThreads; ++i) {
    int tag = thread * kMessages + i;
    fill_pattern(data, (size_t)thread_bytes, 0, 1, tag);
    if (me == 0) {
      CHECK_EQ(MPI_Bsend(data, thread_bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD), MPI_SUCCESS);
    } else {
      MPI_Recv(data, thread_bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      VERIFY(data, (size_t)thread_bytes, 0, 1, tag);
    }
  }
  free(data);
  return NULL;
}

// Several threads share a buffer for all their messages of one round.
static void threads(int bytes) {
  pthread_t running[kThreads];
  int numbers[kThreads], size = kMessages * (bytes + MPI_BSEND_OVERHEAD);
  void *space = malloc((size_t)size), *got;
  thread_bytes = bytes;
  MPI_Buffer_attach(space, size);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < kThreads && me < 2; ++i) {
      numbers[i] = i;
      CHECK(pthread_create(&running[i], NULL, thread_main, &numbers[i]) == 0);
    }
    for (int i = 0; i < kThreads && me < 2; ++i) pthread_join(running[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Buffer_detach(&got, &size);
  free(space);
}

THREADED_CASE(bsend_threads) {
  if (np < 2) SKIP("needs two ranks");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (me == 0) keep_cores_busy();
  threads(16384);
  threads(100000);
  if (me == 0) end_busy();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}
