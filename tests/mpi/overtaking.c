// Messages with equal source, tag and communicator never overtake each other, for any size (1 B to 1 MiB) and
// mode, with receives posted before, after, and half and half; receives of different tags in another order
// than the sends do not block each other.
#include "check.h"

enum { n = 60, longest = 1 << 20, tag = 5 };

static char* bufs[n];

static int size_of(int i) {
  static const int sizes[] = {1, 70000, 16, 4097, 1 << 20, 8, 0, 300, 4096, 20000, 2, 1000};
  return sizes[i % 12];
}

static void start_send(int i, int to, MPI_Request* r) {
  fill_pattern(bufs[i], (size_t)size_of(i), me, to, i);
  if (i % 3 == 0) MPI_Isend(bufs[i], size_of(i), MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
  if (i % 3 == 1) MPI_Issend(bufs[i], size_of(i), MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
  if (i % 3 == 2) MPI_Isend(bufs[i], size_of(i), MPI_BYTE, to, tag, MPI_COMM_WORLD, r);
}

static void verify(int i, int from, MPI_Status* s) {
  CHECK_STATUS(*s, from, tag, size_of(i), MPI_BYTE);
  VERIFY(bufs[i], (size_t)size_of(i), from, me, i);
}

// first: how many receives are posted before any message is sent.
static void nonblocking(int from, int to, int first, int wild) {
  MPI_Request r[n];
  MPI_Status s[n];
  for (int i = 0; i < n && me == to; ++i) {
    if (i == first) MPI_Ssend(NULL, 0, MPI_BYTE, from, 1, MPI_COMM_WORLD);
    MPI_Irecv(bufs[i], longest, MPI_BYTE, wild ? MPI_ANY_SOURCE : from, i % 2 && wild ? MPI_ANY_TAG : tag,
              MPI_COMM_WORLD, &r[i]);
  }
  if (me == to && first == n) MPI_Ssend(NULL, 0, MPI_BYTE, from, 1, MPI_COMM_WORLD);
  if (me == from) {
    MPI_Recv(NULL, 0, MPI_BYTE, to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; ++i) start_send(i, to, &r[i]);
  }
  if (me == from || me == to) MPI_Waitall(n, r, s);
  for (int i = 0; i < n && me == to; ++i) verify(i, from, &s[i]);
}

// Isends among blocking sends; the receiver receives everything in order with blocking receives.
static void mixed_modes(int from, int to) {
  MPI_Request r[n];
  for (int i = 0; i < n; ++i) {
    r[i] = MPI_REQUEST_NULL;
    if (me == to) {
      MPI_Status s;
      MPI_Recv(bufs[i], longest, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
      verify(i, from, &s);
    } else if (me == from) {
      fill_pattern(bufs[i], (size_t)size_of(i), me, to, i);
      if (i % 4 < 2) MPI_Isend(bufs[i], size_of(i), MPI_BYTE, to, tag, MPI_COMM_WORLD, &r[i]);
      if (i % 4 == 2) MPI_Send(bufs[i], size_of(i), MPI_BYTE, to, tag, MPI_COMM_WORLD);
      if (i % 4 == 3) MPI_Ssend(bufs[i], size_of(i), MPI_BYTE, to, tag, MPI_COMM_WORLD);
    }
  }
  MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
}

// Every message with its own tag, received in the opposite order.
static void tags_backwards(int from, int to) {
  MPI_Request r[n];
  for (int i = 0; i < n && me == from; ++i) {
    fill_pattern(bufs[i], (size_t)size_of(i), me, to, i);
    MPI_Isend(bufs[i], size_of(i), MPI_BYTE, to, i, MPI_COMM_WORLD, &r[i]);
  }
  if (me == from) MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
  for (int i = n - 1; i >= 0 && me == to; --i) {
    MPI_Recv(bufs[i], longest, MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    VERIFY(bufs[i], (size_t)size_of(i), from, me, i);
  }
}

CASE(overtaking) {
  if (np < 2) SKIP("needs two ranks");
  for (int i = 0; i < n; ++i) bufs[i] = malloc(longest);
  for (int from = 0; from < np; ++from) {
    int to = right_of(from, np);
    nonblocking(from, to, 0, 0);
    nonblocking(from, to, n / 2, 0);
    nonblocking(from, to, n, 0);
    MPI_Barrier(MPI_COMM_WORLD);  // a wildcard must not see the next link's messages
    nonblocking(from, to, n / 2, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    mixed_modes(from, to);
    tags_backwards(from, to);
  }
  for (int i = 0; i < n; ++i) free(bufs[i]);
}
