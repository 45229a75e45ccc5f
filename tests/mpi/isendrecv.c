// MPI_Isendrecv and MPI_Isendrecv_replace: rings with several in flight, against plain receives and sends,
// ends without a partner, wildcards, derived types, lists with other requests. Only with an MPI 4 library.
#include "check.h"

#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)

static int right, left;

// Checks the status of a receive. MPICH 4.0 leaves parts of it unchanged.
static void check_received(MPI_Status s, int source, int tag, int bytes) {
  if (!mpich_alone()) CHECK_STATUS(s, source, tag, bytes, MPI_BYTE);
}

static void ring(int bytes) {
  enum { several = 3 };
  char *out[several], *in[several];
  MPI_Request r[several];
  MPI_Status s[several];
  for (int i = 0; i < several; ++i) {
    out[i] = guarded_new((size_t)bytes);
    in[i] = guarded_new((size_t)bytes);
    fill_pattern(out[i], (size_t)bytes, me, right, i);
    s[i] = spoiled_status();
    MPI_Isendrecv(out[i], bytes, MPI_BYTE, right, i, in[i], bytes, MPI_BYTE, left, i, MPI_COMM_WORLD, &r[i]);
  }
  MPI_Waitall(several, r, s);
  for (int i = 0; i < several; ++i) {
    CHECK(r[i] == MPI_REQUEST_NULL);
    check_received(s[i], left, i, bytes);
    VERIFY(in[i], (size_t)bytes, left, me, i);
  }
  MPI_Isendrecv_replace(out[0], bytes, MPI_BYTE, right, 7, left, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
  for (int done = 0; !done;) MPI_Test(&r[0], &done, &s[0]);
  check_received(s[0], left, 7, bytes);
  VERIFY(out[0], (size_t)bytes, left, me, 0);
  for (int i = 0; i < several; ++i) {
    GUARDED_FREE(out[i], (size_t)bytes);
    GUARDED_FREE(in[i], (size_t)bytes);
  }
}

// Rank r sends to r + 1; the ends have no partner.
static void chain(int bytes) {
  const int to = me + 1 < np ? me + 1 : MPI_PROC_NULL, from = me > 0 ? me - 1 : MPI_PROC_NULL;
  char *out = guarded_new((size_t)bytes), *in = guarded_new((size_t)bytes);
  MPI_Status s = spoiled_status();
  MPI_Request r;
  fill_pattern(out, (size_t)bytes, me, me + 1, 4);
  memcpy(in, out, (size_t)bytes);
  MPI_Isendrecv(out, bytes, MPI_BYTE, to, 4, in, bytes, MPI_BYTE, from, 4, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, &s);
  if (me > 0) {
    check_received(s, from, 4, bytes);
    VERIFY(in, (size_t)bytes, from, me, 4);
  } else {
    VERIFY(in, (size_t)bytes, me, me + 1, 4);  // untouched
  }
  GUARDED_FREE(out, (size_t)bytes);
  GUARDED_FREE(in, (size_t)bytes);
}

// One end uses MPI_Isendrecv, the other plain calls; with another request in one list.
static void against_plain(int bytes) {
  char *out = guarded_new((size_t)bytes), *in = guarded_new((size_t)bytes);
  const int other = me ^ 1;
  int extra = -1;
  if (other < np) {
    fill_pattern(out, (size_t)bytes, me, other, 9);
    if (me % 2) {
      MPI_Recv(in, bytes, MPI_BYTE, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Ssend(out, bytes, MPI_BYTE, other, 10, MPI_COMM_WORLD);
      MPI_Send(&me, 1, MPI_INT, other, 11, MPI_COMM_WORLD);
    } else {
      MPI_Request r[2];
      MPI_Irecv(&extra, 1, MPI_INT, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &r[0]);
      MPI_Isendrecv(out, bytes, MPI_BYTE, other, 9, in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 10, MPI_COMM_WORLD,
                    &r[1]);
      MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
      CHECK_EQ(extra, other);
    }
    VERIFY(in, (size_t)bytes, other, me, 9);
  }
  GUARDED_FREE(out, (size_t)bytes);
  GUARDED_FREE(in, (size_t)bytes);
}

// A ring that replaces the columns of one matrix.
static void derived(int n) {
  MPI_Datatype column;
  MPI_Request r;
  int* a = malloc((size_t)n * (size_t)n * sizeof *a);
  MPI_Type_vector(n, 1, n, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < n * n; ++i) a[i] = me * 10 + i;
  MPI_Isendrecv_replace(a + 1, 1, column, right, 6, left, 6, MPI_COMM_WORLD, &r);
  MPI_Type_free(&column);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  for (int i = 0; i < n * n; ++i) CHECK_EQ(a[i], (i % n == 1 ? left : me) * 10 + i);
  free(a);
}

#endif

CASE(isendrecv) {
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
  static const int sizes[] = {0, 1, 500, 4097, 70000, 4 << 20};
  right = right_of(me, np);
  left = left_of(me, np);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    ring(sizes[i]);
    chain(sizes[i]);
    against_plain(sizes[i]);
  }
  // MPICH 4.0 releases the type once too often.
  if (mpich_alone()) return;
  derived(2);
  derived(300);
#endif
}
