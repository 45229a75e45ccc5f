// MPI_Cancel: unmatched receives (plain, wildcard, persistent) must be cancelled; a receive whose message has
// arrived must not be; sends may be cancelled or delivered, but not both. Cancelled operations leave the
// order of matching intact.
#include "check.h"

static void check_cancelled(MPI_Status* s, int want) {
  int flag = -1;
  MPI_Test_cancelled(s, &flag);
  CHECK(flag == want || (want && flag));
}

static void unmatched_receives(void) {
  int buf[40], flag;
  MPI_Request r[40];
  MPI_Status s[40];
  for (int i = 0; i < 40; ++i)
    MPI_Irecv(&buf[i], 1, MPI_INT, i % 3 ? left_of(me, np) : MPI_ANY_SOURCE, i % 2 ? 1000 + i : MPI_ANY_TAG,
              MPI_COMM_WORLD, &r[i]);
  for (int i = 0; i < 40; ++i) {
    MPI_Cancel(&r[i]);
    CHECK(r[i] != MPI_REQUEST_NULL);
  }
  MPI_Wait(&r[0], &s[0]);
  check_cancelled(&s[0], 1);
  for (flag = 0; !flag;) MPI_Test(&r[1], &flag, &s[1]);
  check_cancelled(&s[1], 1);
  MPI_Waitall(38, r + 2, s + 2);
  for (int i = 2; i < 40; ++i) check_cancelled(&s[i], 1);
}

static void cancelled_and_freed(void) {
  int in;
  MPI_Request r;
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &r);
  MPI_Cancel(&r);
  MPI_Request_free(&r);
  CHECK(r == MPI_REQUEST_NULL);
}

// Two of four posted receives are cancelled; the two messages match the others, in order.
static void between(int bytes) {
  int right = right_of(me, np), left = left_of(me, np);
  char *in[4], *out = malloc((size_t)bytes);
  MPI_Request r[4];
  MPI_Status s[4];
  for (int i = 0; i < 4; ++i) {
    in[i] = guarded_new((size_t)bytes);
    MPI_Irecv(in[i], bytes, MPI_BYTE, left, 6, MPI_COMM_WORLD, &r[i]);
  }
  MPI_Cancel(&r[0]);
  MPI_Wait(&r[0], &s[0]);
  MPI_Cancel(&r[2]);
  MPI_Wait(&r[2], &s[2]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 2; ++i) {
    fill_pattern(out, (size_t)bytes, me, right, i);
    MPI_Send(out, bytes, MPI_BYTE, right, 6, MPI_COMM_WORLD);
    MPI_Wait(&r[2 * i + 1], &s[2 * i + 1]);
    VERIFY(in[2 * i + 1], (size_t)bytes, left, me, i);
  }
  for (int i = 0; i < 4; ++i) {
    check_cancelled(&s[i], i % 2 == 0);
    if (i % 2 == 0) CHECK_EQ((unsigned char)in[i][0], guard_value);
    GUARDED_FREE(in[i], (size_t)bytes);
  }
  free(out);
}

// The message has completed before the cancel, which is too late.
static void too_late(void) {
  int in = -1, out = me, flag = 0;
  MPI_Request r;
  MPI_Status s;
  MPI_Irecv(&in, 1, MPI_INT, left_of(me, np), 7, MPI_COMM_WORLD, &r);
  MPI_Send(&out, 1, MPI_INT, right_of(me, np), 7, MPI_COMM_WORLD);
  while (!flag) MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
  MPI_Cancel(&r);
  MPI_Wait(&r, &s);
  check_cancelled(&s, 0);
  CHECK_STATUS(s, left_of(me, np), 7, 1, MPI_INT);
  CHECK_EQ(in, left_of(me, np));
}

static void persistent(void) {
  int in = -1, out = me;
  MPI_Request r;
  MPI_Status s;
  MPI_Recv_init(&in, 1, MPI_INT, left_of(me, np), 8, MPI_COMM_WORLD, &r);
  for (int round = 0; round < 6; ++round) {
    MPI_Start(&r);
    if (round % 2 == 0) {
      MPI_Cancel(&r);
    } else {
      out = me * 10 + round;
      MPI_Send(&out, 1, MPI_INT, right_of(me, np), 8, MPI_COMM_WORLD);
    }
    MPI_Wait(&r, &s);
    check_cancelled(&s, round % 2 == 0);
    CHECK(r != MPI_REQUEST_NULL);
    if (round % 2) CHECK_EQ(in, left_of(me, np) * 10 + round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Request_free(&r);
}

// The sender reports whether its message was cancelled; if so, the receive must be cancellable, else it must
// complete.
static void sends(int from, int to, int bytes, int synchronous) {
  char* buf = guarded_new((size_t)bytes);
  MPI_Request r;
  MPI_Status s;
  int back = 0;
  if (me == from) {
    fill_pattern(buf, (size_t)bytes, from, to, 9);
    (synchronous ? MPI_Issend : MPI_Isend)(buf, bytes, MPI_BYTE, to, 9, MPI_COMM_WORLD, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &s);
    MPI_Test_cancelled(&s, &back);
    MPI_Send(&back, 1, MPI_INT, to, 10, MPI_COMM_WORLD);
  } else if (me == to) {
    MPI_Irecv(buf, bytes, MPI_BYTE, from, 9, MPI_COMM_WORLD, &r);
    MPI_Recv(&back, 1, MPI_INT, from, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (back) MPI_Cancel(&r);
    MPI_Wait(&r, &s);
    check_cancelled(&s, back);
    if (!back) VERIFY(buf, (size_t)bytes, from, to, 9);
  }
  GUARDED_FREE(buf, (size_t)bytes);
}

CASE(cancel) {
  unmatched_receives();
  MPI_Barrier(MPI_COMM_WORLD);
  cancelled_and_freed();
  MPI_Barrier(MPI_COMM_WORLD);
  if (np > 1) between(8);
  if (np > 1)
    for (int from = 0; from < np; ++from)
      for (int mode = 0; mode < 4; ++mode) sends(from, right_of(from, np), mode / 2 ? 500000 : 100, mode % 2);
  too_late();
  persistent();
}
