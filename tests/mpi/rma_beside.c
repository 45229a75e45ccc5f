// One-sided communication (fence, lock, post/start/complete/wait, Put, Get, Accumulate, Fetch_and_op) while
// messages are outstanding in both directions, and messages between the epochs.
#include "check.h"

enum { cells = 1000, bytes = 1 << 20 };

static int* shared;
static MPI_Win win;
static char *in, *out;
static MPI_Request r[2];

static void open_messages(int round) {
  fill_pattern(out, bytes, me, right_of(me, np), round);
  MPI_Irecv(in, bytes, MPI_BYTE, left_of(me, np), 1, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(out, bytes, MPI_BYTE, right_of(me, np), 1, MPI_COMM_WORLD, &r[1]);
}

static void close_messages(int round) {
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  VERIFY(in, bytes, left_of(me, np), me, round);
}

static void fences(int round) {
  int *values = malloc(cells * sizeof *values), *got = malloc(cells * sizeof *got);
  for (int i = 0; i < cells; ++i) values[i] = me * 10000 + i + round;
  MPI_Win_fence(0, win);
  open_messages(round);
  MPI_Put(values, cells, MPI_INT, right_of(me, np), 0, cells, MPI_INT, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < cells; ++i) CHECK_EQ(shared[i], left_of(me, np) * 10000 + i + round);
  MPI_Win_fence(0, win);
  MPI_Get(got, cells, MPI_INT, right_of(me, np), 0, cells, MPI_INT, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < cells; ++i) CHECK_EQ(got[i], values[i]);
  for (int i = 0; i < cells; ++i) shared[i] = 0;
  MPI_Win_fence(0, win);
  for (int to = 0; to < np; ++to) MPI_Accumulate(values, 10, MPI_INT, to, 5, 10, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 10; ++i) CHECK_EQ(shared[5 + i], np * (np - 1) / 2 * 10000 + np * (i + round));
  close_messages(round);
  free(values);
  free(got);
}

static void locks(int round) {
  int one = 1, before = -1, sum = 0;
  MPI_Win_fence(0, win);
  if (me == 0) shared[0] = 0;
  MPI_Win_fence(0, win);
  open_messages(round);
  for (int i = 0; i < 10; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_unlock(0, win);
    CHECK(before >= 0 && before < 10 * np);
  }
  close_messages(round);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  MPI_Get(&sum, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
  MPI_Win_unlock(0, win);
  CHECK_EQ(sum, 10 * np);
}

static void post_and_start(int round) {
  MPI_Group world, source, target;
  int right = right_of(me, np), left = left_of(me, np), value = me * 7 + round;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &left, &source);
  MPI_Group_incl(world, 1, &right, &target);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  open_messages(round);
  MPI_Win_post(source, 0, win);
  MPI_Win_start(target, 0, win);
  MPI_Put(&value, 1, MPI_INT, right, 3, 1, MPI_INT, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  CHECK_EQ(shared[3], left * 7 + round);
  close_messages(round);
  MPI_Group_free(&world);
  MPI_Group_free(&source);
  MPI_Group_free(&target);
}

CASE(rma_beside) {
  if (np < 2) SKIP("needs two ranks");
  in = malloc(bytes);
  out = malloc(bytes);
  for (int kind = 0; kind < 2; ++kind) {
    if (kind == 0)
      MPI_Win_allocate(cells * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &win);
    else
      MPI_Win_create(shared = malloc(cells * sizeof(int)), cells * sizeof(int), sizeof(int), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &win);
    for (int round = 0; round < 5; ++round) {
      fences(round);
      locks(round);
      post_and_start(round);
    }
    open_messages(9);
    MPI_Win_free(&win);
    close_messages(9);
    if (kind == 1) free(shared);
  }
  free(in);
  free(out);
}
