// MPI_Sendrecv and MPI_Sendrecv_replace: rings, to oneself, chains ended by MPI_PROC_NULL, different sizes
// and types at the two ends, derived types, up to 4 MiB, and against plain Send and Recv.
#include "check.h"

static int right, left;

static void ring(int bytes) {
  char *out = guarded_new((size_t)bytes), *in = guarded_new((size_t)bytes);
  MPI_Status s = spoiled_status();
  fill_pattern(out, (size_t)bytes, me, right, bytes);
  MPI_Sendrecv(out, bytes, MPI_BYTE, right, 1, in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, &s);
  CHECK_STATUS(s, left, 1, bytes, MPI_BYTE);
  VERIFY(in, (size_t)bytes, left, me, bytes);
  VERIFY(out, (size_t)bytes, me, right, bytes);
  s = spoiled_status();
  MPI_Sendrecv_replace(out, bytes, MPI_BYTE, right, me, left, left, MPI_COMM_WORLD, &s);
  CHECK_STATUS(s, left, left, bytes, MPI_BYTE);
  VERIFY(out, (size_t)bytes, left, me, bytes);
  GUARDED_FREE(out, (size_t)bytes);
  GUARDED_FREE(in, (size_t)bytes);
}

static void to_myself(int bytes) {
  char *out = guarded_new((size_t)bytes), *in = guarded_new((size_t)bytes);
  MPI_Status s;
  fill_pattern(out, (size_t)bytes, me, me, 2);
  MPI_Sendrecv(out, bytes, MPI_BYTE, me, 2, in, bytes, MPI_BYTE, me, 2, MPI_COMM_WORLD, &s);
  CHECK_STATUS(s, me, 2, bytes, MPI_BYTE);
  VERIFY(in, (size_t)bytes, me, me, 2);
  MPI_Sendrecv_replace(in, bytes, MPI_BYTE, me, 3, me, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
  CHECK_STATUS(s, me, 3, bytes, MPI_BYTE);
  VERIFY(in, (size_t)bytes, me, me, 2);
  GUARDED_FREE(out, (size_t)bytes);
  GUARDED_FREE(in, (size_t)bytes);
}

// Rank r sends to r + 1; the ends have no partner.
static void chain(int replace, int bytes) {
  int to = me + 1 < np ? me + 1 : MPI_PROC_NULL, from = me > 0 ? me - 1 : MPI_PROC_NULL;
  char *out = guarded_new((size_t)bytes), *in = guarded_new((size_t)bytes);
  MPI_Status s = spoiled_status();
  fill_pattern(out, (size_t)bytes, me, me + 1, 4);
  memcpy(in, out, (size_t)bytes);
  if (replace)
    MPI_Sendrecv_replace(in, bytes, MPI_BYTE, to, 4, from, 4, MPI_COMM_WORLD, &s);
  else
    MPI_Sendrecv(out, bytes, MPI_BYTE, to, 4, in, bytes, MPI_BYTE, from, 4, MPI_COMM_WORLD, &s);
  if (me > 0) {
    CHECK_STATUS(s, from, 4, bytes, MPI_BYTE);
    VERIFY(in, (size_t)bytes, from, me, 4);
  } else {
    CHECK_STATUS(s, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_BYTE);
    VERIFY(in, (size_t)bytes, me, me + 1, 4);  // untouched
  }
  GUARDED_FREE(out, (size_t)bytes);
  GUARDED_FREE(in, (size_t)bytes);
}

// Columns to the right neighbour, from a row of the left one; then replaces the columns of one matrix.
static void derived(int n) {
  MPI_Datatype column;
  MPI_Status s;
  int *a = malloc((size_t)n * (size_t)n * sizeof *a), *row = malloc((size_t)n * sizeof *row);
  MPI_Type_vector(n, 1, n, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < n * n; ++i) a[i] = me * 10 + i;
  MPI_Sendrecv(a + 1, 1, column, right, 5, row, n, MPI_INT, left, 5, MPI_COMM_WORLD, &s);
  CHECK_STATUS(s, left, 5, n, MPI_INT);
  for (int i = 0; i < n; ++i) CHECK_EQ(row[i], left * 10 + i * n + 1);
  MPI_Sendrecv_replace(a + 1, 1, column, right, 6, left, 6, MPI_COMM_WORLD, &s);
  CHECK_STATUS(s, left, 6, 1, column);
  for (int i = 0; i < n * n; ++i) CHECK_EQ(a[i], (i % n == 1 ? left : me) * 10 + i);
  MPI_Type_free(&column);
  free(a);
  free(row);
}

static void uneven(void) {
  int sent = 100 + me, expected = 100 + left, in[1000], out[1000];
  MPI_Status s;
  for (int i = 0; i < 1000; ++i) out[i] = me + i, in[i] = -1;
  MPI_Sendrecv(out, sent, MPI_INT, right, 7 + me, in, 1000, MPI_INT, left, 7 + left, MPI_COMM_WORLD, &s);
  CHECK_STATUS(s, left, 7 + left, expected, MPI_INT);
  for (int i = 0; i < 1000; ++i) CHECK_EQ(in[i], i < expected ? left + i : -1);
  MPI_Sendrecv(out, 0, MPI_INT, right, 8, in, 10, MPI_INT, left, 8, MPI_COMM_WORLD, &s);
  CHECK_STATUS(s, left, 8, 0, MPI_INT);
}

// One end uses Sendrecv, the other Recv, then Send.
static void against_plain(int bytes) {
  char *out = guarded_new((size_t)bytes), *in = guarded_new((size_t)bytes);
  int other = me ^ 1;
  if (other < np) {
    fill_pattern(out, (size_t)bytes, me, other, 9);
    if (me % 2) {
      MPI_Recv(in, bytes, MPI_BYTE, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Ssend(out, bytes, MPI_BYTE, other, 10, MPI_COMM_WORLD);
    } else {
      MPI_Sendrecv(out, bytes, MPI_BYTE, other, 9, in, bytes, MPI_BYTE, other, 10, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    }
    VERIFY(in, (size_t)bytes, other, me, 9);
  }
  GUARDED_FREE(out, (size_t)bytes);
  GUARDED_FREE(in, (size_t)bytes);
}

CASE(sendrecv) {
  static const int sizes[] = {0, 1, 500, 4096, 4097, 70000, 4 << 20};
  right = right_of(me, np);
  left = left_of(me, np);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    ring(sizes[i]);
    to_myself(sizes[i]);
    chain(0, sizes[i]);
    chain(1, sizes[i]);
    against_plain(sizes[i]);
  }
  derived(2);
  derived(50);
  derived(700);
  uneven();
}
