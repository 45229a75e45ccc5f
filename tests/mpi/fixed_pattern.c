// A program that makes the same calls in the same order on every run: named receives only, no polling, no
// wildcards, no completion "any" or "some". Blocking and nonblocking messages of many sizes, Bcast, Reduce,
// Gather and Barrier. For comparing the modelled times of repeated runs.
#include "check.h"

enum { longest = 200000, rounds = 20 };

static char *in, *out;
static int right, left;

static void blocking_ring(int bytes) {
  fill_pattern(out, (size_t)bytes, me, right, bytes);
  if (me % 2 == 0 || np == 1) {
    MPI_Sendrecv(out, bytes, MPI_BYTE, right, 1, in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD);
  }
  VERIFY(in, (size_t)bytes, left, me, bytes);
}

static void nonblocking_ring(int bytes) {
  MPI_Request r[4];
  int half = bytes / 2;
  fill_pattern(out, (size_t)half, me, right, 2);
  fill_pattern(out + half, (size_t)(bytes - half), me, left, 3);
  MPI_Irecv(in, half, MPI_BYTE, left, 2, MPI_COMM_WORLD, &r[0]);
  MPI_Irecv(in + half, bytes - half, MPI_BYTE, right, 3, MPI_COMM_WORLD, &r[1]);
  MPI_Isend(out, half, MPI_BYTE, right, 2, MPI_COMM_WORLD, &r[2]);
  MPI_Issend(out + half, bytes - half, MPI_BYTE, left, 3, MPI_COMM_WORLD, &r[3]);
  MPI_Wait(&r[1], MPI_STATUS_IGNORE);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Waitall(2, r + 2, MPI_STATUSES_IGNORE);
  VERIFY(in, (size_t)half, left, me, 2);
  VERIFY(in + half, (size_t)(bytes - half), right, me, 3);
}

static void ping_pong(int bytes) {
  for (int first = 0; first + 1 < np; first += 2) {
    if (me == first) {
      fill_pattern(out, (size_t)bytes, me, me + 1, 4);
      MPI_Send(out, bytes, MPI_BYTE, me + 1, 4, MPI_COMM_WORLD);
      MPI_Recv(in, bytes, MPI_BYTE, me + 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      VERIFY(in, (size_t)bytes, me, me + 1, 4);
    } else if (me == first + 1) {
      MPI_Recv(in, bytes, MPI_BYTE, first, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Ssend(in, bytes, MPI_BYTE, first, 4, MPI_COMM_WORLD);
    }
  }
}

static void collectives(int bytes, int root) {
  int count = bytes / (int)sizeof(double), part = bytes / np;
  double *a = (double*)out, *b = (double*)in;
  if (me == root) fill_pattern(in, (size_t)bytes, root, 0, 5);
  MPI_Bcast(in, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
  VERIFY(in, (size_t)bytes, root, 0, 5);
  for (int i = 0; i < count; ++i) a[i] = me + i;
  MPI_Reduce(a, b, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
  for (int i = 0; i < count && me == root; ++i) CHECK(b[i] == np * i + np * (np - 1) / 2);
  fill_pattern(out, (size_t)part, me, root, 6);
  MPI_Gather(out, part, MPI_BYTE, in, part, MPI_BYTE, root, MPI_COMM_WORLD);
  for (int r = 0; r < np && me == root; ++r) VERIFY(in + r * part, (size_t)part, r, root, 6);
}

CASE(fixed_pattern) {
  static const int sizes[] = {0, 8, 100, 1024, 3000, 4096, 9000, 65536, longest};
  right = right_of(me, np);
  left = left_of(me, np);
  in = guarded_new(longest);
  out = guarded_new(longest);
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); ++i) {
      blocking_ring(sizes[i]);
      nonblocking_ring(sizes[i]);
      ping_pong(sizes[i]);
      collectives(sizes[i], (round + i) % np);
      if (round % 4 == 0) MPI_Barrier(MPI_COMM_WORLD);
    }
  GUARDED_FREE(in, longest);
  GUARDED_FREE(out, longest);
}
