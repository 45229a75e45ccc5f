// Several threads at once in calls that make ranks wait for each other: one makes communicators, one fences a
// window, one opens and closes a file, one sends and reduces; each on a communicator of its own.
#include <pthread.h>
#include <unistd.h>

#include "check.h"

enum { rounds = 20, threads = 4 };

static MPI_Comm comms[threads];
static char file_name[64];

static void* construct(void* arg) {
  MPI_Comm comm = *(MPI_Comm*)arg, made, half;
  MPI_Request r;
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm_dup(comm, &made);
    MPI_Comm_split(made, me % 2, me, &half);
    comm_traffic(half, round);
    MPI_Comm_free(&half);
    MPI_Comm_disconnect(&made);
    MPI_Comm_idup(comm, &made, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    comm_traffic(made, round);
    MPI_Comm_free(&made);
  }
  return NULL;
}

static void* fence(void* arg) {
  MPI_Comm comm = *(MPI_Comm*)arg;
  MPI_Win win;
  int cell = -1;
  for (int round = 0; round < rounds; ++round) {
    const int word = 10 * me + round;
    MPI_Win_create(&cell, sizeof cell, sizeof cell, MPI_INFO_NULL, comm, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&word, 1, MPI_INT, right_of(me, np), 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK_EQ(cell, 10 * left_of(me, np) + round);
    MPI_Win_free(&win);
  }
  return NULL;
}

static void* files(void* arg) {
  MPI_Comm comm = *(MPI_Comm*)arg;
  MPI_File file;
  for (int round = 0; round < rounds / 4; ++round) {
    int got = -1, word = 100 * me + round;
    MPI_File_open(comm, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    MPI_File_write_at_all(file, me * 4, &word, 4, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_File_read_at(file, me * 4, &got, 4, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK_EQ(got, word);
    MPI_File_close(&file);
  }
  return NULL;
}

static void* traffic(void* arg) {
  MPI_Comm comm = *(MPI_Comm*)arg;
  for (int round = 0; round < 5 * rounds; ++round) {
    int sum = -1;
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK_EQ(sum, np * (np - 1) / 2);
    comm_traffic(comm, round);
  }
  return NULL;
}

THREADED_CASE(threads_beside) {
  static void* (*const work[threads])(void*) = {construct, fence, files, traffic};
  pthread_t thread[threads];
  snprintf(file_name, sizeof file_name, "/tmp/threads_beside.%d", (int)getpid());
  MPI_Bcast(file_name, sizeof file_name, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < threads; ++i) {
    if (work[i] == fence && over_mpich()) continue;  // beside other threads MPICH 4.0 loses what is put
    CHECK_EQ(pthread_create(&thread[i], NULL, work[i], &comms[i]), 0);
  }
  for (int i = 0; i < threads; ++i)
    if (work[i] != fence || !over_mpich()) pthread_join(thread[i], NULL);
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&comms[i]);
}
