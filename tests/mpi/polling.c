// Programs that wait by polling, with every function: the effect of a failed poll, and the progress meanwhile
// of messages of all sizes, of a communicator that is being duplicated, and of windows that others use.
#include "check.h"

enum way { w_test, w_testall, w_testany, w_testsome, w_iprobe, ways };
enum { largest = 300000, limit = 100000000 };

/// Polls once. A failed poll must leave the requests unchanged.
static int ask(enum way way, MPI_Request r[3], int source, int tag) {
  const MPI_Request before[3] = {r[0], r[1], r[2]};
  int flag = 7, index = 7, count = 7, indices[3];
  MPI_Status one, some[3];
  switch (way) {
    case w_test:
      MPI_Test(&r[1], &flag, &one);
      break;
    case w_testall:
      MPI_Testall(3, r, &flag, some);
      break;
    case w_testany:
      MPI_Testany(3, r, &index, &flag, &one);
      CHECK_EQ(index, flag ? 1 : MPI_UNDEFINED);
      break;
    case w_testsome:
      MPI_Testsome(3, r, &count, indices, some);
      CHECK(count == 0 || (count == 1 && indices[0] == 1));
      flag = count;
      break;
    default:
      MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &one);
      if (flag) CHECK_EQ(one.MPI_TAG, tag);
  }
  CHECK(flag == 0 || flag == 1);
  for (int i = 0; i < 3 && !flag; ++i) CHECK(r[i] == before[i]);
  return flag;
}

/// Polls for a message of the left rank: between null requests, or a null and an inactive one.
static void receive_by_asking(enum way way, char* in, int bytes, int tag) {
  int never;
  const int source = left_of(me, np);
  MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (tag % 2 == 1) MPI_Recv_init(&never, 1, MPI_INT, source, 9999, MPI_COMM_WORLD, &r[2]);
  if (way != w_iprobe) MPI_Irecv(in, bytes, MPI_BYTE, source, tag, MPI_COMM_WORLD, &r[1]);
  long asked = 0;
  while (!ask(way, r, source, tag)) CHECK(++asked < limit);
  if (way == w_iprobe) MPI_Recv(in, bytes, MPI_BYTE, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (tag % 2 == 1) MPI_Request_free(&r[2]);
  CHECK(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL);
}

static void messages(enum way way, char* in, char* out) {
  static const int sizes[] = {0, 8, 4096, 20000, largest};
  for (int k = 0; k < (int)(sizeof sizes / sizeof *sizes); ++k) {
    MPI_Request send;
    fill_pattern(out, (size_t)sizes[k], me, right_of(me, np), k);
    MPI_Isend(out, sizes[k], MPI_BYTE, right_of(me, np), k, MPI_COMM_WORLD, &send);
    receive_by_asking(way, in, sizes[k], k);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    VERIFY(in, (size_t)sizes[k], left_of(me, np), me, k);
  }
}

/// The last rank sends only when its duplicate exists, for which it needs the help of the polling ranks.
static void duplicate(enum way way) {
  MPI_Comm comm;
  MPI_Request duplicated;
  char word = 0;
  MPI_Comm_idup(MPI_COMM_WORLD, &comm, &duplicated);
  if (me == 0) receive_by_asking(way, &word, 1, 50);
  MPI_Wait(&duplicated, MPI_STATUS_IGNORE);
  if (right_of(me, np) == 0) MPI_Send(&word, 1, MPI_BYTE, 0, 50, MPI_COMM_WORLD);
  int all = 0, one = 1;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
  CHECK_EQ(all, np);
  MPI_Comm_free(&comm);
}

/// Polls while another rank works in this rank's window.
static void window(enum way way) {
  int *cell, one = 1, before;
  char word = 1;
  MPI_Win win;
  MPI_Win_allocate(sizeof *cell, sizeof *cell, MPI_INFO_NULL, MPI_COMM_WORLD, &cell, &win);
  *cell = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    receive_by_asking(way, &word, 1, 60);
  } else if (right_of(me, np) == 0) {
    for (int i = 0; i < 20; ++i) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
      MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, win);
      MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
      MPI_Win_unlock(0, win);
      CHECK_EQ(before, 2 * i);
    }
    MPI_Send(&word, 1, MPI_BYTE, 0, 60, MPI_COMM_WORLD);
  }
  MPI_Win_free(&win);
}

CASE(polling) {
  char *in = malloc(largest), *out = malloc(largest);
  for (enum way way = 0; way < ways; ++way) messages(way, in, out);
  for (enum way way = 0; way < ways && np > 1; ++way) duplicate(way);
  for (enum way way = 0; way < ways; ++way) messages(way, in, out);
  for (enum way way = 0; way < ways && np > 1; ++way) window(way);
  for (enum way way = 0; way < ways; ++way) messages(way, in, out);
  free(in);
  free(out);
}
